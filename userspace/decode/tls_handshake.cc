// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/tls_handshake.h"

#include <utility>

#include "userspace/decode/byte_reader.h"

namespace routelens {
namespace {

constexpr size_t kMaxFlightBytes = 4096;
constexpr size_t kRecordHeadBytes = 5;
constexpr size_t kMessageHeadBytes = 4;
constexpr uint8_t kHandshakeRecord = 22;

// HandshakeType, RFC 5246 section 7.4 and RFC 8446 section 4.
constexpr uint8_t kClientHelloType = 1;
constexpr uint8_t kServerHelloType = 2;
constexpr uint8_t kCertificateType = 11;
constexpr uint8_t kCertificateRequestType = 13;
constexpr uint8_t kServerHelloDoneType = 14;
constexpr uint8_t kClientKeyExchangeType = 16;

void EraseFront(std::vector<std::byte>& bytes, size_t count) {
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(count));
}

}  // namespace

void TlsHandshakeReader::Add(uint32_t offset, std::span<const std::byte> bytes) {
  if (!reading())
    return;
  if (offset != next_offset_ || next_offset_ + bytes.size() > kMaxFlightBytes) {
    Break();
    return;
  }
  next_offset_ += static_cast<uint32_t>(bytes.size());
  records_.insert(records_.end(), bytes.begin(), bytes.end());
  ReadRecords();
  if (next_offset_ == kMaxFlightBytes)
    Break();
}

void TlsHandshakeReader::Break() {
  if (!reading())
    return;
  flight_.gap = true;
  // What there is of a record that was cut still belongs to its message.
  if (records_.size() > kRecordHeadBytes) {
    handshake_.insert(handshake_.end(), records_.begin() + kRecordHeadBytes, records_.end());
  }
  records_.clear();
  ReadMessages();
  ByteReader reader(handshake_);
  const uint8_t type = reader.U8();
  const size_t declared_bytes = reader.U24();
  if (reader.ok())
    ReadMessage(type, reader.Take(reader.remaining()), declared_bytes);
  handshake_.clear();
}

void TlsHandshakeReader::ReadRecords() {
  while (true) {
    ByteReader reader(records_);
    const uint8_t type = reader.U8();
    const uint8_t major = reader.U8();
    reader.U8();
    const std::span<const std::byte> fragment = reader.Counted16();
    if (records_.size() >= 2 && (type != kHandshakeRecord || major != 3)) {
      ReadMessages();
      Refuse();
      return;
    }
    if (!reader.ok())
      break;
    handshake_.insert(handshake_.end(), fragment.begin(), fragment.end());
    EraseFront(records_, kRecordHeadBytes + fragment.size());
  }
  ReadMessages();
  flight_.incomplete = !records_.empty() || !handshake_.empty();
}

void TlsHandshakeReader::Refuse() {
  flight_.malformed = true;
  flight_.incomplete = false;
  records_.clear();
  handshake_.clear();
}

void TlsHandshakeReader::ReadMessages() {
  while (!flight_.malformed) {
    ByteReader reader(handshake_);
    const uint8_t type = reader.U8();
    const size_t declared_bytes = reader.U24();
    const std::span<const std::byte> body = reader.Take(declared_bytes);
    if (!reader.ok())
      return;
    ReadMessage(type, body, declared_bytes);
    if (!flight_.malformed)
      EraseFront(handshake_, kMessageHeadBytes + declared_bytes);
  }
}

void TlsHandshakeReader::ReadMessage(uint8_t type, std::span<const std::byte> body,
                                     size_t declared_bytes) {
  switch (type) {
    case kClientHelloType: {
      auto hello = ParseClientHello(body, declared_bytes);
      if (auto* parsed = std::get_if<ClientHello>(&hello))
        flight_.client_hello = std::move(*parsed);
      else if (body.size() == declared_bytes)
        Refuse();
      return;
    }
    case kServerHelloType: {
      auto hello = ParseServerHello(body, declared_bytes);
      if (auto* parsed = std::get_if<ServerHello>(&hello)) {
        if (parsed->is_hello_retry_request)
          flight_.hello_retry_request = true;
        flight_.server_hello = std::move(*parsed);
      } else if (body.size() == declared_bytes) {
        Refuse();
      }
      return;
    }
    case kCertificateType:
      flight_.certificate = true;
      return;
    case kCertificateRequestType:
      flight_.certificate_request = true;
      return;
    case kServerHelloDoneType:
      flight_.server_hello_done = true;
      return;
    case kClientKeyExchangeType:
      flight_.client_key_exchange = true;
      return;
    default:
      return;
  }
}

}  // namespace routelens
