// SPDX-License-Identifier: Apache-2.0
//
// Bodies of the ClientHello and ServerHello handshake messages (RFC 8446 section 4.1, RFC 5246
// section 7.4.1): what tells a session's name, version, join key and whether it resumes another.
// Pure; any bytes are safe to give; each length is held against what is left, and extensions
// must fill their block exactly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace routelens {

using TlsRandom = std::array<std::byte, 32>;

constexpr uint16_t kTls12 = 0x0303;
constexpr uint16_t kTls13 = 0x0304;

enum class TlsFault : uint8_t {
  kTooShort,   // ends before a part that must be there
  kBadLength,  // a length inside is more than there is, or leaves bytes over
  kBadValue,   // a name that is empty, a version that is none
};

std::string_view ToString(TlsFault fault);  // "too_short", ...

struct ClientHello {
  uint16_t legacy_version = 0;
  TlsRandom random{};
  std::vector<std::byte> session_id;
  std::string server_name;              // as sent; "" if there is none
  std::vector<std::string> alpn;        // in the client's order
  std::vector<uint16_t> versions;       // supported_versions without GREASE; else legacy_version
  bool encrypted_client_hello = false;  // then server_name is not the name that is meant
  bool offers_resumption = false;       // a ticket, a pre-shared key, or a session id before 1.3
  bool offers_early_data = false;
  bool cut = false;  // not all bytes were there: what is absent may only be unseen
  friend bool operator==(const ClientHello&, const ClientHello&) = default;
};

struct ServerHello {
  uint16_t version = 0;  // from supported_versions, else legacy_version (C22)
  TlsRandom random{};
  std::vector<std::byte> session_id;  // in TLS 1.3 the echo of the client's
  uint16_t cipher_suite = 0;
  std::string alpn;  // TLS 1.2 only; TLS 1.3 has it encrypted
  bool is_hello_retry_request = false;
  bool pre_shared_key = false;  // TLS 1.3: the session resumes another
  bool cut = false;
  friend bool operator==(const ServerHello&, const ServerHello&) = default;
};

// `body` is what follows the 4-byte head of the handshake message; `declared_bytes` is its length
// there. With fewer bytes the result is `cut` and has what was whole.
std::variant<ClientHello, TlsFault> ParseClientHello(std::span<const std::byte> body,
                                                     size_t declared_bytes);
std::variant<ServerHello, TlsFault> ParseServerHello(std::span<const std::byte> body,
                                                     size_t declared_bytes);

// The server took up a session that the client offered: there is no certificate step.
bool IsResumption(const ClientHello& client, const ServerHello& server);

// Whether an alert ends the handshake (rulings 8): a fatal one that is neither close_notify nor
// user_canceled. Warnings do not.
bool AlertFails(uint8_t level, uint8_t description);

}  // namespace routelens
