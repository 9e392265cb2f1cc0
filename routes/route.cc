// SPDX-License-Identifier: Apache-2.0
#include "routes/route.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace routelens {
namespace {

constexpr std::string_view kSubjectTag = "openshell:mcp-route-subject:v1";
constexpr std::string_view kSubjectPrefix = "mcp-route:v1:";
constexpr std::string_view kEndpointTag = "openshell:endpoint:v1";
constexpr std::string_view kEndpointPrefix = "endpoint:v1:";

template <typename T>
std::string BigEndian(T value) {
  std::string bytes(sizeof(T), '\0');
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes[sizeof(T) - 1 - i] = static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

void AppendField(std::string& message, std::string_view field) {
  message += BigEndian<uint64_t>(field.size());
  message += field;
}

std::string Sha256Hex(std::string_view message) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  // Fails only where libcrypto has no SHA-256 at all, and then no route has a name.
  if (EVP_Digest(message.data(), message.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    std::abort();
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * size);
  for (unsigned int i = 0; i < size; ++i) {
    hex += kDigits[digest[i] >> 4];
    hex += kDigits[digest[i] & 0xF];
  }
  return hex;
}

std::string CanonicalFields(std::string_view host, const std::vector<uint16_t>& ports,
                            std::string_view path) {
  std::string fields;
  AppendField(fields, host);
  AppendField(fields, path);
  AppendField(fields, BigEndian<uint64_t>(ports.size()));
  for (const uint16_t port : ports) AppendField(fields, BigEndian<uint32_t>(port));
  return fields;
}

std::string Fields(std::string_view host, const std::vector<uint16_t>& ports,
                   std::string_view path) {
  return CanonicalFields(CanonicalHost(host), CanonicalPorts(ports), CanonicalPath(path));
}

std::string Name(std::string_view prefix, std::string_view tag, const std::string& fields) {
  return std::string(prefix) + Sha256Hex(std::string(tag) + fields);
}

}  // namespace

std::string CanonicalHost(std::string_view host) {
  std::string canonical(host);
  for (char& c : canonical) {
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  }
  return canonical;
}

std::string CanonicalPath(std::string_view path) {
  return path.empty() || path == "**" ? "/**" : std::string(path);
}

std::vector<uint16_t> CanonicalPorts(std::vector<uint16_t> ports) {
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  return ports;
}

RouteSubject SubjectOf(std::string_view host, const std::vector<uint16_t>& ports,
                       std::string_view path) {
  return {Name(kSubjectPrefix, kSubjectTag, Fields(host, ports, path))};
}

std::string EndpointIdOf(std::string_view host, const std::vector<uint16_t>& ports,
                         std::string_view path) {
  return Name(kEndpointPrefix, kEndpointTag, Fields(host, ports, path));
}

Route MakeRoute(std::string_view host, std::vector<uint16_t> ports, std::string_view path,
                bool credentialed) {
  Route route;
  route.host = CanonicalHost(host);
  route.ports = CanonicalPorts(std::move(ports));
  route.path = CanonicalPath(path);
  route.credentialed = credentialed;
  const std::string fields = CanonicalFields(route.host, route.ports, route.path);
  route.subject.text = Name(kSubjectPrefix, kSubjectTag, fields);
  route.endpoint_id = Name(kEndpointPrefix, kEndpointTag, fields);
  return route;
}

}  // namespace routelens
