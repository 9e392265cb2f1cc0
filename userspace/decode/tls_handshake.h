// SPDX-License-Identifier: Apache-2.0
//
// The clear part of one direction's TLS handshake, from the bytes that the kernel copies out (whole
// records, heads included): joins handshake messages across records and pieces, and keeps what the
// messages tell. Pieces come in order; a gap ends the reading, what was known stays.
//
// Pure, bounded: holds at most RL_FLIGHT_MAX bytes (4096), which is also all the kernel sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "userspace/decode/tls_hello.h"

namespace routelens {

// Which handshake messages were seen at least in their head (RFC 5246 and 8446, HandshakeType).
struct TlsFlight {
  std::optional<ClientHello> client_hello;  // the last one: after HelloRetryRequest the second
  std::optional<ServerHello> server_hello;  // the last one
  bool hello_retry_request = false;         // one was seen before server_hello
  bool certificate = false;
  bool certificate_request = false;
  bool server_hello_done = false;
  bool client_key_exchange = false;
  bool malformed = false;   // a message that no grammar allows; nothing behind it was read
  bool incomplete = false;  // a message has begun and is not whole
  bool gap = false;         // bytes were missed, or the limit was reached
  friend bool operator==(const TlsFlight&, const TlsFlight&) = default;
};

class TlsHandshakeReader {
 public:
  // Adds bytes that begin `offset` bytes after the stream's start.
  void Add(uint32_t offset, std::span<const std::byte> bytes);

  // Bytes were missed, or no more will come: a hello whose beginning is there is read as `cut`.
  void Break();

  const TlsFlight& flight() const { return flight_; }

 private:
  void ReadRecords();
  void ReadMessages();
  void Refuse();
  void ReadMessage(uint8_t type, std::span<const std::byte> body, size_t declared_bytes);

  bool reading() const { return !flight_.malformed && !flight_.gap; }

  TlsFlight flight_;
  std::vector<std::byte> records_;    // not yet read: the start of a record
  std::vector<std::byte> handshake_;  // fragments joined, not yet read: the start of a message
  uint32_t next_offset_ = 0;
};

}  // namespace routelens
