// SPDX-License-Identifier: Apache-2.0
#include "userspace/sources/recording_codec.h"

#include <algorithm>
#include <utility>

#include "userspace/decode/byte_reader.h"
#include "userspace/sources/crc32.h"

namespace routelens {
namespace {

enum EndpointFlag : unsigned {
  kIsRoute = 1,
  kCredentialed = 2,
  kEnforced = 4,
  kHasBinaries = 8,
  kAllEndpointFlags = 15,
};

enum CapabilityFlag : unsigned { kPresent = 1, kFloor = 2, kAllCapabilityFlags = 3 };

std::string ReadText(ByteReader& reader) {
  const std::span<const std::byte> bytes = reader.Take(reader.U32());
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

unsigned If(bool holds, unsigned flag) {
  return holds ? flag : 0;
}

void WritePorts(const std::vector<uint16_t>& ports, ByteWriter& writer) {
  writer.U32(ports.size());
  for (const uint16_t port : ports) writer.U16(port);
}

std::vector<uint16_t> ReadPorts(ByteReader& reader) {
  ByteReader list(reader.Take(size_t{reader.U32()} * 2));
  std::vector<uint16_t> ports;
  ports.reserve(list.remaining() / 2);
  while (!list.empty()) ports.push_back(list.U16());
  return ports;
}

// Reads a count and that many items, each of at least one byte, so that no count asks for more
// than there is. `read` appends one.
template <typename Read>
bool ReadList(ByteReader& reader, const Read& read) {
  const size_t count = reader.U32();
  if (!reader.ok() || count > reader.remaining())
    return false;
  for (size_t i = 0; i < count && reader.ok(); ++i) read();
  return reader.ok();
}

// Every counter, in the order of the format.
constexpr uint64_t Loss::*kLossMembers[] = {
    &Loss::kernel_ring_full,   &Loss::kernel_throttled,     &Loss::kernel_too_large,
    &Loss::kernel_map_full,    &Loss::kernel_helper_failed, &Loss::undecodable,
    &Loss::sequence_gaps,      &Loss::exchanges_dropped,    &Loss::table_full,
    &Loss::recording_truncated};
static_assert(sizeof(Loss) == sizeof kLossMembers / sizeof kLossMembers[0] * sizeof(uint64_t),
              "a counter of Loss is missing here");

}  // namespace

void ByteWriter::Bytes(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void ByteWriter::Text(std::string_view text) {
  U32(text.size());
  Bytes(std::as_bytes(std::span(text)));
}

void ByteWriter::Number(uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    bytes_.push_back(static_cast<std::byte>(value >> shift & 0xff));
}

std::vector<std::byte> EncodeFileHeader(const RecordingHeader& header) {
  ByteWriter writer;
  writer.Bytes(std::as_bytes(std::span(kRecordingMagic, 8)));
  writer.U16(kRecordingFormat);
  writer.U16(header.abi_version);
  writer.Bytes(std::as_bytes(std::span(&kByteOrderMark, 1)));
  writer.U64(static_cast<uint64_t>(header.wall_clock_offset_ns));
  std::string version = header.product_version;
  version.resize(kRecordingVersionBytes);
  writer.Bytes(std::as_bytes(std::span(version)));
  writer.U32(Crc32(writer.bytes()));
  return writer.bytes();
}

std::vector<std::byte> EncodePolicy(const Policy& policy) {
  ByteWriter writer;
  writer.U32(policy.endpoints.size());
  for (const PolicyEndpoint& endpoint : policy.endpoints) {
    writer.U8(If(endpoint.is_route, kIsRoute) | If(endpoint.credentialed, kCredentialed) |
              If(endpoint.enforced, kEnforced) | If(endpoint.has_binaries, kHasBinaries));
    writer.Text(endpoint.rule);
    writer.Text(endpoint.host);
    WritePorts(endpoint.ports, writer);
    writer.Text(endpoint.path);
    writer.Text(endpoint.protocol);
  }
  writer.U32(policy.routes.size());
  for (const Route& route : policy.routes) {
    writer.U8(If(route.credentialed, kCredentialed));
    writer.Text(route.host);
    WritePorts(route.ports, writer);
    writer.Text(route.path);
  }
  return writer.bytes();
}

std::optional<Policy> DecodePolicy(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  Policy policy;
  bool good = ReadList(reader, [&] {
    PolicyEndpoint endpoint;
    const unsigned flags = reader.U8();
    endpoint.rule = ReadText(reader);
    endpoint.host = ReadText(reader);
    endpoint.ports = ReadPorts(reader);
    endpoint.path = ReadText(reader);
    endpoint.protocol = ReadText(reader);
    endpoint.is_route = (flags & kIsRoute) != 0;
    endpoint.credentialed = (flags & kCredentialed) != 0;
    endpoint.enforced = (flags & kEnforced) != 0;
    endpoint.has_binaries = (flags & kHasBinaries) != 0;
    policy.endpoints.push_back(std::move(endpoint));
  });
  bool routes_good = true;
  good = good && ReadList(reader, [&] {
           const unsigned flags = reader.U8();
           const std::string host = ReadText(reader);
           std::vector<uint16_t> ports = ReadPorts(reader);
           const std::string path = ReadText(reader);
           if (!reader.ok())
             return;
           if (host.empty() || ports.empty()) {
             routes_good = false;
             return;
           }
           policy.routes.push_back(
               MakeRoute(host, std::move(ports), path, (flags & kCredentialed) != 0));
         });
  if (!good || !routes_good || !reader.empty())
    return std::nullopt;
  std::stable_sort(policy.routes.begin(), policy.routes.end(),
                   [](const Route& a, const Route& b) { return a.subject < b.subject; });
  return policy;
}

std::vector<std::byte> EncodeCoverage(const Coverage& coverage) {
  ByteWriter writer;
  writer.U32(coverage.capabilities.size());
  for (const Capability& capability : coverage.capabilities) {
    writer.U8(If(capability.present, kPresent) | If(capability.floor, kFloor));
    writer.Text(capability.name);
    writer.Text(capability.via);
    writer.Text(capability.reason);
    writer.Text(capability.costs);
    writer.Text(capability.remedy);
  }
  writer.U32(coverage.libraries.size());
  for (const LibraryCoverage& library : coverage.libraries) {
    writer.Text(library.kind);
    writer.Text(library.image);
    writer.U32(library.probes);
    writer.Text(library.reason);
  }
  writer.U32(coverage.blind_spots.size());
  for (const std::string& sentence : coverage.blind_spots) writer.Text(sentence);
  return writer.bytes();
}

std::optional<Coverage> DecodeCoverage(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  Coverage coverage;
  bool good = ReadList(reader, [&] {
    Capability capability;
    const unsigned flags = reader.U8();
    capability.present = (flags & kPresent) != 0;
    capability.floor = (flags & kFloor) != 0;
    capability.name = ReadText(reader);
    capability.via = ReadText(reader);
    capability.reason = ReadText(reader);
    capability.costs = ReadText(reader);
    capability.remedy = ReadText(reader);
    coverage.capabilities.push_back(std::move(capability));
  });
  good = good && ReadList(reader, [&] {
           LibraryCoverage library;
           library.kind = ReadText(reader);
           library.image = ReadText(reader);
           library.probes = reader.U32();
           library.reason = ReadText(reader);
           coverage.libraries.push_back(std::move(library));
         });
  good = good && ReadList(reader, [&] { coverage.blind_spots.push_back(ReadText(reader)); });
  if (!good || !reader.empty())
    return std::nullopt;
  return coverage;
}

std::vector<std::byte> EncodeLoss(const Loss& loss) {
  ByteWriter writer;
  for (const auto member : kLossMembers) writer.U64(loss.*member);
  return writer.bytes();
}

std::optional<Loss> DecodeLoss(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  Loss loss;
  for (const auto member : kLossMembers) loss.*member = reader.U64();
  if (!reader.ok() || !reader.empty())
    return std::nullopt;
  return loss;
}

std::vector<std::byte> EncodeTime(BootTime time) {
  ByteWriter writer;
  writer.U64(time.ns);
  return writer.bytes();
}

std::optional<BootTime> DecodeTime(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const BootTime time{reader.U64()};
  if (!reader.ok() || !reader.empty() || time.ns > INT64_MAX)
    return std::nullopt;
  return time;
}

}  // namespace routelens
