// SPDX-License-Identifier: Apache-2.0
#include "userspace/boundary/images/mapping_stream.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/status_util.h"

namespace routelens {
namespace {

constexpr size_t kDataPages = 32;  // a power of two; some 1,000 records
constexpr size_t kPathMaxBytes = 4096;

// PERF_RECORD_MMAP2 up to its file name (perf_event_open(2)).
struct Mmap2Head {
  perf_event_header header;
  uint32_t pid, tid;
  uint64_t address, length, page_offset;
  uint32_t major, minor;
  uint64_t inode, generation;
  uint32_t protection, flags;
};

static_assert(sizeof(Mmap2Head) == 72, "as perf_event_open(2) has it");

size_t PageBytes() {
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

bool DecodeMappingRecord(std::span<const std::byte> record, MappingRecord& out) {
  perf_event_header header{};
  if (record.size() < sizeof(header))
    return false;
  std::memcpy(&header, record.data(), sizeof(header));
  out = {};
  if (header.type == PERF_RECORD_LOST) {
    out.lost = true;
    return true;
  }
  Mmap2Head head{};
  if (header.type != PERF_RECORD_MMAP2 || record.size() < sizeof(head))
    return false;
  std::memcpy(&head, record.data(), sizeof(head));
  const auto* text = reinterpret_cast<const char*>(record.data()) + sizeof(head);
  const size_t length = ::strnlen(text, record.size() - sizeof(head));
  if (length == 0 || length >= kPathMaxBytes || text[0] != '/' || text[1] == '/' || head.inode == 0)
    return false;
  out.file.pid = static_cast<pid_t>(head.pid);
  out.file.inode = head.inode;
  out.file.path.assign(text, length);
  out.file.device = makedev(head.major, head.minor);
  out.file.generation = head.generation;
  return true;
}

absl::StatusOr<MappingStream> MappingStream::Open() {
  MappingStream stream;
  perf_event_attr attr;
  std::memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.watermark = 1;
  attr.wakeup_watermark = 1;
  const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
  int error = 0;
  for (long cpu = 0; cpu < cpus; ++cpu) {
    UniqueFd fd(static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, static_cast<int>(cpu),
                                           -1, PERF_FLAG_FD_CLOEXEC)));
    if (!fd) {
      error = errno;  // a CPU may be offline
      continue;
    }
    void* memory = ::mmap(nullptr, (kDataPages + 1) * PageBytes(), PROT_READ | PROT_WRITE,
                          MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED)
      return ErrnoStatus(errno, "map a perf ring");
    stream.rings_.push_back({std::move(fd), memory});
  }
  if (stream.rings_.empty())
    return ErrnoStatus(error, "open the stream of mappings");
  return stream;
}

MappingStream::~MappingStream() {
  for (const Ring& ring : rings_) ::munmap(ring.memory, (kDataPages + 1) * PageBytes());
}

std::vector<int> MappingStream::fds() const {
  std::vector<int> fds;
  for (const Ring& ring : rings_) fds.push_back(ring.fd.get());
  return fds;
}

void MappingStream::Drain(const std::function<void(const MappingRecord&)>& sink) {
  const size_t ring_bytes = kDataPages * PageBytes();
  std::vector<std::byte> record;
  for (const Ring& ring : rings_) {
    auto* page = static_cast<perf_event_mmap_page*>(ring.memory);
    const auto* data = static_cast<const std::byte*>(ring.memory) + PageBytes();
    const uint64_t head = std::atomic_ref(page->data_head).load(std::memory_order_acquire);
    uint64_t tail = page->data_tail;
    while (head - tail >= sizeof(perf_event_header)) {
      const auto copy = [&](size_t bytes) {
        record.resize(bytes);
        const size_t at = tail % ring_bytes;
        const size_t first = std::min(bytes, ring_bytes - at);
        std::memcpy(record.data(), data + at, first);
        std::memcpy(record.data() + first, data, bytes - first);
      };
      copy(sizeof(perf_event_header));
      perf_event_header header{};
      std::memcpy(&header, record.data(), sizeof(header));
      if (header.size < sizeof(header) || header.size > head - tail)
        break;
      copy(header.size);
      MappingRecord mapping;
      if (DecodeMappingRecord(record, mapping))
        sink(mapping);
      tail += header.size;
    }
    std::atomic_ref(page->data_tail).store(head, std::memory_order_release);
  }
}

}  // namespace routelens
