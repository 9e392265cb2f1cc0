// SPDX-License-Identifier: Apache-2.0
//
// A test suite with one loaded sensor, and for each test a boundary of its own.
#pragma once

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/bpf/scratch_boundary.h"
#include "userspace/kernel/kernel_sensor.h"

namespace routelens {

class SensorTest : public testing::Test {
 public:
  void SetUp() override {
    if (geteuid() != 0)
      GTEST_SKIP() << "needs root: loads BPF programs";
    Load(Options());
    MakeBoundary();
  }

  void TearDown() override {
    if (sensor_ && boundary_ >= 0) {
      EXPECT_TRUE(sensor_->RemoveBoundary(boundary()).ok());
    }
  }

 protected:
  // Without the programs of uprobes: they are no part of these tests, and loading takes its time.
  static KernelOptions Options() {
    KernelOptions options;
    options.library_probes = false;
    return options;
  }

  void Load(const KernelOptions& options) {
    auto loaded = KernelSensor::Load(options);
    ASSERT_TRUE(loaded.ok()) << MessageOf(loaded.status());
    sensor_ = *std::move(loaded);
  }

  void MakeBoundary() {
    auto cgroup = TestCgroup::Make("bpf-test");
    ASSERT_TRUE(cgroup.ok()) << MessageOf(cgroup.status());
    cgroup_ = *std::move(cgroup);
    auto added = sensor_->AddCgroupBoundary(cgroup_->scope(), RL_ROLE_WORKLOAD);
    ASSERT_TRUE(added.ok()) << MessageOf(added.status());
    boundary_ = static_cast<int>(*added);
  }

  uint32_t boundary() const { return static_cast<uint32_t>(boundary_); }

  // Runs `body` inside, which must succeed, and returns the boundary's records once each connect
  // has its end.
  std::vector<RawRecord> Watch(const std::function<int()>& body) {
    EXPECT_EQ(cgroup_->Run(body), 0) << "the body ended at the line that its status names";
    return DrainUntil(sensor_.get(), [&](const std::vector<RawRecord>&) {
      const rl_boundary_counters counters = sensor_->Counters(boundary());
      return counters.started == counters.ended;
    });
  }

  template <typename T>
  static std::vector<T> Of(const std::vector<RawRecord>& records, uint16_t kind) {
    std::vector<T> found;
    for (const RawRecord& record : records)
      if (record.header().kind == kind)
        found.push_back(record.As<T>());
    return found;
  }

  static std::string Story(const std::vector<RawRecord>& records) {
    std::string story;
    for (const RawRecord& record : records) story += Describe(record) + "\n";
    return story;
  }

  std::unique_ptr<KernelSensor> sensor_;
  std::unique_ptr<TestCgroup> cgroup_;
  int boundary_ = -1;
};

}  // namespace routelens
