// SPDX-License-Identifier: Apache-2.0
#include "userspace/sensor/library_witness.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/status_util.h"
#include "userspace/boundary/images/host_images.h"
#include "userspace/boundary/proc_file.h"

namespace routelens {
namespace {

constexpr uint64_t kLookEveryNs = 500'000'000;

const char* NameOf(ImageKind kind) {
  switch (kind) {
    case ImageKind::kOpensslShared:
      return "openssl_shared";
    case ImageKind::kOpensslStatic:
      return "openssl_static";
    case ImageKind::kLibc:
      return "libc";
    case ImageKind::kNothing:
      break;
  }
  return "unknown";
}

// Whether a file's name promises a library that would be probed: then it is worth a word that it
// cannot be.
bool LooksLikeOpenssl(const std::string& name) {
  return name.rfind("libssl.so", 0) == 0 || name.rfind("libcrypto.so", 0) == 0;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

void AddTo(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace

LibraryWitness::LibraryWitness(KernelSensor& kernel, bool data_path)
    : kernel_(kernel),
      choice_{data_path, kernel.SessionProbesSafe(), kernel.ReturnProbesSafe()},
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

LibraryWitness::~LibraryWitness() = default;

void LibraryWitness::Prepare() {
  absl::StatusOr<MappingStream> stream = MappingStream::Open();
  if (!stream.ok()) {
    Refuse("new images", "unknown",
           "found in /proc only, twice a second: " + std::string(MessageOf(stream.status())));
    return;
  }
  stream_.emplace(*std::move(stream));
  for (int fd : stream_->fds()) AddTo(epoll_.get(), fd);
}

void LibraryWitness::ProbeOwn(const std::string& path) {
  absl::StatusOr<ImageFile> image = OpenOwn(path);
  if (!image.ok() || probed_.contains(image->id))
    return;
  absl::StatusOr<ProbePlan> plan = PlanProbes(FdBytes(image->fd.get()), choice_);
  if (plan.ok())
    Accept(*std::move(image), *plan);
  else if (plan.status().code() == absl::StatusCode::kUnimplemented)
    Refuse(image->name, "unknown", std::string(MessageOf(plan.status())));
}

void LibraryWitness::ProbeHost() {
  for (const std::string& path : HostLibraries()) ProbeOwn(path);
}

void LibraryWitness::ProbeProgram(const std::string& file, const std::string& search_path) {
  for (const std::string& program : ProgramsOf(file, search_path)) ProbeOwn(program);
  for (const std::string& carrier : CarriersOf(search_path)) ProbeOwn(carrier);
}

void LibraryWitness::Watch(Members members) {
  members_.push_back(std::move(members));
  if (scanner_ == nullptr)
    return;
  for (pid_t pid : members_.back().list()) AskMappingsOf(pid);
}

absl::Status LibraryWitness::Follow() {
  absl::StatusOr<std::unique_ptr<ImageScanner>> scanner = ImageScanner::Start(choice_);
  if (!scanner.ok())
    return scanner.status();
  scanner_ = *std::move(scanner);
  AddTo(epoll_.get(), scanner_->fd());
  AskMappingsOfAll();
  return absl::OkStatus();
}

void LibraryWitness::AskMappingsOfAll() {
  for (const Members& members : members_) {
    for (pid_t pid : members.list()) AskMappingsOf(pid);
  }
}

void LibraryWitness::AskMappingsOf(pid_t pid) {
  const auto maps = ReadSmallFile(AT_FDCWD, "/proc/" + std::to_string(pid) + "/maps");
  if (!maps.ok())
    return;
  for (const MappedFile& file : ParseExecutableMappings(pid, *maps)) {
    AskOnce(file);
  }
}

// The path tells apart what is one number on two devices.
LibraryWitness::FileKey LibraryWitness::KeyOf(const MappedFile& file) {
  return {file.device, file.inode, file.generation, file.device == 0 ? file.path : std::string()};
}

void LibraryWitness::AskOnce(const MappedFile& file) {
  if (known_.insert(KeyOf(file)).second)
    Ask(file);
}

bool LibraryWitness::IsProbed(const MappedFile& file) const {
  return file.device != 0 && probed_.contains(ImageId{file.device, file.inode});
}

void LibraryWitness::Ask(const MappedFile& file) {
  if (known_.size() > kMaxKnown)
    known_.clear();
  if (scanner_ == nullptr || !scanner_->Ask(file))
    ++unread_mappings_;
}

bool LibraryWitness::IsMember(pid_t pid) {
  const auto known = members_of_this_turn_.find(pid);
  if (known != members_of_this_turn_.end())
    return known->second;
  const bool inside = std::any_of(members_.begin(), members_.end(),
                                  [pid](const Members& members) { return members.contains(pid); });
  members_of_this_turn_.emplace(pid, inside);
  return inside;
}

void LibraryWitness::TakeMappings() {
  bool lost = false;
  members_of_this_turn_.clear();
  stream_->Drain([&](const MappingRecord& record) {
    if (record.lost) {
      lost = true;
      return;
    }
    if (scanner_ == nullptr || known_.contains(KeyOf(record.file)) || !IsMember(record.file.pid))
      return;
    AskOnce(record.file);
  });
  if (lost)
    AskMappingsOfAll();
}

void LibraryWitness::TakeScans() {
  for (ScannedImage& scanned : scanner_->Take()) {
    if (scanned.status.ok()) {
      Accept(std::move(scanned.image), scanned.plan);
      continue;
    }
    const std::string name = scanned.asked.path.substr(scanned.asked.path.rfind('/') + 1);
    const std::string reason(MessageOf(scanned.status));
    if (absl::IsNotFound(scanned.status)) {
      // The process was gone. The next one that maps the file is asked again.
      known_.erase(KeyOf(scanned.asked));
      if (IsProbed(scanned.asked))
        continue;
    }
    if (LooksLikeOpenssl(name) || reason.find("library blind") != std::string::npos)
      Refuse(name, "unknown", reason);
  }
}

// Whether a file of the same build is probed already that may be the very same file: overlayfs did
// not let us see. Two probes on one instruction would read every byte twice.
bool LibraryWitness::HasTwin(const ImageFile& image, const ProbePlan& plan) const {
  return std::any_of(probed_.begin(), probed_.end(), [&](const auto& entry) {
    const Probed& other = entry.second;
    return !(image.id_is_real && other.image.id_is_real) && other.plan.build_id == plan.build_id &&
           other.plan.probes == plan.probes;
  });
}

void LibraryWitness::Accept(ImageFile image, const ProbePlan& plan) {
  if (plan.kind == ImageKind::kNothing || plan.probes.empty() || probed_.contains(image.id))
    return;
  const char* kind = NameOf(plan.kind);
  if (HasTwin(image, plan)) {
    Refuse(image.name, kind, "on overlayfs, perhaps the file that is probed already");
    return;
  }
  if (probed_.size() >= kMaxImages)
    DropUnused();
  if (probed_.size() >= kMaxImages) {
    Refuse(image.name, kind, "too many images are probed already");
    return;
  }

  struct stat status {};

  if (::fstat(image.fd.get(), &status) != 0)
    return;
  std::vector<ProbeRequest> requests;
  for (const PlannedProbe& probe : plan.probes)
    requests.push_back({probe.program, probe.file_offset, probe.is_return});
  auto attachment = kernel_.AttachProbes(image.fd.get(), requests);
  if (!attachment.ok()) {
    Refuse(image.name, kind, std::string(MessageOf(attachment.status())));
    return;
  }
  Probed probed;
  probed.plan = plan;
  probed.attachment = *std::move(attachment);
  probed.modified = status.st_mtim;
  probed.bytes = status.st_size;
  probed.image = std::move(image);
  blind_.erase(probed.image.name);
  const ImageId id = probed.image.id;
  probed_.emplace(id, std::move(probed));
  changed_ = true;
}

void LibraryWitness::Refuse(const std::string& name, const std::string& kind,
                            const std::string& reason) {
  if (blind_.size() >= kMaxBlind && !blind_.contains(name))
    return;
  LibraryCoverage& coverage = blind_[name];
  coverage.kind = kind;
  coverage.image = name;
  coverage.reason = reason;
  changed_ = true;
}

void LibraryWitness::DropRewritten() {
  for (auto entry = probed_.begin(); entry != probed_.end();) {
    const Probed& probed = entry->second;

    struct stat status {};

    const bool same = ::fstat(probed.image.fd.get(), &status) == 0 &&
                      status.st_size == probed.bytes &&
                      status.st_mtim.tv_sec == probed.modified.tv_sec &&
                      status.st_mtim.tv_nsec == probed.modified.tv_nsec;
    if (same) {
      ++entry;
      continue;
    }
    Refuse(probed.image.name, NameOf(probed.plan.kind), "rewritten in place; no longer probed");
    entry = probed_.erase(entry);
  }
}

// Deleted files that nobody in a boundary has mapped any more.
void LibraryWitness::DropUnused() {
  std::set<uint64_t> mapped;
  for (const Members& members : members_) {
    for (pid_t pid : members.list()) {
      const auto maps = ReadSmallFile(AT_FDCWD, "/proc/" + std::to_string(pid) + "/maps");
      if (!maps.ok())
        continue;
      for (const MappedFile& file : ParseExecutableMappings(pid, *maps)) mapped.insert(file.inode);
    }
  }
  for (auto entry = probed_.begin(); entry != probed_.end();) {
    struct stat status {};

    const bool deleted =
        ::fstat(entry->second.image.fd.get(), &status) == 0 && status.st_nlink == 0;
    if (deleted && !mapped.contains(status.st_ino)) {
      entry = probed_.erase(entry);
      changed_ = true;
    } else {
      ++entry;
    }
  }
}

void LibraryWitness::Turn() {
  if (stream_)
    TakeMappings();
  if (scanner_ != nullptr)
    TakeScans();
  const uint64_t now = BootClockNs();
  if (now - last_look_ns_ < kLookEveryNs)
    return;
  last_look_ns_ = now;
  DropRewritten();
  if (!stream_)
    AskMappingsOfAll();
}

bool LibraryWitness::TakeChanged() {
  return std::exchange(changed_, false);
}

std::vector<LibraryCoverage> LibraryWitness::coverage() const {
  std::vector<LibraryCoverage> all;
  for (const auto& [id, probed] : probed_) {
    LibraryCoverage coverage;
    coverage.kind = NameOf(probed.plan.kind);
    coverage.image = probed.image.name;
    coverage.probes = probed.attachment->count();
    std::vector<std::string> reasons = probed.plan.missing;
    if (!probed.attachment->reason().empty())
      reasons.push_back(probed.attachment->reason());
    coverage.reason = Joined(reasons);
    all.push_back(std::move(coverage));
  }
  for (const auto& [name, coverage] : blind_) all.push_back(coverage);
  if (unread_mappings_ > 0)
    all.push_back({"unknown", "", 0,
                   std::to_string(unread_mappings_) + " images came too fast to be looked at"});
  return all;
}

}  // namespace routelens
