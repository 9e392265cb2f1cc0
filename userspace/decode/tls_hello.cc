// SPDX-License-Identifier: Apache-2.0
#include "userspace/decode/tls_hello.h"

#include <algorithm>

#include "userspace/decode/byte_reader.h"

namespace routelens {
namespace {

// Extension types, IANA "TLS ExtensionType Values".
constexpr uint16_t kServerName = 0;
constexpr uint16_t kAlpn = 16;
constexpr uint16_t kSessionTicket = 35;
constexpr uint16_t kPreSharedKey = 41;
constexpr uint16_t kEarlyData = 42;
constexpr uint16_t kSupportedVersions = 43;
constexpr uint16_t kEncryptedClientHello = 0xfe0d;

constexpr uint8_t kHostName = 0;
constexpr size_t kMaxSessionIdBytes = 32;

constexpr uint8_t kAlertFatal = 2;
constexpr uint8_t kCloseNotify = 0;
constexpr uint8_t kUserCanceled = 90;

// SHA-256 of "HelloRetryRequest", RFC 8446 section 4.1.3.
constexpr uint8_t kHelloRetryRandom[32] = {
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};

// RFC 8701: 0x0a0a, 0x1a1a, ... 0xfafa.
bool IsGrease(uint16_t value) {
  return (value & 0x0f0f) == 0x0a0a && value >> 8 == (value & 0xff);
}

std::string Text(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::vector<std::byte> Copy(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

using Fault = std::optional<TlsFault>;

// RFC 6066 section 3. An entry that is no host name has the same layout in every known case.
Fault ReadServerName(std::span<const std::byte> data, ClientHello& hello) {
  ByteReader outer(data);
  ByteReader list(outer.Counted16());
  if (!outer.ok() || !outer.empty() || list.empty())
    return TlsFault::kBadLength;
  while (!list.empty()) {
    const uint8_t type = list.U8();
    const std::span<const std::byte> name = list.Counted16();
    if (!list.ok())
      return TlsFault::kBadLength;
    if (type != kHostName || !hello.server_name.empty())
      continue;
    if (name.empty())
      return TlsFault::kBadValue;
    hello.server_name = Text(name);
  }
  return std::nullopt;
}

// RFC 7301 section 3.1.
Fault ReadAlpn(std::span<const std::byte> data, std::vector<std::string>& names) {
  ByteReader outer(data);
  ByteReader list(outer.Counted16());
  if (!outer.ok() || !outer.empty() || list.empty())
    return TlsFault::kBadLength;
  while (!list.empty()) {
    const std::span<const std::byte> name = list.Counted8();
    if (!list.ok())
      return TlsFault::kBadLength;
    if (name.empty())
      return TlsFault::kBadValue;
    names.push_back(Text(name));
  }
  return std::nullopt;
}

Fault ReadVersions(std::span<const std::byte> data, std::vector<uint16_t>& versions) {
  ByteReader outer(data);
  ByteReader list(outer.Counted8());
  if (!outer.ok() || !outer.empty() || list.empty() || list.remaining() % 2 != 0)
    return TlsFault::kBadLength;
  versions.clear();
  while (!list.empty()) {
    const uint16_t version = list.U16();
    if (!IsGrease(version))
      versions.push_back(version);
  }
  return std::nullopt;
}

// Calls read(type, data) for each extension. `cut` tells that `bytes` may end anywhere.
template <typename Read>
Fault ForEachExtension(std::span<const std::byte> bytes, bool cut, const Read& read) {
  ByteReader reader(bytes);
  while (!reader.empty()) {
    const uint16_t type = reader.U16();
    const std::span<const std::byte> data = reader.Counted16();
    if (!reader.ok())
      return cut ? Fault{} : TlsFault::kBadLength;
    if (const Fault fault = read(type, data))
      return fault;
  }
  return std::nullopt;
}

// The extension block at the end of a hello, which may be absent (RFC 5246 section 7.4.1.2). Of a
// cut hello the part that is there.
std::variant<std::span<const std::byte>, TlsFault> ExtensionBlock(ByteReader& reader, bool cut) {
  if (reader.empty())
    return std::span<const std::byte>{};
  const size_t declared = reader.U16();
  if (!reader.ok())
    return cut ? std::variant<std::span<const std::byte>, TlsFault>(std::span<const std::byte>{})
               : TlsFault::kBadLength;
  if (cut ? declared < reader.remaining() : declared != reader.remaining())
    return TlsFault::kBadLength;
  return reader.Take(reader.remaining());
}

Fault ReadClientExtension(uint16_t type, std::span<const std::byte> data, ClientHello& hello) {
  switch (type) {
    case kServerName:
      return ReadServerName(data, hello);
    case kAlpn:
      hello.alpn.clear();
      return ReadAlpn(data, hello.alpn);
    case kSupportedVersions:
      return ReadVersions(data, hello.versions);
    case kSessionTicket:
      hello.offers_resumption |= !data.empty();
      return std::nullopt;
    case kPreSharedKey:
      hello.offers_resumption = true;
      return std::nullopt;
    case kEarlyData:
      hello.offers_early_data = true;
      return std::nullopt;
    case kEncryptedClientHello:
      hello.encrypted_client_hello = true;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

Fault ReadServerExtension(uint16_t type, std::span<const std::byte> data, ServerHello& hello) {
  switch (type) {
    case kSupportedVersions: {
      ByteReader reader(data);
      hello.version = reader.U16();
      return reader.ok() && reader.empty() ? Fault{} : TlsFault::kBadLength;
    }
    case kPreSharedKey:
      hello.pre_shared_key = true;
      return std::nullopt;
    case kAlpn: {
      std::vector<std::string> names;
      if (const Fault fault = ReadAlpn(data, names))
        return fault;
      if (names.size() != 1)
        return TlsFault::kBadValue;
      hello.alpn = names.front();
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string_view ToString(TlsFault fault) {
  switch (fault) {
    case TlsFault::kTooShort:
      return "too_short";
    case TlsFault::kBadLength:
      return "bad_length";
    case TlsFault::kBadValue:
      return "bad_value";
  }
  return "unknown";
}

std::variant<ClientHello, TlsFault> ParseClientHello(std::span<const std::byte> body,
                                                     size_t declared_bytes) {
  if (body.size() > declared_bytes)
    return TlsFault::kBadLength;
  ClientHello hello;
  hello.cut = body.size() < declared_bytes;
  ByteReader reader(body);
  hello.legacy_version = reader.U16();
  const std::span<const std::byte> random = reader.Take(hello.random.size());
  const std::span<const std::byte> session_id = reader.Counted8();
  if (!reader.ok())
    return TlsFault::kTooShort;
  if (hello.legacy_version >> 8 != 3)
    return TlsFault::kBadValue;
  if (session_id.size() > kMaxSessionIdBytes)
    return TlsFault::kBadLength;
  std::copy(random.begin(), random.end(), hello.random.begin());
  hello.session_id = Copy(session_id);
  hello.versions = {hello.legacy_version};

  const std::span<const std::byte> cipher_suites = reader.Counted16();
  reader.Counted8();  // compression methods
  if (!reader.ok())
    return hello.cut ? std::variant<ClientHello, TlsFault>(hello) : TlsFault::kTooShort;
  if (cipher_suites.empty() || cipher_suites.size() % 2 != 0)
    return TlsFault::kBadLength;
  const auto block = ExtensionBlock(reader, hello.cut);
  if (const auto* fault = std::get_if<TlsFault>(&block))
    return *fault;
  const Fault fault = ForEachExtension(
      std::get<0>(block), hello.cut,
      [&hello](auto type, auto data) { return ReadClientExtension(type, data, hello); });
  if (fault)
    return *fault;
  const bool offers_tls13 =
      std::find(hello.versions.begin(), hello.versions.end(), kTls13) != hello.versions.end();
  if (!offers_tls13 && !hello.session_id.empty())
    hello.offers_resumption = true;
  return hello;
}

std::variant<ServerHello, TlsFault> ParseServerHello(std::span<const std::byte> body,
                                                     size_t declared_bytes) {
  if (body.size() > declared_bytes)
    return TlsFault::kBadLength;
  ServerHello hello;
  hello.cut = body.size() < declared_bytes;
  ByteReader reader(body);
  hello.version = reader.U16();
  const std::span<const std::byte> random = reader.Take(hello.random.size());
  const std::span<const std::byte> session_id = reader.Counted8();
  hello.cipher_suite = reader.U16();
  reader.U8();  // compression method
  if (!reader.ok())
    return TlsFault::kTooShort;
  if (hello.version >> 8 != 3)
    return TlsFault::kBadValue;
  if (session_id.size() > kMaxSessionIdBytes)
    return TlsFault::kBadLength;
  std::copy(random.begin(), random.end(), hello.random.begin());
  hello.session_id = Copy(session_id);
  hello.is_hello_retry_request =
      std::equal(random.begin(), random.end(), std::as_bytes(std::span(kHelloRetryRandom)).begin());
  const auto block = ExtensionBlock(reader, hello.cut);
  if (const auto* fault = std::get_if<TlsFault>(&block))
    return *fault;
  const Fault fault = ForEachExtension(
      std::get<0>(block), hello.cut,
      [&hello](auto type, auto data) { return ReadServerExtension(type, data, hello); });
  if (fault)
    return *fault;
  return hello;
}

bool IsResumption(const ClientHello& client, const ServerHello& server) {
  if (server.version >= kTls13)
    return server.pre_shared_key;
  return !server.session_id.empty() && server.session_id == client.session_id;
}

bool AlertFails(uint8_t level, uint8_t description) {
  return level == kAlertFatal && description != kCloseNotify && description != kUserCanceled;
}

}  // namespace routelens
