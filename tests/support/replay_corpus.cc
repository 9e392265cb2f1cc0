// SPDX-License-Identifier: Apache-2.0
//
// A plain main for a fuzz target in builds without libFuzzer: feeds it every file of a corpus, and
// of each file some prefixes and some copies with one byte changed. Deterministic, so that a
// failure repeats; the target itself aborts on a finding. Fails when the corpus is empty, because
// then nothing was tested.
//
// Usage: <target> FILE-OR-FOLDER...
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kPrefixesPerFile = 64;
constexpr size_t kMutantsPerFile = 64;

using Bytes = std::vector<uint8_t>;

bool Collect(const std::filesystem::path& path, std::vector<std::filesystem::path>& files) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) {
    files.push_back(path);
    return true;
  }
  std::filesystem::recursive_directory_iterator entries(path, error);
  if (error) {
    std::fprintf(stderr, "cannot read %s: %s\n", path.c_str(), error.message().c_str());
    return false;
  }
  for (const auto& entry : entries) {
    if (entry.is_regular_file())
      files.push_back(entry.path());
  }
  return true;
}

// An exact heap allocation for each input, so that the address sanitizer sees a read of one byte
// too many.
void Run(const uint8_t* data, size_t size) {
  const Bytes exact(data, data + size);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void RunWithNeighbours(const Bytes& bytes) {
  Run(bytes.data(), bytes.size());
  const size_t step = std::max<size_t>(1, bytes.size() / kPrefixesPerFile);
  for (size_t length = 0; length < bytes.size(); length += step) Run(bytes.data(), length);
  if (bytes.empty())
    return;
  std::minstd_rand random(static_cast<unsigned>(bytes.size()));
  for (size_t i = 0; i < kMutantsPerFile; ++i) {
    Bytes mutant = bytes;
    mutant[random() % mutant.size()] ^= static_cast<uint8_t>(1 + random() % 255);
    Run(mutant.data(), mutant.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!Collect(argv[i], files))
      return 1;
  }
  if (files.empty()) {
    std::fprintf(stderr, "no corpus file given: nothing was tested\n");
    return 1;
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!in) {
      std::fprintf(stderr, "cannot read %s\n", file.c_str());
      return 1;
    }
    // Said before, not after: when the target aborts, the last line names the file.
    std::printf("%s (%zu bytes)\n", file.c_str(), bytes.size());
    std::fflush(stdout);
    RunWithNeighbours(bytes);
  }
  std::printf("%zu files, nothing found\n", files.size());
  return 0;
}
