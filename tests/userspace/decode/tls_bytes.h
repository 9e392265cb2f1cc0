// SPDX-License-Identifier: Apache-2.0
//
// TLS hellos, handshake messages and records as tests write them.
#pragma once

#include <string_view>

#include "tests/userspace/decode/bytes.h"
#include "userspace/decode/tls_hello.h"

namespace routelens {

inline TlsRandom SomeRandom() {
  TlsRandom random;
  for (size_t i = 0; i < random.size(); ++i) random[i] = static_cast<std::byte>(i + 1);
  return random;
}

inline Bytes RandomBytes() {
  const TlsRandom random = SomeRandom();
  return {random.begin(), random.end()};
}

inline Bytes Extension(size_t type, const Bytes& data) {
  return U16(type) + Counted16(data);
}

inline Bytes ServerName(std::string_view name) {
  return Extension(0, Counted16(BytesOf({0}) + Counted16(BytesOf(name))));
}

inline Bytes ClientHelloBody(const Bytes& extensions, const Bytes& session_id = {}) {
  return U16(kTls12) + RandomBytes() + Counted8(session_id) + Counted16(U16(0x1301)) +
         BytesOf({1, 0}) + Counted16(extensions);
}

inline Bytes ServerHelloBody(const Bytes& extensions, const Bytes& session_id = {}) {
  return U16(kTls12) + RandomBytes() + Counted8(session_id) + U16(0x1301) + BytesOf({0}) +
         Counted16(extensions);
}

inline Bytes HandshakeMessage(int type, const Bytes& body) {
  return BytesOf({type}) + U24(body.size()) + body;
}

inline Bytes HandshakeRecord(const Bytes& fragment) {
  return BytesOf({22, 3, 1}) + Counted16(fragment);
}

}  // namespace routelens
