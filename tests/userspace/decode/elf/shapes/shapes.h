// SPDX-License-Identifier: Apache-2.0
//
// Functions in assembler for the probe planner's tests: the shapes in which compilers leave the
// library functions, with a symbol ("expect_...") on each instruction at which a probe belongs.
#pragma once

#define FUNCTION(name) \
  ".globl " #name      \
  "\n"                 \
  ".type " #name       \
  ", @function\n"      \
  ".p2align 4\n" #name ":\n"
#define END(name) ".size " #name ", . - " #name "\n"
#define EXPECT(name)     \
  ".globl expect_" #name \
  "\n"                   \
  ".type expect_" #name  \
  ", @function\n"        \
  "expect_" #name        \
  ":\n"                  \
  ".size expect_" #name ", 1\n"
