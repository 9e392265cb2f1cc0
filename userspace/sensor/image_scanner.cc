// SPDX-License-Identifier: Apache-2.0
#include "userspace/sensor/image_scanner.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/status_util.h"
#include "base/unique_fd.h"

namespace routelens {

struct ImageScanner::State {
  const ProbeChoice choice;
  UniqueFd done_fd;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<MappedFile> asked;    // under mutex
  std::vector<ScannedImage> done;  // under mutex
  bool stopping = false;           // under mutex

  explicit State(const ProbeChoice& wanted) : choice(wanted) {}
};

namespace {

ScannedImage Scan(MappedFile file, const ProbeChoice& choice) {
  ScannedImage scanned;
  absl::StatusOr<ImageFile> image = OpenMapped(file);
  scanned.asked = std::move(file);
  if (!image.ok()) {
    scanned.status = image.status();
    return scanned;
  }
  scanned.image = *std::move(image);
  absl::StatusOr<ProbePlan> plan = PlanProbes(FdBytes(scanned.image.fd.get()), choice);
  if (plan.ok())
    scanned.plan = *std::move(plan);
  else
    scanned.status = plan.status();
  return scanned;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageScanner>> ImageScanner::Start(const ProbeChoice& choice) {
  auto state = std::make_shared<State>(choice);
  state->done_fd.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state->done_fd)
    return ErrnoStatus(errno, "eventfd");
  // Signals are the owner's thread's to take.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  absl::Status status = absl::OkStatus();
  try {
    std::thread([state] {
      std::unique_lock lock(state->mutex);
      while (true) {
        state->changed.wait(lock, [&] { return state->stopping || !state->asked.empty(); });
        if (state->stopping)
          return;
        MappedFile file = std::move(state->asked.front());
        state->asked.pop_front();
        lock.unlock();
        ScannedImage scanned = Scan(std::move(file), state->choice);
        lock.lock();
        state->done.push_back(std::move(scanned));
        ::eventfd_write(state->done_fd.get(), 1);
      }
    }).detach();
  } catch (const std::system_error& error) {
    status = absl::ResourceExhaustedError(std::string("start a thread: ") + error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!status.ok())
    return status;
  return std::unique_ptr<ImageScanner>(new ImageScanner(std::move(state)));
}

ImageScanner::~ImageScanner() {
  const std::lock_guard lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_one();
}

bool ImageScanner::Ask(MappedFile file) {
  const std::lock_guard lock(state_->mutex);
  if (state_->asked.size() >= kMaxQueued)
    return false;
  state_->asked.push_back(std::move(file));
  state_->changed.notify_one();
  return true;
}

std::vector<ScannedImage> ImageScanner::Take() {
  eventfd_t ignored = 0;
  ::eventfd_read(state_->done_fd.get(), &ignored);
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->done, {});
}

int ImageScanner::fd() const {
  return state_->done_fd.get();
}

}  // namespace routelens
