// SPDX-License-Identifier: Apache-2.0
#include "tests/support/wire_bytes.h"

#include "tests/support/event_builder.h"

namespace routelens {
namespace {

class Bytes {
 public:
  Bytes& U8(unsigned value) {
    bytes_.push_back(static_cast<std::byte>(value & 0xff));
    return *this;
  }

  Bytes& U16(unsigned value) { return U8(value >> 8).U8(value); }

  Bytes& U24(unsigned value) { return U8(value >> 16).U16(value); }

  Bytes& U32(unsigned value) { return U16(value >> 16).U16(value); }

  Bytes& Fill(std::byte value, size_t count) {
    bytes_.insert(bytes_.end(), count, value);
    return *this;
  }

  Bytes& Text(std::string_view text) {
    for (const char c : text) U8(static_cast<unsigned char>(c));
    return *this;
  }

  Bytes& Add(const Bytes& other) {
    bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
    return *this;
  }

  unsigned size() const { return static_cast<unsigned>(bytes_.size()); }

  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

Bytes Name(std::string_view name) {
  Bytes out;
  while (!name.empty()) {
    const size_t dot = name.find('.');
    const std::string_view label = name.substr(0, dot);
    out.U8(static_cast<unsigned>(label.size())).Text(label);
    name = dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
  }
  return out.U8(0);
}

Bytes Extension(unsigned type, const Bytes& body) {
  return Bytes().U16(type).U16(body.size()).Add(body);
}

std::vector<std::byte> Record(unsigned handshake_type, const Bytes& body) {
  return Bytes()
      .U8(22)
      .U16(0x0301)
      .U16(body.size() + 4)
      .U8(handshake_type)
      .U24(body.size())
      .Add(body)
      .Take();
}

}  // namespace

std::vector<std::byte> DnsQuery(uint16_t id, std::string_view name, uint16_t type) {
  return Bytes()
      .U16(id)
      .U16(0x0100)
      .U16(1)
      .U16(0)
      .U16(0)
      .U16(0)
      .Add(Name(name))
      .U16(type)
      .U16(1)
      .Take();
}

std::vector<std::byte> DnsReply(uint16_t id, std::string_view name, uint16_t type, uint8_t rcode,
                                const std::vector<std::string>& addresses, bool truncated) {
  Bytes out;
  out.U16(id)
      .U16(0x8180U | rcode | (truncated ? 0x0200U : 0U))
      .U16(1)
      .U16(static_cast<unsigned>(addresses.size()))
      .U16(0)
      .U16(0)
      .Add(Name(name))
      .U16(type)
      .U16(1);
  for (const std::string& text : addresses) {
    const IpAddress address = Ip(text);
    const size_t first = type == 1 ? 12 : 0;
    out.U16(0xc00c).U16(type).U16(1).U32(60).U16(static_cast<unsigned>(16 - first));
    for (size_t i = first; i < 16; i++) out.U8(address.bytes[i]);
  }
  return out.Take();
}

std::vector<std::byte> ClientHelloRecord(const HelloOptions& options) {
  Bytes extensions;
  if (!options.sni.empty()) {
    Bytes name;
    name.U16(static_cast<unsigned>(options.sni.size() + 3))
        .U8(0)
        .U16(static_cast<unsigned>(options.sni.size()))
        .Text(options.sni);
    extensions.Add(Extension(0, name));
  }
  extensions.Add(Extension(43, Bytes().U8(4).U16(0x0304).U16(0x0303)));
  Bytes body;
  body.U16(0x0303).Fill(options.random, 32).U8(32).Fill(std::byte{0x22}, 32);
  body.U16(2).U16(0x1301).U8(1).U8(0);
  if (options.offers_resumption) {
    Bytes psk;  // one identity of 4 bytes, one binder of 32
    psk.U16(10).U16(4).U32(1).U32(0).U16(33).U8(32).Fill(std::byte{0}, 32);
    extensions.Add(Extension(41, psk));
  }
  body.U16(extensions.size()).Add(extensions);
  return Record(1, body);
}

std::vector<std::byte> ServerHelloRecord(uint16_t version, bool resumes) {
  Bytes extensions;
  if (version == 0x0304)
    extensions.Add(Extension(43, Bytes().U16(0x0304)));
  if (resumes && version == 0x0304)
    extensions.Add(Extension(41, Bytes().U16(0)));
  Bytes body;
  body.U16(0x0303).Fill(std::byte{0x33}, 32).U8(32);
  body.Fill(version == 0x0304 || resumes ? std::byte{0x22} : std::byte{0x44}, 32);
  body.U16(0x1301).U8(0).U16(extensions.size()).Add(extensions);
  return Record(2, body);
}

}  // namespace routelens
