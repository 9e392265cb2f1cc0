// SPDX-License-Identifier: Apache-2.0
//
// Wires the stages; every decision is made in one of them.
#include "userspace/pipeline/pipeline.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <variant>

#include "routes/match.h"
#include "userspace/correlate/exchange_builder.h"
#include "userspace/decode/event_decoder.h"
#include "userspace/pipeline/reorder_window.h"
#include "userspace/pipeline/route_board.h"
#include "userspace/pipeline/sequence_watch.h"

namespace routelens {
namespace {

// What one reorder window may hold.
constexpr size_t kMaxReordered = 262144;

BuilderLimits LimitsOf(const PipelineLimits& limits) {
  BuilderLimits builder;
  builder.max_flows = limits.max_flows;
  builder.max_names = limits.max_names;
  builder.max_processes = limits.max_processes;
  builder.max_library_sessions = limits.max_library_sessions;
  builder.max_groups = limits.max_flows;
  return builder;
}

}  // namespace

class Pipeline::Impl {
 public:
  Impl(Policy policy, PipelineLimits limits, PipelineObserver observer)
      : policy_(std::move(policy)),
        limits_(limits),
        observer_(std::move(observer)),
        matcher_(policy_),
        window_(kMaxReordered),
        builder_(matcher_, LimitsOf(limits),
                 [this](const JudgedExchange& exchange) { Take(exchange); }),
        board_(policy_.routes) {}

  void Feed(std::span<const std::byte> record) {
    DecodedEvent decoded = DecodeEvent(record);
    Event* event = std::get_if<Event>(&decoded);
    if (!event) {
      undecodable_++;
      return;
    }
    const EventHeader header = event->header;
    if (!sequences_.Arrived(header))
      return;  // came before
    now_ = std::max(now_, header.time);
    if (!window_.Add(std::move(*event)))
      LoseLate(header);
    ReleaseUntil(Horizon());
  }

  void AdvanceTo(BootTime now) {
    now_ = std::max(now_, now);
    ReleaseUntil(Horizon());
    Settle(Horizon());
  }

  void SetKernelLoss(const Loss& kernel) {
    kernel_loss_ = kernel;
    if (kernel.kernel_total() > kernel_noticed_ && !kernel_deadline_.known())
      kernel_deadline_ = now_ + kReorderWindow;
  }

  void SetCoverage(Coverage coverage) { coverage_ = std::move(coverage); }

  void Finish(BootTime now) {
    now_ = std::max(now_, now);
    ReleaseUntil(now_);
    if (kernel_loss_.kernel_total() > std::max(kernel_noticed_, sequences_.dropped()))
      LoseAnywhere(now_);
    builder_.Finish(now_);
  }

  Report MakeReport() const {
    Report report;
    report.conditions = board_.Conditions();
    report.exchanges.assign(exchanges_.begin(), exchanges_.end());
    std::stable_sort(
        report.exchanges.begin(), report.exchanges.end(),
        [](const ExchangeRecord& a, const ExchangeRecord& b) { return a.start < b.start; });
    report.unattributed.assign(unattributed_.begin(), unattributed_.end());
    report.exchanges_truncated = exchanges_truncated_;
    report.unattributed_truncated = unattributed_truncated_;
    report.coverage = coverage_;
    report.loss = kernel_loss_;
    report.loss.undecodable = undecodable_;
    report.loss.sequence_gaps = sequences_.gaps() + late_;
    report.loss.exchanges_dropped = exchanges_dropped_;
    report.loss.table_full = builder_.evicted();
    return report;
  }

 private:
  BootTime Horizon() const {
    const auto window = static_cast<uint64_t>(kReorderWindow.ns);
    return BootTime{now_.ns > window ? now_.ns - window : 0};
  }

  void ReleaseUntil(BootTime until) {
    while (Event* event = window_.Release(until)) {
      const EventHeader& header = event->header;
      reached_ = std::max(reached_, header.time);
      if (sequences_.Released(header))
        exchanges_dropped_ += builder_.OnLoss(header.boundary, header.time);
      if (observer_.on_event)
        observer_.on_event(*event);
      builder_.Apply(std::move(*event));
    }
  }

  // Time has passed: timers, and losses that no later record told of.
  void Settle(BootTime horizon) {
    if (horizon <= reached_ && !kernel_deadline_.known())
      return;
    reached_ = std::max(reached_, horizon);
    if (kernel_deadline_.known() && horizon >= kernel_deadline_) {
      kernel_deadline_ = {};
      if (kernel_loss_.kernel_total() > std::max(kernel_noticed_, sequences_.dropped()))
        LoseAnywhere(reached_);
      kernel_noticed_ = std::max(kernel_noticed_, kernel_loss_.kernel_total());
    }
    builder_.AdvanceTo(reached_);
  }

  void LoseAnywhere(BootTime now) {
    kernel_noticed_ = kernel_loss_.kernel_total();
    exchanges_dropped_ += builder_.OnLossAnywhere(now);
  }

  // What the record could have changed is decided: as good as lost.
  void LoseLate(const EventHeader& header) {
    late_++;
    exchanges_dropped_ += builder_.OnLoss(header.boundary, reached_);
  }

  void Take(const JudgedExchange& exchange) {
    if (exchange.attribution.route)
      TakeAttributed(*exchange.attribution.route, exchange);
    else if (exchange.said.outcome != Outcome::kNoObservedExchange)
      TakeUnattributed(exchange);
  }

  void TakeAttributed(size_t route, const JudgedExchange& exchange) {
    ExchangeRecord record{.start = exchange.start,
                          .end = exchange.end,
                          .subject = policy_.routes[route].subject,
                          .outcome = exchange.said.outcome,
                          .confidence = exchange.said.confidence,
                          .rule = exchange.said.rule,
                          .hint = exchange.said.hint};
    if (observer_.on_exchange)
      observer_.on_exchange(record);
    exchanges_.push_back(std::move(record));
    if (exchanges_.size() > limits_.max_exchange_records) {
      exchanges_.pop_front();
      exchanges_truncated_++;
    }
    if (board_.Take(route, exchange) && observer_.on_condition)
      observer_.on_condition(board_.At(route));
  }

  void TakeUnattributed(const JudgedExchange& exchange) {
    const Hint near = exchange.attribution.hint;
    UnattributedRecord record{.start = exchange.start,
                              .end = exchange.end,
                              .reason = exchange.attribution.reason,
                              .outcome = exchange.said.outcome,
                              .confidence = exchange.said.confidence,
                              .rule = exchange.said.rule,
                              .hint = near != Hint::kNone ? near : exchange.said.hint,
                              .host = exchange.host,
                              .port = exchange.port};
    if (observer_.on_unattributed)
      observer_.on_unattributed(record);
    unattributed_.push_back(std::move(record));
    if (unattributed_.size() > limits_.max_unattributed_records) {
      unattributed_.pop_front();
      unattributed_truncated_++;
    }
  }

  const Policy policy_;
  const PipelineLimits limits_;
  const PipelineObserver observer_;
  const RouteMatcher matcher_;
  SequenceWatch sequences_;
  ReorderWindow window_;
  ExchangeBuilder builder_;
  RouteBoard board_;
  Coverage coverage_;
  Loss kernel_loss_;
  BootTime now_;              // the latest time that was heard of
  BootTime reached_;          // how far the stages behind the window have got
  BootTime kernel_deadline_;  // when a kernel loss must have shown in some record
  uint64_t kernel_noticed_ = 0;
  uint64_t undecodable_ = 0;
  uint64_t late_ = 0;
  uint64_t exchanges_dropped_ = 0;
  std::deque<ExchangeRecord> exchanges_;
  std::deque<UnattributedRecord> unattributed_;
  uint64_t exchanges_truncated_ = 0;
  uint64_t unattributed_truncated_ = 0;
};

Pipeline::Pipeline(Policy policy, PipelineLimits limits, PipelineObserver observer)
    : impl_(std::make_unique<Impl>(std::move(policy), limits, std::move(observer))) {}

Pipeline::~Pipeline() = default;

void Pipeline::Feed(std::span<const std::byte> record) {
  impl_->Feed(record);
}

void Pipeline::AdvanceTo(BootTime now) {
  impl_->AdvanceTo(now);
}

void Pipeline::SetKernelLoss(const Loss& kernel) {
  impl_->SetKernelLoss(kernel);
}

void Pipeline::SetCoverage(Coverage coverage) {
  impl_->SetCoverage(std::move(coverage));
}

void Pipeline::Finish(BootTime now) {
  impl_->Finish(now);
}

Report Pipeline::MakeReport() const {
  return impl_->MakeReport();
}

}  // namespace routelens
