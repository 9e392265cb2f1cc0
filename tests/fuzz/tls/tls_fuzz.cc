// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the clear part of a TLS handshake, whole and in pieces, and as bodies of hellos.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/require.h"
#include "userspace/decode/tls_handshake.h"

namespace {

using routelens::TlsFlight;
using routelens::TlsHandshakeReader;

TlsFlight Read(std::span<const std::byte> bytes, size_t piece) {
  TlsHandshakeReader reader;
  for (size_t at = 0; at < bytes.size(); at += piece)
    reader.Add(static_cast<uint32_t>(at), bytes.subspan(at, std::min(piece, bytes.size() - at)));
  return reader.flight();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> all = std::as_bytes(std::span(data, size));
  const std::span<const std::byte> bytes = all.first(std::min<size_t>(size, 4096));
  const TlsFlight whole = Read(bytes, 4096);
  RL_REQUIRE(Read(bytes, 1) == whole);
  RL_REQUIRE(Read(bytes, 1 + size % 97) == whole);
  if (whole.client_hello)
    RL_REQUIRE(whole.client_hello->server_name.size() <= 4096);
  Read(all, 1000);

  routelens::ParseClientHello(all, size);
  routelens::ParseClientHello(all, size + 1);
  routelens::ParseServerHello(all, size);
  routelens::ParseServerHello(all, size + 1);
  return 0;
}
