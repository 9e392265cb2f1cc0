/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Which program runs where in which library function: the one table that the probe planner, the
 * loader and the BPF programs share. A row's place says which instruction is looked for; the
 * instruction itself is found by disassembling each image, never by a list of offsets.
 */
#ifndef ROUTELENS_BPF_ABI_LIBRARY_PROBES_H
#define ROUTELENS_BPF_ABI_LIBRARY_PROBES_H

#include "bpf/abi/abi.h"

enum rl_probe_place {
  RL_PLACE_ENTRY = 1,         /* first cheap instruction with the arguments still in registers */
  RL_PLACE_EXIT = 2,          /* result final in rax */
  RL_PLACE_VALUE = 3,         /* result in rax while the first argument is still in rdi */
  RL_PLACE_CLASS = 4,         /* SSL_get_error: a path that is sure to return what rax holds */
  RL_PLACE_CLASS_EQUAL = 5,   /* the same, if the zero flag is set */
  RL_PLACE_CLASS_UNEQUAL = 6, /* the same, if it is clear */
  RL_PLACE_AFTER_SYSCALL = 7, /* conditional jump right after the system call, rax = -errno */
  RL_PLACE_SESSION = 8,       /* entry that is a cheap push; the return is asked for call by call */
  RL_PLACE_RETURN = 9, /* return probe on the function entered at an RL_PLACE_SESSION point */
};

enum rl_probe_group {
  RL_GROUP_HANDSHAKE = 1, /* cold: a few hits for each handshake */
  RL_GROUP_DATA = 2,      /* on the data path: KernelOptions.data_path_probes */
  RL_GROUP_LIBC = 3,
};

/* Bits of the argument registers that a program reads, System V order. */
#define RL_ARG1 1 /* rdi */
#define RL_ARG2 2 /* rsi */
#define RL_ARG3 4 /* rdx */
#define RL_ARG4 8 /* rcx */

/* X(program, symbol, place, arguments, group). */
#define RL_LIBRARY_PROBES(X)                                                                       \
  X(on_ssl_clear, SSL_clear, RL_PLACE_ENTRY, RL_ARG1, RL_GROUP_HANDSHAKE)                          \
  X(on_random_bytes, RAND_bytes_ex, RL_PLACE_ENTRY, RL_ARG2 | RL_ARG3, RL_GROUP_HANDSHAKE)         \
  X(on_verify_begin, X509_STORE_CTX_set_ex_data, RL_PLACE_ENTRY, RL_ARG3, RL_GROUP_HANDSHAKE)      \
  X(on_verify_end, X509_STORE_CTX_get_error, RL_PLACE_EXIT, 0, RL_GROUP_HANDSHAKE)                 \
  X(on_error_raised, ERR_vset_error, RL_PLACE_ENTRY, RL_ARG1 | RL_ARG2, RL_GROUP_HANDSHAKE)        \
  X(on_error_raised, ERR_set_error, RL_PLACE_ENTRY, RL_ARG1 | RL_ARG2, RL_GROUP_HANDSHAKE)         \
  X(on_class_asked, SSL_get_error, RL_PLACE_ENTRY, RL_ARG1 | RL_ARG2, RL_GROUP_HANDSHAKE)          \
  X(on_class_told, SSL_get_error, RL_PLACE_CLASS, 0, RL_GROUP_HANDSHAKE)                           \
  X(on_class_told_if_equal, SSL_get_error, RL_PLACE_CLASS_EQUAL, 0, RL_GROUP_HANDSHAKE)            \
  X(on_class_told_if_unequal, SSL_get_error, RL_PLACE_CLASS_UNEQUAL, 0, RL_GROUP_HANDSHAKE)        \
  X(on_verify_told, SSL_get_verify_result, RL_PLACE_VALUE, RL_ARG1, RL_GROUP_HANDSHAKE)            \
  X(on_ssl_free, SSL_free, RL_PLACE_ENTRY, RL_ARG1, RL_GROUP_HANDSHAKE)                            \
  X(on_ssl_write, SSL_write, RL_PLACE_ENTRY, RL_ARG1 | RL_ARG2 | RL_ARG3, RL_GROUP_DATA)           \
  X(on_ssl_write, SSL_write_ex, RL_PLACE_ENTRY, RL_ARG1 | RL_ARG2 | RL_ARG3, RL_GROUP_DATA)        \
  X(on_ssl_read, SSL_read, RL_PLACE_SESSION, RL_ARG1 | RL_ARG2, RL_GROUP_DATA)                     \
  X(on_ssl_read_ex, SSL_read_ex, RL_PLACE_SESSION, RL_ARG1 | RL_ARG2 | RL_ARG4, RL_GROUP_DATA)     \
  X(on_ssl_read_begin, SSL_read, RL_PLACE_ENTRY, RL_ARG1 | RL_ARG2, RL_GROUP_DATA)                 \
  X(on_ssl_read_ex_begin, SSL_read_ex, RL_PLACE_ENTRY, RL_ARG1 | RL_ARG2 | RL_ARG4, RL_GROUP_DATA) \
  X(on_ssl_read_end, SSL_read, RL_PLACE_EXIT, 0, RL_GROUP_DATA)                                    \
  X(on_ssl_read_ex_end, SSL_read_ex, RL_PLACE_EXIT, 0, RL_GROUP_DATA)                              \
  X(on_getaddrinfo_begin, getaddrinfo, RL_PLACE_ENTRY, RL_ARG1 | RL_ARG4, RL_GROUP_LIBC)           \
  X(on_getaddrinfo_end, getaddrinfo, RL_PLACE_EXIT, 0, RL_GROUP_LIBC)                              \
  X(on_libc_connect, connect, RL_PLACE_AFTER_SYSCALL, 0, RL_GROUP_LIBC)

#endif
