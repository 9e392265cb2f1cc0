// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/replay.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "cli/commands/output.h"
#include "cli/render/event_line.h"
#include "cli/render/report_json.h"
#include "cli/render/report_text.h"
#include "userspace/pipeline/pipeline.h"
#include "userspace/sources/recording_reader.h"

namespace routelens {
namespace {

// Feeds a pipeline made from the recording's own policy.
class PipelineSink final : public RecordingSink {
 public:
  explicit PipelineSink(bool watch) : watch_(watch), colour_(ColourAllowed(STDERR_FILENO)) {}

  void Start(const RecordingHeader& header, Policy policy) override {
    pipeline_.emplace(std::move(policy), PipelineLimits{},
                      watch_ ? Observer(header.wall_clock_offset_ns) : PipelineObserver{});
  }

  void Feed(std::span<const std::byte> record) override { pipeline_->Feed(record); }

  void AdvanceTo(BootTime now) override { pipeline_->AdvanceTo(now); }

  void SetKernelLoss(const Loss& kernel) override { pipeline_->SetKernelLoss(kernel); }

  void SetCoverage(Coverage coverage) override { pipeline_->SetCoverage(std::move(coverage)); }

  void Finish(BootTime now) override {
    pipeline_->Finish(now);
    report_ = pipeline_->MakeReport();
  }

  const Report& report() const { return report_; }

 private:
  void Show(const std::string& line) {
    (void)WriteAll(STDERR_FILENO, LineForPerson(line, colour_) + "\n");
  }

  PipelineObserver Observer(int64_t wall_offset_ns) {
    PipelineObserver observer;
    observer.on_condition = [this, wall_offset_ns](const RouteCondition& condition) {
      Show(ConditionLine(condition, wall_offset_ns));
    };
    observer.on_exchange = [this, wall_offset_ns](const ExchangeRecord& exchange) {
      Show(ExchangeLine(exchange, wall_offset_ns));
    };
    observer.on_unattributed = [this, wall_offset_ns](const UnattributedRecord& record) {
      Show(UnattributedLine(record, wall_offset_ns));
    };
    return observer;
  }

  bool watch_;
  bool colour_;
  std::optional<Pipeline> pipeline_;
  Report report_;
};

}  // namespace

int ReplayCommand(const ReplayFlags& flags) {
  std::optional<OutputFile> output;
  if (!flags.output.empty()) {
    auto opened = OutputFile::Open(flags.output, std::nullopt);
    if (!opened.ok())
      return Fail(opened.status(), kExitFailed);
    output.emplace(*std::move(opened));
  }
  PipelineSink sink(flags.watch);
  const auto summary = ReplayRecordingFile(flags.file, sink);
  if (!summary.ok())
    return Fail(summary.status(), kExitNegative);

  const int64_t wall_offset_ns = summary->header.wall_clock_offset_ns;
  if (output) {
    absl::Status written = output->Write(RenderReportJson(sink.report(), wall_offset_ns));
    if (written.ok())
      written = output->Commit();
    if (!written.ok())
      return Fail(written, kExitFailed);
  }
  std::string text;
  if (flags.json && !output) {
    text = RenderReportJson(sink.report(), wall_offset_ns);
  } else {
    text = RenderReportText(sink.report(), summary->end, {ColourAllowed(STDOUT_FILENO), false});
  }
  const int printed = PrintResult(text);
  if (printed != kExitOk)
    return printed;
  if (!summary->complete) {
    PrintError(flags.file + ": " + summary->reason + "; what stands before it is reported");
    return kExitNegative;
  }
  return kExitOk;
}

}  // namespace routelens
