// SPDX-License-Identifier: Apache-2.0
//
// As Node builds OpenSSL in: no stack protector, everything inlined, SSL_get_error with a return of
// its own for class 5.
#include "tests/userspace/decode/elf/shapes/shapes.h"

__asm__(".text\n"
  FUNCTION(SSL_clear) EXPECT(clear) "push %rbp\n pop %rbp\n ret\n" END(SSL_clear)
  FUNCTION(SSL_free) "test %rdi, %rdi\n" EXPECT(free) "je 1f\n nop\n 1: ret\n" END(SSL_free)

  FUNCTION(SSL_read) EXPECT(read_whole)
  "push %rbp\n mov %rsp, %rbp\n test %edx, %edx\n js 1f\n call *0x38(%rax)\n pop %rbp\n"
  EXPECT(read_end) "ret\n"
  "1: xor %eax, %eax\n pop %rbp\n" EXPECT(read_end2) "ret\n"
  END(SSL_read)

  FUNCTION(SSL_get_error)
  "xor %eax, %eax\n test %esi, %esi\n" EXPECT(class_asked) "jle 1f\n ret\n"
  "1: push %rbp\n call fail\n test %rax, %rax\n jne 3f\n"
  "mov 0x28(%rbx), %eax\n cmp $3, %eax\n je 5f\n cmp $4, %eax\n je 2f\n"
  "testb $2, 0x44(%rbx)\n je 4f\n mov $6, %eax\n" EXPECT(class_6) "jmp 2f\n"
  "3: test $0x80000000, %eax\n jne 4f\n mov $1, %eax\n cmp $2, %dl\n"
  EXPECT(class_1_unequal) "je 4f\n"
  "2: pop %rbp\n ret\n"
  "4: mov $5, %eax\n pop %rbp\n" EXPECT(class_5) "ret\n"
  "5: mov $2, %eax\n jmp 2b\n"
  END(SSL_get_error)

  // The result is loaded in two ways: no instruction has it beside the argument.
  FUNCTION(SSL_get_verify_result)
  "test %rdi, %rdi\n je 1f\n mov 0x9b8(%rdi), %rax\n 1: ret\n"
  END(SSL_get_verify_result)

  FUNCTION(ERR_set_error) EXPECT(error) "push %rbp\n pop %rbp\n ret\n" END(ERR_set_error)
  // Loses its second argument before any cheap instruction: stepped at its entry.
  FUNCTION(RAND_bytes_ex) EXPECT(random) "xor %esi, %esi\n push %rbp\n pop %rbp\n ret\n"
  END(RAND_bytes_ex)
  // Jumps back to its start: a probe there would be hit in each turn.
  FUNCTION(X509_STORE_CTX_set_ex_data)
  "push %rbp\n pop %rbp\n dec %ecx\n jne X509_STORE_CTX_set_ex_data\n ret\n"
  END(X509_STORE_CTX_set_ex_data)
  // Jumps into the middle of an instruction: not understood, so not probed.
  FUNCTION(X509_STORE_CTX_get_error)
  "jmp 1f + 1\n 1: mov $0x90909090, %eax\n ret\n"
  END(X509_STORE_CTX_get_error)
  ".type fail, @function\n fail: ret\n");
