// SPDX-License-Identifier: Apache-2.0
//
// The library witness of a running sensor: finds the images whose functions are to be probed, has
// the kernel side probe them, follows new ones as they are mapped inside a boundary, and says what
// is covered. Lives in the attacher (docs/decisions/0002-two-processes.md).
//
// Order of use: Prepare (opens what needs privileges), ProbeHost and ProbeProgram before the
// command starts, Watch for each boundary, then, once the process may have threads, Follow; after
// that Turn whenever fd() is readable, and at least once a second.
//
// Each real file is probed once, whatever names and mounts it has. Probes of deleted files stay; a
// replaced library is a new file. A file that is rewritten in place loses its probes at once: they
// would break the programs that map it next. Bounded: kMaxImages probed files, kMaxKnown others.
// Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "base/unique_fd.h"
#include "userspace/boundary/images/image_file.h"
#include "userspace/boundary/images/mapping_stream.h"
#include "userspace/decode/elf/probe_plan.h"
#include "userspace/kernel/kernel_sensor.h"
#include "userspace/model/coverage.h"
#include "userspace/sensor/image_scanner.h"

namespace routelens {

class LibraryWitness {
 public:
  static constexpr size_t kMaxImages = 256;
  static constexpr size_t kMaxKnown = 65536;
  static constexpr size_t kMaxBlind = 64;  // images named in coverage that could not be probed

  // Whose mappings count. Both functions may read /proc; called on the owner's thread.
  struct Members {
    std::function<bool(pid_t)> contains;
    std::function<std::vector<pid_t>()> list;
  };

  // `kernel` must outlive the witness. `data_path` as in KernelOptions.
  LibraryWitness(KernelSensor& kernel, bool data_path);
  ~LibraryWitness();
  LibraryWitness(const LibraryWitness&) = delete;
  LibraryWitness& operator=(const LibraryWitness&) = delete;

  // Opens the stream of mappings. When it is refused, mappings are looked for in /proc twice a
  // second, and coverage says so.
  void Prepare();

  // The host's libssl, libcrypto and libc. Blocks for some 30 ms.
  void ProbeHost();

  // What will be executed for this command (of a script, its interpreter too), and the programs of
  // the search path that carry a TLS library inside: whoever starts them later would not wait until
  // they are read. Blocks for some 30 ms, 100 ms for a program of 100 MB.
  void ProbeProgram(const std::string& file, const std::string& search_path);

  // Follows the processes of a boundary, beginning with what they have mapped now.
  void Watch(Members members);

  // Starts the worker thread.
  absl::Status Follow();

  // Readable when Turn has something to do. Valid as long as the witness.
  int fd() const { return epoll_.get(); }

  void Turn();

  // Whether coverage() has changed since the last call of this function.
  bool TakeChanged();
  std::vector<LibraryCoverage> coverage() const;

 private:
  struct Probed {
    ImageFile image;
    ProbePlan plan;
    std::unique_ptr<ProbeAttachment> attachment;
    timespec modified{};
    int64_t bytes = 0;
  };

  // Device, inode and generation as mapped, or the path where those are not told.
  using FileKey = std::tuple<uint64_t, uint64_t, uint64_t, std::string>;

  static FileKey KeyOf(const MappedFile& file);
  void AskOnce(const MappedFile& file);
  bool IsProbed(const MappedFile& file) const;
  void Ask(const MappedFile& file);
  void AskMappingsOf(pid_t pid);
  void AskMappingsOfAll();
  bool IsMember(pid_t pid);
  void Accept(ImageFile image, const ProbePlan& plan);
  void Refuse(const std::string& name, const std::string& kind, const std::string& reason);
  void ProbeOwn(const std::string& path);
  void TakeMappings();
  void TakeScans();
  void DropRewritten();
  void DropUnused();
  bool HasTwin(const ImageFile& image, const ProbePlan& plan) const;

  KernelSensor& kernel_;
  const ProbeChoice choice_;
  UniqueFd epoll_;
  std::optional<MappingStream> stream_;
  std::unique_ptr<ImageScanner> scanner_;
  std::vector<Members> members_;
  std::map<ImageId, Probed> probed_;
  // Files that were asked about: never a second time, unless the answer came too late to be had.
  std::set<FileKey> known_;
  std::map<std::string, LibraryCoverage> blind_;
  std::map<pid_t, bool> members_of_this_turn_;
  uint64_t unread_mappings_ = 0;  // lost by the kernel's ring or our queue
  uint64_t last_look_ns_ = 0;
  bool changed_ = false;
};

}  // namespace routelens
