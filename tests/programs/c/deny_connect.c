// SPDX-License-Identifier: Apache-2.0
//
// deny_connect [--all] CMD...: runs CMD in a child cgroup to which a BPF program is attached that
// refuses every TCP connect (with --all every connect, that of a name lookup too) with EPERM, as a
// sandbox's policy hook does; removes the cgroup at its end.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void Die(const char* what) {
  fprintf(stderr, "deny_connect: %s: %s\n", what, strerror(errno));
  exit(125);
}

static long Bpf(int command, union bpf_attr* attr) {
  return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static void AttachRefusal(int cgroup, int attach_type, int only_type) {
  // return only_type != 0 && ctx->type != only_type; where 0 means "refused".
  const struct bpf_insn code[] = {
      {.code = BPF_LDX | BPF_MEM | BPF_W,
       .dst_reg = 2,
       .src_reg = 1,
       .off = offsetof(struct bpf_sock_addr, type)},
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = only_type != 0},
      {.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 2, .imm = only_type, .off = 1},
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT},
  };
  union bpf_attr load = {0};
  load.prog_type = BPF_PROG_TYPE_CGROUP_SOCK_ADDR;
  load.expected_attach_type = (unsigned)attach_type;
  load.insns = (unsigned long)code;
  load.insn_cnt = sizeof(code) / sizeof(code[0]);
  load.license = (unsigned long)"Apache-2.0";
  memcpy(load.prog_name, "deny_connect", 12);
  const long program = Bpf(BPF_PROG_LOAD, &load);
  if (program < 0)
    Die("load the program");
  union bpf_attr attach = {0};
  attach.target_fd = (unsigned)cgroup;
  attach.attach_bpf_fd = (unsigned)program;
  attach.attach_type = (unsigned)attach_type;
  attach.attach_flags = BPF_F_ALLOW_MULTI;
  if (Bpf(BPF_PROG_ATTACH, &attach) != 0)
    Die("attach the program");
  close((int)program);
}

static void OwnCgroup(char* path, size_t size) {
  char line[4096];
  char mount[2048] = "";
  FILE* file = fopen("/proc/self/mountinfo", "r");
  if (file == NULL)
    Die("/proc/self/mountinfo");
  while (fgets(line, sizeof(line), file) != NULL) {
    if (strstr(line, " - cgroup2 ") != NULL) {
      sscanf(line, "%*s %*s %*s %*s %2047s", mount);
      break;
    }
  }
  fclose(file);
  if (mount[0] == '\0') {
    errno = ENOENT;
    Die("cgroup2 mount");
  }
  file = fopen("/proc/self/cgroup", "r");
  if (file == NULL)
    Die("/proc/self/cgroup");
  while (fgets(line, sizeof(line), file) != NULL) {
    if (strncmp(line, "0::", 3) == 0) {
      line[strcspn(line, "\n")] = '\0';
      snprintf(path, size, "%s%s", mount, line + 3);
    }
  }
  fclose(file);
}

static void Join(const char* cgroup) {
  char path[8300];
  snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, "0", 1) != 1)
    Die(path);
  close(file);
}

int main(int argc, char** argv) {
  const int all = argc > 1 && strcmp(argv[1], "--all") == 0;
  if (argc < 2 + all) {
    fprintf(stderr, "usage: deny_connect [--all] CMD...\n");
    return 2;
  }
  argv += all;
  const int only_type = all ? 0 : SOCK_STREAM;
  char own[8192] = "";
  char inner[8250];
  OwnCgroup(own, sizeof(own));
  snprintf(inner, sizeof(inner), "%s/deny-%d", own, getpid());
  if (mkdir(inner, 0755) != 0)
    Die(inner);
  const int cgroup = open(inner, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (cgroup < 0)
    Die(inner);
  AttachRefusal(cgroup, BPF_CGROUP_INET4_CONNECT, only_type);
  AttachRefusal(cgroup, BPF_CGROUP_INET6_CONNECT, only_type);
  const pid_t child = fork();
  if (child < 0)
    Die("fork");
  if (child == 0) {
    Join(inner);
    execvp(argv[1], argv + 1);
    Die(argv[1]);
  }
  int status = 0;
  if (waitpid(child, &status, 0) < 0)
    Die("waitpid");
  rmdir(inner);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
