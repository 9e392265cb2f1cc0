// SPDX-License-Identifier: Apache-2.0
#include "userspace/correlate/tls_progress.h"

#include <algorithm>

#include "userspace/classify/library_reasons.h"

namespace routelens {
namespace {

constexpr uint8_t kChangeCipherSpec = 20;
constexpr uint8_t kAlert = 21;
constexpr uint8_t kHandshake = 22;
constexpr uint8_t kApplicationData = 23;

// TLS 1.3 adds a content type byte and a 16-byte tag to each message (RFC 8446 section 5.2).
constexpr uint16_t kProtection = 17;
constexpr uint16_t kFinishedSha256 = 4 + 32 + kProtection;
constexpr uint16_t kFinishedSha384 = 4 + 48 + kProtection;
constexpr uint16_t kEmptyCertificate = 4 + 4 + kProtection;
constexpr uint16_t kEndOfEarlyData = 4 + kProtection;
constexpr uint16_t kEmptyCertificateAndFinished256 = 8 + 36 + kProtection;
constexpr uint16_t kEmptyCertificateAndFinished384 = 8 + 52 + kProtection;
constexpr uint16_t kJavaPadding = 16;  // on every record (17.0.8 and later)
constexpr uint16_t kJavaAlert = 2 + kProtection + kJavaPadding;
constexpr uint16_t kLongestAlert = kJavaAlert;
constexpr uint16_t kLongestCloseNotify = 24;  // longer small records may be frames of HTTP/2

bool IsFinished(uint16_t length) {
  return length == kFinishedSha256 || length == kFinishedSha384 ||
         length == kFinishedSha384 + kJavaPadding;
}

bool IsEmptyCertificateAndFinished(uint16_t length) {
  return length == kEmptyCertificateAndFinished256 || length == kEmptyCertificateAndFinished384 ||
         length == kEmptyCertificateAndFinished384 + kJavaPadding;
}

bool IsTls13(const TlsFacts& facts) {
  if (facts.version != 0)
    return facts.version >= kTls13;
  return facts.server_protected;
}

void Complete(BootTime now, TlsFacts& facts) {
  if (!facts.complete.known())
    facts.complete = now;
}

void ClientSentData(BootTime now, TlsFacts& facts) {
  if (facts.first_client_data.known() && !facts.answered_again)
    return;
  facts.first_client_data = now;
  facts.answered_again = false;
}

void ClientProtectedTls13(const TlsRecord& record, BootTime now, TlsFacts& facts) {
  if (!facts.server_hello && !facts.server_protected) {
    facts.early_data = true;
    return;
  }
  const uint16_t length = record.length;
  if (facts.client_finished) {
    if (length <= kLongestCloseNotify || length == kJavaAlert)
      facts.client_close_alert = true;
    else
      ClientSentData(now, facts);
    return;
  }
  if (IsFinished(length) || IsEmptyCertificateAndFinished(length)) {
    facts.client_certificate = facts.client_certificate || IsEmptyCertificateAndFinished(length);
    facts.client_finished = true;
    Complete(now, facts);
    return;
  }
  if (facts.early_data) {
    // More of it, or its end; only what cannot be either is the client's flight.
    if (length == kEndOfEarlyData || length > kLongestAlert)
      return;
  }
  if (length == kEmptyCertificate || length > kLongestAlert)
    facts.client_certificate = true;
  else
    facts.short_client_record = true;
}

void FromClient(const TlsRecord& record, BootTime now, TlsFacts& facts) {
  switch (record.content_type) {
    case kHandshake:
      if (!facts.client_hello.known())
        facts.client_hello = now;
      else if (facts.client_changed_cipher && facts.server_hello && !IsTls13(facts)) {
        facts.client_finished = true;
        if (facts.server_finished)
          Complete(now, facts);
      }
      return;
    case kChangeCipherSpec:
      facts.client_changed_cipher = true;
      return;
    case kAlert:
      if (record.alert_level != 0) {
        if (!facts.complete.known() && AlertFails(record.alert_level, record.alert_description))
          facts.fatal_alert_sent = true;
      } else if (facts.complete.known()) {
        facts.client_close_alert = true;
      }
      return;
    case kApplicationData:
      if (!facts.client_hello.known())
        return;  // an older connection: nothing is known of its beginning
      if (IsTls13(facts) || !facts.client_changed_cipher)
        ClientProtectedTls13(record, now, facts);
      else
        ClientSentData(now, facts);
      return;
    default:
      return;
  }
}

void ServerProtected(const TlsRecord& record, BootTime now, TlsFacts& facts) {
  if (!facts.complete.known() && !facts.client_finished) {
    facts.server_protected = true;
    return;
  }
  const bool is_tls13 = IsTls13(facts);
  if (is_tls13 && !facts.server_data && record.length <= kLongestAlert) {
    facts.short_server_record = true;
    return;
  }
  facts.last_long_server_record = now;
  if (!facts.first_client_data.known())
    return;  // a session ticket
  facts.server_data = true;
  facts.answered_again = true;
}

void FromServer(const TlsRecord& record, BootTime now, TlsFacts& facts) {
  if (!facts.client_hello.known())
    return;
  facts.last_server_record = now;
  facts.server_records_end = facts.server_records_end || record.index + 1 >= kTlsRecordsDescribed;
  if (record.version == 0 && record.index == 0) {
    facts.not_tls = true;
    return;
  }
  switch (record.content_type) {
    case kHandshake:
      if (facts.server_changed_cipher && !IsTls13(facts)) {
        facts.server_finished = true;
        if (facts.client_finished)
          Complete(now, facts);
      } else {
        facts.server_hello = true;
      }
      return;
    case kChangeCipherSpec:
      if (!facts.client_changed_cipher && facts.version != 0 && facts.version < kTls13)
        facts.resumed = true;
      facts.server_changed_cipher = true;
      return;
    case kAlert:
      if (record.alert_level != 0 && !facts.complete.known() &&
          AlertFails(record.alert_level, record.alert_description))
        facts.fatal_alert_received = true;
      return;
    case kApplicationData:
      ServerProtected(record, now, facts);
      return;
    default:
      return;
  }
}

}  // namespace

void ApplyClientHello(const ClientHello& hello, TlsFacts& facts) {
  facts.client_hello_read = true;
  facts.encrypted_hello = hello.encrypted_client_hello;
}

void ApplyServerHello(const ServerHello& hello, bool resumes, TlsFacts& facts) {
  facts.server_hello = true;
  if (hello.is_hello_retry_request)
    return;
  facts.version = hello.version;
  facts.resumed = facts.resumed || resumes;
}

void ApplyTlsRecord(const TlsRecord& record, BootTime now, TlsFacts& facts) {
  if (record.direction == Direction::kEgress)
    FromClient(record, now, facts);
  else
    FromServer(record, now, facts);
}

void ApplyLibraryCall(const LibraryCall& call, LibraryFacts& facts) {
  switch (call.op) {
    case LibraryOp::kVerify:
      facts.verify_error = static_cast<int32_t>(call.value);
      return;
    case LibraryOp::kVerifyAsked:
      if (facts.verify_error == 0)
        facts.verify_error = static_cast<int32_t>(call.value);
      return;
    case LibraryOp::kError:
      // A shutdown during the handshake is the consequence of an earlier failure.
      if (facts.error == 0 && call.value != kReasonShutdownWhileInInit)
        facts.error = static_cast<int32_t>(call.value);
      return;
    case LibraryOp::kResult:
    case LibraryOp::kHelloRandom:
    case LibraryOp::kFree:
    case LibraryOp::kStart:
      return;
  }
}

void StartNextTlsExchange(TlsFacts& facts) {
  facts.first_client_data = {};
  facts.answered_again = false;
}

TlsEvidence TlsEvidenceOf(const TlsFacts& facts, const LibraryFacts& library, BootTime end) {
  TlsEvidence e;
  e.spoken = facts.client_hello.known();
  e.server_hello = facts.server_hello || facts.server_protected;
  e.complete = facts.complete.known();
  e.is_tls13 = IsTls13(facts);
  e.resumed = facts.resumed;
  e.not_tls = facts.not_tls;
  e.fatal_alert_received = facts.fatal_alert_received;
  e.fatal_alert_sent = facts.fatal_alert_sent;
  e.short_client_record = facts.short_client_record;
  e.client_certificate = facts.client_certificate;
  e.short_server_record = facts.short_server_record;
  e.client_close_alert = facts.client_close_alert;
  e.client_data = facts.first_client_data.known();
  e.server_data = facts.server_data;
  if (e.spoken)
    e.silence = end - std::max(facts.last_server_record, facts.client_hello);
  if (e.complete)
    e.after_complete = end - facts.complete;
  e.verify_error = library.verify_error;
  e.library_error = library.error;
  return e;
}

}  // namespace routelens
