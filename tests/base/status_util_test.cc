// SPDX-License-Identifier: Apache-2.0
#include "base/status_util.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

namespace routelens {
namespace {

TEST(StatusUtil, TurnsErrnoIntoCodeAndWords) {
  const absl::Status status = ErrnoStatus(EPERM, "cannot load the program");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(MessageOf(status), std::string("cannot load the program: ") + std::strerror(EPERM));
  EXPECT_EQ(ErrnoStatus(ENOENT, "x").code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(ErrnoStatus(0, "x").ok());
}

TEST(StatusUtil, PutsContextInFrontAndKeepsTheCode) {
  const absl::Status status = WithContext(absl::NotFoundError("no such map"), "boundary 7");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(MessageOf(status), "boundary 7: no such map");
  EXPECT_TRUE(WithContext(absl::OkStatus(), "anything").ok());
}

TEST(StatusUtil, ReturnsFromTheCallerOnErrorOnly) {
  int evaluated = 0;
  const auto run = [&](const absl::Status& inner) -> absl::Status {
    const auto step = [&] {
      ++evaluated;
      return inner;
    };
    RL_RETURN_IF_ERROR(step());
    return absl::AbortedError("reached the end");
  };
  EXPECT_EQ(run(absl::OkStatus()).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(run(absl::DataLossError("x")).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(evaluated, 2);
}

}  // namespace
}  // namespace routelens
