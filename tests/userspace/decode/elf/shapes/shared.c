// SPDX-License-Identifier: Apache-2.0
//
// As Debian builds libssl: stack protector, registers cleared before each return, SSL_read and
// SSL_read_ex before one internal function that leaves by a jump.
#include "tests/userspace/decode/elf/shapes/shapes.h"

__asm__(".text\n"
  FUNCTION(SSL_clear) EXPECT(clear)
  "push %rbp\n push %rbx\n cmpq $0, 8(%rdi)\n pop %rbx\n pop %rbp\n ret\n"
  END(SSL_clear)

  FUNCTION(SSL_free)
  "test %rdi, %rdi\n" EXPECT(free) "je 1f\n"
  "push %r13\n mov %rdi, %rbx\n pop %r13\n"
  "1: xor %eax, %eax\n ret\n"
  END(SSL_free)

  FUNCTION(SSL_get_verify_result)
  "mov 0x9b8(%rdi), %rax\n" EXPECT(verify_told) "xor %edi, %edi\n ret\n"
  END(SSL_get_verify_result)

  ".p2align 4\n"
  EXPECT(read_whole)
  "read_internal: push %r13\n sub $0x28, %rsp\n mov 8(%rdi), %rax\n add $0x28, %rsp\n"
  "pop %r13\n jmp *%rax\n"

  FUNCTION(SSL_read)
  "sub $0x18, %rsp\n mov %fs:0x28, %rax\n mov %rax, 8(%rsp)\n xor %eax, %eax\n test %edx, %edx\n"
  EXPECT(read_begin) "js 2f\n"
  "mov %rsp, %rcx\n movslq %edx, %rdx\n call read_internal\n test %eax, %eax\n jle 1f\n"
  "mov (%rsp), %eax\n"
  "1: mov 8(%rsp), %rdx\n sub %fs:0x28, %rdx\n"
  EXPECT(read_end) "jne 3f\n"
  "add $0x18, %rsp\n xor %edx, %edx\n xor %ecx, %ecx\n ret\n"
  "2: mov $-1, %eax\n jmp 1b\n"
  "3: call fail\n"
  END(SSL_read)

  FUNCTION(SSL_read_ex)
  "sub $8, %rsp\n" EXPECT(read_ex_begin) "call read_internal\n"
  "xor %edx, %edx\n test %eax, %eax\n cmovs %edx, %eax\n add $8, %rsp\n xor %edx, %edx\n"
  EXPECT(read_ex_end) "ret\n"
  END(SSL_read_ex)

  FUNCTION(SSL_write)
  "sub $0x18, %rsp\n test %edx, %edx\n" EXPECT(write) "js 1f\n"
  "call read_internal\n 1: add $0x18, %rsp\n ret\n"
  END(SSL_write)

  FUNCTION(SSL_write_ex)
  "sub $8, %rsp\n" EXPECT(write_ex) "call read_internal\n add $8, %rsp\n ret\n"
  END(SSL_write_ex)

  FUNCTION(SSL_get_error)
  "xor %eax, %eax\n test %esi, %esi\n" EXPECT(class_asked) "jle 1f\n ret\n"
  "1: push %rbx\n mov %rdi, %rbx\n call fail\n test %rax, %rax\n je 3f\n"
  "test $0x80000000, %eax\n jne 4f\n"
  "mov $1, %eax\n cmp $2, %dl\n" EXPECT(class_1_unequal) "je 4f\n"
  "2: pop %rbx\n xor %edx, %edx\n ret\n"
  "3: call fail\n cmp $3, %eax\n je 5f\n call fail\n cmp $4, %eax\n je 2b\n"
  "testb $2, 0x44(%rbx)\n je 4f\n mov $6, %eax\n" EXPECT(class_6) "jmp 2b\n"
  "4: mov $5, %eax\n" EXPECT(class_5) "jmp 2b\n"
  "5: mov $2, %eax\n jmp 2b\n"
  END(SSL_get_error)

  ".type fail, @function\n fail: ret\n");
