// SPDX-License-Identifier: Apache-2.0
//
// As glibc: connect with one system call for single-threaded and one for cancellable callers, and
// getaddrinfo, whose result moves to eax behind the stack protector's jump.
#include "tests/userspace/decode/elf/shapes/shapes.h"

__asm__(".text\n"
  FUNCTION(connect)
  "cmpb $0, flag(%rip)\n je 1f\n mov $0x2a, %eax\n syscall\n cmp $-4095, %rax\n"
  EXPECT(connect1) "jae 2f\n ret\n"
  "1: push %rbx\n mov $0x2a, %eax\n syscall\n cmp $-4095, %rax\n"
  EXPECT(connect2) "jae 2f\n pop %rbx\n ret\n"
  "2: mov $-1, %eax\n ret\n"
  END(connect)

  FUNCTION(getaddrinfo) EXPECT(getaddrinfo_begin)
  "push %rbp\n mov %rsp, %rbp\n mov %rdi, %r13\n"
  "mov -0x38(%rbp), %rax\n sub %fs:0x28, %rax\n jne 1f\n mov %r13d, %eax\n pop %rbp\n"
  EXPECT(getaddrinfo_end) "ret\n"
  "1: call fail\n"
  END(getaddrinfo)
  FUNCTION(freeaddrinfo) "ret\n" END(freeaddrinfo)
  ".type fail, @function\n fail: ret\n"
  ".data\n flag: .byte 0\n");
