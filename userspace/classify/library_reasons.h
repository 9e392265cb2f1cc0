// SPDX-License-Identifier: Apache-2.0
//
// Reasons of libssl's error queue that have a meaning here (include/openssl/sslerr.h). Above
// kReasonAlertBase: an alert that was received, by its number.
#pragma once

#include <cstdint>

namespace routelens {

constexpr int32_t kReasonAlertBase = 1000;
constexpr int32_t kReasonCertificateVerifyFailed = 134;
constexpr int32_t kReasonHttpsProxyRequest = 155;
constexpr int32_t kReasonHttpRequest = 156;
constexpr int32_t kReasonWrongVersionNumber = 267;
constexpr int32_t kReasonUnexpectedEof = 294;
constexpr int32_t kReasonShutdownWhileInInit = 407;  // SSL_shutdown during the handshake

}  // namespace routelens
