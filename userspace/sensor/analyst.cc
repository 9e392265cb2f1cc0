// SPDX-License-Identifier: Apache-2.0
#include "userspace/sensor/analyst.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/status_util.h"
#include "base/unique_fd.h"

namespace routelens {
namespace {

constexpr int kTickMs = 50;          // the ring batches its wake-ups: look at it at least so often
constexpr int kQuietTurns = 2;       // empty drains that count as quiet
constexpr int kMaxFinishTurns = 64;  // whatever a flood does, the end comes

UniqueFd MakeTicker() {
  UniqueFd timer(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  itimerspec every{};
  every.it_interval.tv_nsec = kTickMs * 1'000'000;
  every.it_value = every.it_interval;
  if (!timer || ::timerfd_settime(timer.get(), 0, &every, nullptr) != 0)
    return UniqueFd();
  return timer;
}

void Add(int epoll, int fd) {
  if (fd < 0)
    return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace

Loss SumLoss(const std::vector<rl_boundary_counters>& counters) {
  Loss loss;
  for (const rl_boundary_counters& c : counters) {
    loss.kernel_ring_full += c.by_cause[RL_DROP_RING_FULL];
    loss.kernel_throttled += c.by_cause[RL_DROP_THROTTLED];
    loss.kernel_too_large += c.by_cause[RL_DROP_TOO_LARGE];
    loss.kernel_map_full += c.by_cause[RL_DROP_MAP_FULL];
    loss.kernel_helper_failed += c.by_cause[RL_DROP_HELPER_FAILED];
  }
  return loss;
}

Analyst::Analyst(KernelSensor& kernel, std::vector<uint32_t> boundaries, Pipeline& pipeline,
                 RecordingWriter* recording)
    : kernel_(kernel),
      boundaries_(std::move(boundaries)),
      pipeline_(pipeline),
      recording_(recording) {}

void Analyst::Take(std::span<const std::byte> record) {
  if (recording_ != nullptr)
    recording_->Record(record);
  pipeline_.Feed(record);
}

void Analyst::AccountForLoss() {
  std::vector<rl_boundary_counters> counters;
  counters.reserve(boundaries_.size());
  for (const uint32_t boundary : boundaries_) counters.push_back(kernel_.Counters(boundary));
  const Loss now = SumLoss(counters);
  if (now == loss_)
    return;
  loss_ = now;
  if (recording_ != nullptr)
    recording_->SetKernelLoss(loss_);
  pipeline_.SetKernelLoss(loss_);
}

size_t Analyst::Turn(BootTime now) {
  const size_t taken = kernel_.Drain([this](std::span<const std::byte> record) { Take(record); });
  AccountForLoss();
  if (recording_ != nullptr)
    recording_->AdvanceTo(now);
  pipeline_.AdvanceTo(now);
  return taken;
}

void Analyst::SetCoverage(Coverage coverage) {
  if (recording_ != nullptr)
    recording_->SetCoverage(coverage);
  pipeline_.SetCoverage(std::move(coverage));
}

Report Analyst::Finish(const std::function<BootTime()>& clock) {
  int quiet = 0;
  for (int turn = 0; turn < kMaxFinishTurns && quiet < kQuietTurns; ++turn) {
    quiet = Turn(clock()) == 0 ? quiet + 1 : 0;
  }
  const BootTime end = clock();
  pipeline_.Finish(end);
  Report report = pipeline_.MakeReport();
  if (recording_ != nullptr) {
    (void)recording_->Finish(end);  // its status stays, and is the caller's to show
    report.loss.recording_truncated = recording_->frames_not_written();
  }
  return report;
}

int RunAnalyst(const AnalystLoop& loop) {
  const auto clock = [] { return BootTime{BootClockNs()}; };
  const UniqueFd ticker = MakeTicker();
  const UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  const auto fail = [&](int error, const std::string& doing) {
    (void)loop.channel.Send(ReportDone{std::string(MessageOf(ErrnoStatus(error, doing)))}, 1000);
    return 1;
  };
  if (!ticker || !epoll)
    return fail(errno, "make the analyst's timer");
  Add(epoll.get(), ticker.get());
  Add(epoll.get(), loop.ring_fd);
  Add(epoll.get(), loop.channel.fd());
  if (loop.watch != nullptr)
    Add(epoll.get(), loop.watch->poll_fd());
  bool finish = false;
  while (!finish) {
    std::array<epoll_event, 8> events{};
    if (::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), -1) < 0 &&
        errno != EINTR) {
      return fail(errno, "wait for events");
    }
    uint64_t ticks = 0;
    (void)!::read(ticker.get(), &ticks, sizeof ticks);
    loop.analyst.Turn(clock());
    if (loop.watch != nullptr)
      loop.watch->Turn();
    for (bool more = true; more && !finish;) {
      auto message = loop.channel.Receive();
      // A malformed message from the attacher is our own mistake; its silence is its death.
      finish = !message.ok();
      more = message.ok() && message->has_value();
      if (!more)
        break;
      if (std::holds_alternative<FinishRequest>(**message))
        finish = true;
      if (auto* changed = std::get_if<CoverageChanged>(&**message)) {
        loop.analyst.SetCoverage(std::move(changed->coverage));
      }
    }
  }
  const Report report = loop.analyst.Finish(clock);
  const absl::Status written = loop.on_report(report);
  (void)loop.channel.Send(ReportDone{std::string(MessageOf(written))}, 1000);
  return written.ok() ? 0 : 1;
}

}  // namespace routelens
