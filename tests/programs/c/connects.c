// SPDX-License-Identifier: Apache-2.0
//
// Connects in the ways that tracers get wrong. Prints "connected", or the error of each attempt.
//
//   connects plain ADDR PORT N         N blocking connects, one after the other
//   connects threads ADDR PORT N T     N connects in each of T threads
//   connects uring ADDR PORT N         through io_uring
//   connects fork ADDR PORT N          each in a process of its own
//   connects nonblock ADDR PORT N      non-blocking, result by poll
//   connects early-close ADDR PORT N   closed as soon as it is established
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <liburing.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sockaddr_in g_peer;
static int g_count;

static int Socket(int flags) {
  const int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (sock < 0) {
    perror("socket");
    exit(2);
  }
  return sock;
}

// 0 or the errno of the attempt.
static int Blocking(void) {
  const int sock = Socket(0);
  const int result = connect(sock, (struct sockaddr*)&g_peer, sizeof(g_peer)) == 0 ? 0 : errno;
  close(sock);
  return result;
}

static int NonBlocking(void) {
  const int sock = Socket(SOCK_NONBLOCK);
  int result = connect(sock, (struct sockaddr*)&g_peer, sizeof(g_peer)) == 0 ? 0 : errno;
  if (result == EINPROGRESS) {
    struct pollfd wait = {.fd = sock, .events = POLLOUT};
    if (poll(&wait, 1, 5000) == 1) {
      socklen_t size = sizeof(result);
      getsockopt(sock, SOL_SOCKET, SO_ERROR, &result, &size);
    }
  }
  close(sock);
  return result;
}

static int ByUring(struct io_uring* ring) {
  const int sock = Socket(0);
  struct io_uring_sqe* entry = io_uring_get_sqe(ring);
  io_uring_prep_connect(entry, sock, (struct sockaddr*)&g_peer, sizeof(g_peer));
  io_uring_submit(ring);
  struct io_uring_cqe* done = NULL;
  if (io_uring_wait_cqe(ring, &done) != 0)
    return EIO;
  const int result = -done->res;
  io_uring_cqe_seen(ring, done);
  close(sock);
  return result;
}

static void* Thread(void* unused) {
  for (int i = 0; i < g_count; i++) Blocking();
  return unused;
}

static void Say(int result) {
  puts(result == 0 ? "connected" : strerror(result));
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: connects MODE ADDR PORT N [THREADS]\n");
    return 2;
  }
  const char* mode = argv[1];
  g_peer.sin_family = AF_INET;
  g_peer.sin_port = htons((unsigned short)atoi(argv[3]));
  if (inet_pton(AF_INET, argv[2], &g_peer.sin_addr) != 1)
    return 2;
  g_count = atoi(argv[4]);
  if (strcmp(mode, "threads") == 0) {
    enum { kMost = 512 };

    pthread_t threads[kMost];
    int wanted = argc > 5 ? atoi(argv[5]) : 8;
    if (wanted > kMost)
      wanted = kMost;
    for (int i = 0; i < wanted; i++) pthread_create(&threads[i], NULL, Thread, NULL);
    for (int i = 0; i < wanted; i++) pthread_join(threads[i], NULL);
    printf("attempts %d\n", wanted * g_count);
    return 0;
  }
  struct io_uring ring;
  if (strcmp(mode, "uring") == 0 && io_uring_queue_init(8, &ring, 0) != 0) {
    puts("no io_uring");
    return 3;
  }
  for (int i = 0; i < g_count; i++) {
    if (strcmp(mode, "uring") == 0) {
      Say(ByUring(&ring));
    } else if (strcmp(mode, "nonblock") == 0 || strcmp(mode, "early-close") == 0) {
      Say(NonBlocking());
    } else if (strcmp(mode, "fork") == 0) {
      const pid_t child = fork();
      if (child == 0)
        _exit(Blocking());
      int status = 0;
      waitpid(child, &status, 0);
      Say(WEXITSTATUS(status));
    } else {
      Say(Blocking());
    }
  }
  return 0;
}
