// SPDX-License-Identifier: Apache-2.0
//
// The same bytes through the scanners as this kernel's verifier loads them and as the host
// compiles them: the two must end in the same memory. Needs BPF; says why when it skips.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conversation_run.skel.h"
#include "tests/bpf_pure/conversation_driver.h"
#include "tests/bpf_pure/conversation_run.h"

namespace routelens {
namespace {

struct Destroy {
  void operator()(conversation_run* object) const { conversation_run::destroy(object); }
};

using Script = std::vector<Said>;

const Script kScripts[] = {
    {Client("POST /mcp?secret HTTP/1.1\r\nHost: example.com\r\nContent-Length: 2\r\n\r\n{}"),
     Server("HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            "5\r\nhello\r\n0\r\n\r\n"),
     Client("GET http://user:password@h/p HTTP/1.1\r\nhost: h\r\nHOST: i\r\n\r\n"),
     Server("HTTP/1.1 4294967496 OK\r\n\r\n")},
    {Client("CONNECT h:443 HTTP/1.1\r\n\r\n"), Server("HTTP/1.1 200 OK\r\n\r\n"),
     Client(std::string("\x16\x03\x01\x00\x05hello\x15\x03\x03\x00\x02\x02\x30", 17)),
     Server(std::string("\x16\x03\x03\x00\x03sss\x14\x03\x03\x00\x01\x01\x17\x03\x03\x00\x04zzzz",
                        23))},
    {Client(std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0\0\0\1\1\5\0\0\0\1\x82",
                        43)),
     Server(std::string("\0\0\0\4\0\0\0\0\0\0\0\5\1\4\0\0\0\1\x48\3"
                        "401",
                        23))},
    {Client("SSH-2.0-OpenSSH\r\n"), Server("SSH-2.0-OpenSSH\r\n")},
    {Server("220 mail ready\r\n")},
};

class ConversationInKernel : public ::testing::Test {
 protected:
  void SetUp() override {
    libbpf_set_print(nullptr);
    object_.reset(conversation_run::open_and_load());
    if (object_ == nullptr)
      GTEST_SKIP() << "cannot load BPF here: " << std::strerror(errno);
  }

  // One part of a script through the program, from and to `run`.
  void Run(bpf_program* program, rl_conversation_run& run) {
    const __u32 zero = 0;
    bpf_map* map = object_->maps.runs;
    ASSERT_EQ(bpf_map__update_elem(map, &zero, sizeof zero, &run, sizeof run, BPF_ANY), 0);
    std::array<char, 64> packet{};
    packet[12] = 8;  // an IPv4 frame; the program does not look at it
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet.data(),
                .data_size_in = packet.size());
    ASSERT_EQ(bpf_prog_test_run_opts(bpf_program__fd(program), &options), 0)
        << std::strerror(errno);
    ASSERT_EQ(bpf_map__lookup_elem(map, &zero, sizeof zero, &run, sizeof run, 0), 0);
  }

  void ExpectSameAsHost(bpf_program* program) {
    for (const Script& script : kScripts) {
      SCOPED_TRACE(script.front().bytes);
      auto run = std::make_unique<rl_conversation_run>();
      ConversationDriver host;
      for (const Said& said : script) {
        ASSERT_LE(said.bytes.size(), sizeof run->bytes);
        run->direction = said.direction;
        run->length = static_cast<__u32>(said.bytes.size());
        run->at = 0;
        std::memcpy(run->bytes, said.bytes.data(), said.bytes.size());
        Run(program, *run);
        if (HasFatalFailure())
          return;
        host.Feed(said);
        EXPECT_EQ(run->at, run->length);
        ASSERT_EQ(std::memcmp(&run->conversation, &host.conversation(), sizeof(rl_conversation)),
                  0);
      }
      EXPECT_FALSE(host.lines().empty());
    }
  }

  std::unique_ptr<conversation_run, Destroy> object_;
};

TEST_F(ConversationInKernel, SaysWhatTheHostSaysFromABpfLoop) {
  ExpectSameAsHost(object_->progs.run_in_loop);
}

TEST_F(ConversationInKernel, SaysWhatTheHostSaysFromABoundedLoop) {
  ExpectSameAsHost(object_->progs.run_bounded);
}

}  // namespace
}  // namespace routelens
