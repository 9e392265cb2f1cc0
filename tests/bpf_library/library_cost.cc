// SPDX-License-Identifier: Apache-2.0
//
// What the library probes cost: runs a command again and again, with and without probes in turns,
// and prints the paired ratio of the processor time it took (user and system; what a probe costs is
// in the latter) and of the number it prints on its last line (bytes per second). The first holds
// on a busy machine too.
//
// Usage: library_cost MODE PLACE ROUNDS COMMAND [IMAGE...]
//   MODE   session, return, exit (how reads are seen), cold (no data path)
//   PLACE  inside or outside the boundary
// Images default to this host's libssl.so.3 and libcrypto.so.3. Needs root.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/status_util.h"
#include "tests/bpf_library/library_fixture.h"

namespace {

double LastNumber(const std::string& output) {
  const size_t end = output.find_last_not_of(" \n");
  if (end == std::string::npos)
    return 0;
  const size_t begin = output.rfind('\n', end);
  return std::atof(output.c_str() + (begin == std::string::npos ? 0 : begin + 1));
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Of all children that have ended.
double ChildrenSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

struct Cost {
  double speed = 0;
  double seconds = 0;
};

Cost Measure(routelens::LibraryFixture& fixture, const std::string& command, bool inside) {
  const double before = ChildrenSeconds();
  const double speed = LastNumber(fixture.Run(command, inside));
  return {speed, ChildrenSeconds() - before};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "library_cost: %s\n", std::string(routelens::MessageOf(status)).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: library_cost MODE inside|outside ROUNDS COMMAND [IMAGE...]\n");
    return 2;
  }
  const std::string mode = argv[1];
  const bool inside = std::string(argv[2]) == "inside";
  const int rounds = std::atoi(argv[3]);
  std::vector<std::string> images(argv + 5, argv + argc);
  if (images.empty())
    images = {"/usr/lib/x86_64-linux-gnu/libssl.so.3", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"};
  auto fixture = routelens::LibraryFixture::Load(mode == "session");
  if (!fixture.ok())
    return Fail(fixture.status());
  const routelens::ProbeChoice choice{mode != "cold", mode == "session", mode == "return"};

  std::vector<double> seconds_without, seconds_with, time_ratios, speed_ratios;
  for (int round = 0; round < rounds; ++round) {
    const Cost without = Measure(**fixture, argv[4], inside);
    for (const std::string& image : images) {
      auto plan = (*fixture)->Attach(image, choice);
      if (!plan.ok())
        return Fail(plan.status());
    }
    const Cost with = Measure(**fixture, argv[4], inside);
    (*fixture)->DetachAll();
    (void)(*fixture)->Take();
    seconds_without.push_back(without.seconds);
    seconds_with.push_back(with.seconds);
    time_ratios.push_back(without.seconds / with.seconds);
    speed_ratios.push_back(with.speed / without.speed);
  }
  std::printf(
      "%s %s: %.3f s without, %.3f s with; kept of the processor time's worth %.3f, of the "
      "speed %.3f (medians of %d)\n",
      mode.c_str(), argv[2], Median(seconds_without), Median(seconds_with), Median(time_ratios),
      Median(speed_ratios), rounds);
  return 0;
}
