// SPDX-License-Identifier: Apache-2.0
//
// Stories of TLS: every failing shape that was measured with a real client, and every shape that
// looks like one and is none. The name of a test names the client whose shape it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/story.h"

namespace routelens {
namespace {

constexpr uint64_t kSsl = 0x7f0000001000;
constexpr std::byte kRandom{0x11};
constexpr uint8_t kFatal = 2;
constexpr uint8_t kWarning = 1;

Policy OneRoute() {
  return PolicyWith({{"mcp.example", 443}});
}

struct Connection {
  Story story;
  uint64_t flow = 0;
};

// Resolved and connected; nothing said yet. A reset or a FIN so soon after is part of the story.
Connection Ready(std::string_view address = "10.0.0.7") {
  Connection c;
  c.story.Exec().Lookup("mcp.example", {std::string(address)});
  c.flow = c.story.Connected(address, 443);
  return c;
}

// The same, with an OpenSSL client whose library is watched.
Connection ReadyWithLibrary() {
  Connection c = Ready();
  c.story.LibraryDraws(kSsl, kRandom);
  return c;
}

ExchangeRecord Only(const Report& report) {
  EXPECT_EQ(report.exchanges.size(), 1U);
  return report.exchanges.empty() ? ExchangeRecord{} : report.exchanges.front();
}

void ExpectTls(Story& s, Rule rule, Confidence confidence) {
  const Report report = s.Run(OneRoute());
  const ExchangeRecord exchange = Only(report);
  EXPECT_EQ(exchange.outcome, Outcome::kTlsFailed);
  EXPECT_EQ(ToString(exchange.rule), ToString(rule));
  EXPECT_EQ(ToString(exchange.confidence), ToString(confidence));
  EXPECT_EQ(OutcomeOf(report),
            confidence == Confidence::kWeak ? Outcome::kNoObservedExchange : Outcome::kTlsFailed);
}

void ExpectNeverTls(Story& s) {
  const Report report = s.Run(OneRoute());
  for (const ExchangeRecord& exchange : report.exchanges)
    EXPECT_NE(exchange.outcome, Outcome::kTlsFailed) << ToString(exchange.rule);
  for (const UnattributedRecord& record : report.unattributed)
    EXPECT_NE(record.outcome, Outcome::kTlsFailed) << ToString(record.rule);
  EXPECT_NE(OutcomeOf(report), Outcome::kTlsFailed);
}

// --- the certificate is not trusted ---

TEST(TlsStory, UntrustedCaInCurlAndPythonIsObserved) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).ServerFlight13(c.flow);
  c.story.Library(kSsl, LibraryOp::kVerify, 20).Alert(c.flow, Direction::kEgress, kFatal, 48);
  c.story.Library(kSsl, LibraryOp::kError, 134).Library(kSsl, LibraryOp::kResult, 1, -1);
  c.story.Close(c.flow).Library(kSsl, LibraryOp::kFree);
  ExpectTls(c.story, Rule::kTlsVerifyFailed, Confidence::kObserved);
}

TEST(TlsStory, UntrustedCaWithoutLibraryWitnessIsTheAlertInTheClear) {
  Connection c = Ready();
  c.story.Hello(c.flow).ServerFlight13(c.flow).Alert(c.flow, Direction::kEgress, kFatal, 48);
  c.story.Close(c.flow);
  ExpectTls(c.story, Rule::kTlsAlertSent, Confidence::kObserved);
}

TEST(TlsStory, C14_UntrustedCaInNodeIsObservedByTheLibraryAlone) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).ServerFlight13(c.flow).Library(kSsl, LibraryOp::kVerify, 21);
  c.story.Close(c.flow).Library(kSsl, LibraryOp::kFree);
  ExpectTls(c.story, Rule::kTlsVerifyFailed, Confidence::kObserved);
}

TEST(TlsStory, UntrustedCaInNodeThatFinishedFirstIsObserved) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).ServerFlight13(c.flow).Library(kSsl, LibraryOp::kVerify, 18);
  c.story.Finish13(c.flow).Close(c.flow);
  ExpectTls(c.story, Rule::kTlsVerifiedThenAbandoned, Confidence::kObserved);
}

TEST(TlsStory, C31_TheServersAlertAfterTheClientsEndIsNoCause) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).ServerFlight12(c.flow).Library(kSsl, LibraryOp::kVerify, 20);
  c.story.Library(kSsl, LibraryOp::kError, 134).Close(c.flow);
  c.story.Alert(c.flow, Direction::kIngress, kFatal, 50);
  ExpectTls(c.story, Rule::kTlsVerifyFailed, Confidence::kObserved);
}

TEST(TlsStory, UntrustedCaInGoAndGnutlsIsAShortRecordThenClose) {
  Connection c = Ready();
  c.story.Hello(c.flow).ServerFlight13(c.flow).FromClient(c.flow, 20, 1);
  c.story.FromClient(c.flow, 23, 19).Close(c.flow);
  ExpectTls(c.story, Rule::kTlsShortClientRecordThenClose, Confidence::kInferred);
}

TEST(TlsStory, C32_UntrustedCaInJavaIsARecordOf35ThenClose) {
  Connection c = Ready();
  c.story.Hello(c.flow).ServerFlight13(c.flow).FromClient(c.flow, 20, 1);
  c.story.FromClient(c.flow, 23, 35).PeerClose(c.flow);
  ExpectTls(c.story, Rule::kTlsShortClientRecordThenClose, Confidence::kInferred);
}

TEST(TlsStory, C14_ClientFinWithinTheHandshakeAloneIsWeak) {
  Connection c = Ready();
  c.story.Hello(c.flow).ServerFlight13(c.flow).Close(c.flow);
  ExpectTls(c.story, Rule::kTlsClientClosedInHandshake, Confidence::kWeak);
}

// --- the name is wrong ---

TEST(TlsStory, WrongNameInPythonIsObserved) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).ServerFlight13(c.flow).Library(kSsl, LibraryOp::kVerify, 62);
  c.story.Alert(c.flow, Direction::kEgress, kFatal, 42).Library(kSsl, LibraryOp::kError, 134);
  c.story.Close(c.flow);
  ExpectTls(c.story, Rule::kTlsVerifyFailed, Confidence::kObserved);
}

TEST(TlsStory, WrongNameInCurlLeavesOnlyWeakEvidence) {
  Connection c = ReadyWithLibrary();
  c.story.Handshake13(c.flow).Library(kSsl, LibraryOp::kVerify, 0);
  c.story.FromClient(c.flow, 23, 19).Close(c.flow);
  ExpectTls(c.story, Rule::kTlsAbandonedAfterHandshake, Confidence::kWeak);
}

TEST(TlsStory, WrongNameInNodeLeavesOnlyWeakEvidence) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).ServerFlight13(c.flow).Library(kSsl, LibraryOp::kVerify, 0);
  c.story.Close(c.flow);
  ExpectTls(c.story, Rule::kTlsClientClosedInHandshake, Confidence::kWeak);
}

// --- a client certificate is demanded ---

TEST(TlsStory, C13_ClientCertificateDemandedInTls12IsAnAlertReceived) {
  Connection c = Ready();
  c.story.Hello(c.flow).ServerFlight12(c.flow).FromClient(c.flow, 22, 37);
  c.story.FromClient(c.flow, 20, 1).FromClient(c.flow, 22, 40);
  c.story.Alert(c.flow, Direction::kIngress, kFatal, 40).PeerClose(c.flow);
  ExpectTls(c.story, Rule::kTlsAlertReceived, Confidence::kObserved);
}

TEST(TlsStory, C13_ClientCertificateDemandedInTls13IsSeenByTheLibrarysFirstRead) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).ServerFlight13(c.flow).Library(kSsl, LibraryOp::kVerify, 0);
  c.story.FromClient(c.flow, 20, 1).FromClient(c.flow, 23, 25).FromClient(c.flow, 23, 69);
  c.story.LibraryRequest(kSsl, HttpMethod::kPost, "/mcp", "mcp.example");
  c.story.FromClient(c.flow, 23, 250).FromServer(c.flow, 23, 19);
  c.story.Library(kSsl, LibraryOp::kError, 1116).Library(kSsl, LibraryOp::kResult, 1, -1);
  c.story.PeerClose(c.flow);
  ExpectTls(c.story, Rule::kTlsAlertReceived, Confidence::kObserved);
}

TEST(TlsStory, ClientCertificateDemandedWithoutLibraryIsInferredFromItsFlight) {
  Connection c = Ready();
  c.story.Hello(c.flow).ServerFlight13(c.flow);
  c.story.FromClient(c.flow, 20, 1).FromClient(c.flow, 23, 25).FromClient(c.flow, 23, 69);
  c.story.FromClient(c.flow, 23, 250).FromServer(c.flow, 23, 19).PeerClose(c.flow);
  ExpectTls(c.story, Rule::kTlsClientAuthRefused, Confidence::kInferred);
}

TEST(TlsStory, ShortServerRecordWithoutACertificateInTheFlightIsWeak) {
  Connection c = Ready();
  c.story.Handshake13(c.flow).FromClient(c.flow, 23, 250).FromServer(c.flow, 23, 19);
  c.story.PeerClose(c.flow);
  ExpectTls(c.story, Rule::kTlsClientAuthRefused, Confidence::kWeak);
}

TEST(TlsStory, ResetThatMayHaveOvertakenTheAlertIsWeak) {
  Connection c = Ready();
  c.story.Hello(c.flow).ServerFlight13(c.flow);
  c.story.FromClient(c.flow, 20, 1).FromClient(c.flow, 23, 25).FromClient(c.flow, 23, 69);
  c.story.FromClient(c.flow, 23, 250).Reset(c.flow);
  ExpectTls(c.story, Rule::kTlsClientAuthRefused, Confidence::kWeak);
}

// --- the server does not want to, or is none ---

TEST(TlsStory, C19_FatalAlertInsteadOfAServerHello) {
  for (const uint8_t description : {uint8_t{40}, uint8_t{70}, uint8_t{112}, uint8_t{120}}) {
    Connection c = Ready();
    c.story.Hello(c.flow).Alert(c.flow, Direction::kIngress, kFatal, description).PeerClose(c.flow);
    ExpectTls(c.story, Rule::kTlsAlertReceived, Confidence::kObserved);
  }
}

TEST(TlsStory, FatalAlertIsDecidedBeforeTheConnectionEnds) {
  Connection c = Ready();
  c.story.Hello(c.flow).Alert(c.flow, Direction::kIngress, kFatal, 40);
  ExpectTls(c.story, Rule::kTlsAlertReceived, Confidence::kObserved);
}

TEST(TlsStory, WarningBeforeTheServerHelloIsNoFailure) {
  Connection c = Ready();
  c.story.Hello(c.flow).Alert(c.flow, Direction::kIngress, kWarning, 112);
  c.story.ServerFlight12(c.flow).Finish12(c.flow);
  c.story.FromClient(c.flow, 23, 250).FromServer(c.flow, 23, 700).Close(c.flow);
  ExpectNeverTls(c.story);
}

TEST(TlsStory, CloseNotifyAndUserCanceledAreNoFailure) {
  for (const uint8_t description : {uint8_t{0}, uint8_t{90}}) {
    Connection c = Ready();
    c.story.Handshake12(c.flow).FromClient(c.flow, 23, 250).FromServer(c.flow, 23, 700);
    c.story.Alert(c.flow, Direction::kIngress, kWarning, description).Close(c.flow);
    ExpectNeverTls(c.story);
  }
}

TEST(TlsStory, PlainServerIsNotTls) {
  Connection c = Ready();
  c.story.Hello(c.flow).NotTls(c.flow).Close(c.flow);
  ExpectTls(c.story, Rule::kTlsNotTls, Confidence::kObserved);
}

TEST(TlsStory, PlainServerSeenByTheLibraryAlone) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).Library(kSsl, LibraryOp::kError, 267).Close(c.flow);
  ExpectTls(c.story, Rule::kTlsNotTls, Confidence::kObserved);
}

TEST(TlsStory, LibraryErrorWithinTheHandshakeIsObserved) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).ServerFlight13(c.flow).Library(kSsl, LibraryOp::kError, 258);
  c.story.Close(c.flow);
  ExpectTls(c.story, Rule::kTlsLibraryError, Confidence::kObserved);
}

TEST(TlsStory, Consequence407IsNoCause) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).Library(kSsl, LibraryOp::kError, 407).Close(c.flow);
  ExpectNeverTls(c.story);
}

TEST(TlsStory, CloseAfterClientHelloIsInferred) {
  Connection c = Ready();
  c.story.Hello(c.flow).PeerClose(c.flow);
  ExpectTls(c.story, Rule::kTlsServerClosedAfterHello, Confidence::kInferred);
}

TEST(TlsStory, CloseAfterClientHelloWithBothHalvesClosedByNode) {
  Connection c = Ready();
  c.story.Hello(c.flow).Add(Ev().PeerCloses(c.flow));
  FlowEnd end;  // the client shut its half too, then closed
  end.established = true;
  end.peer_fin = true;
  end.state = TcpState::kClose;
  end.bytes_acked = 300;
  c.story.End(c.flow, end);
  ExpectTls(c.story, Rule::kTlsServerClosedAfterHello, Confidence::kInferred);
}

TEST(TlsStory, CloseAfterClientHelloAndLibraryEofIsTheSame) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).Library(kSsl, LibraryOp::kError, 294).Library(kSsl, LibraryOp::kResult, 1);
  c.story.PeerClose(c.flow);
  ExpectTls(c.story, Rule::kTlsServerClosedAfterHello, Confidence::kInferred);
}

TEST(TlsStory, ResetAfterClientHelloIsInferredWithItsHint) {
  Connection c = Ready();
  c.story.Hello(c.flow).Reset(c.flow);
  EXPECT_EQ(ConditionOf(c.story.Run(OneRoute())).hint, Hint::kHandshakeReset);
  ExpectTls(c.story, Rule::kTlsServerResetAfterHello, Confidence::kInferred);
}

TEST(TlsStory, HandshakeThatHangsUntilTheClientGivesUp) {
  for (const auto& [waited, fails] : {std::pair{4000.0, true}, std::pair{2000.0, false}}) {
    Connection c = Ready();
    c.story.Hello(c.flow).Wait(waited).Close(c.flow);
    if (fails)
      ExpectTls(c.story, Rule::kTlsHandshakeTimedOut, Confidence::kInferred);
    else
      ExpectNeverTls(c.story);
  }
}

TEST(TlsStory, C20_ServerThatStopsWithinItsFlightIsATimeOut) {
  Connection c = Ready();
  c.story.Hello(c.flow).FromServer(c.flow, 22, 90).Wait(4000).Close(c.flow);
  ExpectTls(c.story, Rule::kTlsHandshakeTimedOut, Confidence::kInferred);
}

TEST(TlsStory, ClientHelloThatNeverArrivedIsNotATlsFailure) {
  Connection c = Ready();
  c.story.Hello(c.flow);
  FlowEnd end;
  end.cause = EndCause::kFailed;
  end.error = ETIMEDOUT;
  end.state = TcpState::kEstablished;
  end.established = true;
  end.bytes_acked = 1;
  c.story.Wait(60'000).End(c.flow, end);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
}

// Whether it was a forwarder's own leg cannot be told from any other that failed just then.
TEST(TlsStory, CloseByALocalServerRightAfterAnothersFailureIsStillTls) {
  Connection c = Ready("127.0.0.1");
  c.story.Hello(c.flow);
  c.story.As(kOther);
  const uint64_t leg = c.story.Connect("10.9.9.9", 443);
  c.story.Fail(leg, ECONNREFUSED).As(kAgent).PeerClose(c.flow);
  ExpectTls(c.story, Rule::kTlsServerClosedAfterHello, Confidence::kInferred);
}

// shutdown() before close(): by then the server has closed too, and only the order tells.
TEST(TlsStory, HandshakeThatHungAndWasShutDownFirstIsATimeOut) {
  Connection c = Ready("127.0.0.1");
  c.story.Hello(c.flow).Wait(4'000);
  FlowEnd end;
  end.state = TcpState::kClose;
  end.established = true;
  end.bytes_acked = 500;
  end.peer_fin = true;
  end.owner_fin = true;
  c.story.End(c.flow, end);
  ExpectTls(c.story, Rule::kTlsHandshakeTimedOut, Confidence::kInferred);
}

// A reset overtakes the alert that was read before it: the library tells of it a moment later.
TEST(TlsStory, ClientCertificateRefusedIsObservedThoughTheResetCameFirst) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).ServerFlight13(c.flow).FromClient(c.flow, 23, 25).Finish13(c.flow);
  c.story.FromServer(c.flow, 23, 19).FromClient(c.flow, 23, 188).Reset(c.flow);
  c.story.Library(kSsl, LibraryOp::kError, 1116).Library(kSsl, LibraryOp::kResult, 1, -1);
  c.story.Library(kSsl, LibraryOp::kFree);
  ExpectTls(c.story, Rule::kTlsAlertReceived, Confidence::kObserved);
}

TEST(TlsStory, AnAnswerThatIsReadAfterTheResetCounts) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).ServerFlight13(c.flow).Finish13(c.flow);
  c.story.LibraryRequest(kSsl, HttpMethod::kGet, "/mcp", "mcp.example");
  c.story.FromClient(c.flow, 23, 250).FromServer(c.flow, 23, 700).Reset(c.flow);
  c.story.LibraryAnswer(kSsl, 200).Library(kSsl, LibraryOp::kFree);
  EXPECT_EQ(OutcomeOf(c.story.Run(OneRoute())), Outcome::kReachable);
}

// 17.0.8 and later: 16 bytes of padding on every record.
TEST(TlsStory, GoodHandshakeInJavaIsNoFailure) {
  Connection c = Ready();
  c.story.Hello(c.flow).ServerFlight13(c.flow).FromClient(c.flow, 20, 1);
  c.story.FromClient(c.flow, 23, 85).FromClient(c.flow, 23, 219).FromServer(c.flow, 23, 5201);
  c.story.FromClient(c.flow, 23, 35).Close(c.flow);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(Only(report).rule, Rule::kStatusNotVisible);
}

TEST(TlsStory, CloseByALocalServerCarriesTheForwarderHint) {
  Connection c = Ready("127.0.0.1");
  c.story.Hello(c.flow).PeerClose(c.flow);
  EXPECT_EQ(ConditionOf(c.story.Run(OneRoute())).hint, Hint::kForwarderMayHaveFailed);
}

// --- what is never a TLS failure ---

TEST(TlsStory, CurlInsecureWithAnUntrustedCertificateIsNoFailure) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).ServerFlight13(c.flow).Library(kSsl, LibraryOp::kVerify, 18);
  c.story.Finish13(c.flow).LibraryRequest(kSsl, HttpMethod::kGet, "/mcp", "mcp.example");
  c.story.FromClient(c.flow, 23, 250).FromServer(c.flow, 23, 700).LibraryAnswer(kSsl, 200);
  c.story.Library(kSsl, LibraryOp::kVerifyAsked, 18).Close(c.flow);
  EXPECT_EQ(OutcomeOf(c.story.Run(OneRoute())), Outcome::kReachable);
  ExpectNeverTls(c.story);
}

TEST(TlsStory, CertNoneOnAnIdleConnectionThatSaysGoodbyeIsNoFailure) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).ServerFlight13(c.flow).Library(kSsl, LibraryOp::kVerify, 18);
  c.story.Finish13(c.flow).Wait(1000).FromClient(c.flow, 23, 19).Close(c.flow);
  ExpectNeverTls(c.story);
}

TEST(TlsStory, CertNoneWhoseServerClosesWithinTheHandshakeIsNotTheClientsVerdict) {
  Connection c = ReadyWithLibrary();
  c.story.Hello(c.flow).ServerFlight13(c.flow).Library(kSsl, LibraryOp::kVerify, 18);
  c.story.Reset(c.flow);
  ExpectTls(c.story, Rule::kTlsServerResetAfterHello, Confidence::kInferred);
}

TEST(TlsStory, IdleSpeculativeConnectionIsNoFailure) {
  Connection c = Ready();
  c.story.Handshake13(c.flow).FromServer(c.flow, 23, 250).FromServer(c.flow, 23, 250);
  c.story.Wait(2000).FromClient(c.flow, 23, 19).Close(c.flow);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(Only(report).rule, Rule::kClosedWithoutAWord);
  ExpectNeverTls(c.story);
}

TEST(TlsStory, ResumedSessionHasNoCertificateStep) {
  Connection c = ReadyWithLibrary();
  HelloOptions hello;
  hello.offers_resumption = true;
  c.story.Hello(c.flow, hello).ServerFlight13(c.flow, true).Finish13(c.flow);
  c.story.Library(kSsl, LibraryOp::kVerifyAsked, 18).Close(c.flow);
  ExpectNeverTls(c.story);
}

TEST(TlsStory, EarlyDataIsNoProgressAndItsEndIsNoAlert) {
  Connection c = Ready();
  HelloOptions hello;
  hello.offers_resumption = true;
  c.story.Hello(c.flow, hello).FromClient(c.flow, 20, 1).FromClient(c.flow, 23, 400);
  c.story.ServerFlight13(c.flow, true).FromClient(c.flow, 23, 21).FromClient(c.flow, 23, 69);
  c.story.FromServer(c.flow, 23, 700).Close(c.flow);
  ExpectNeverTls(c.story);
}

TEST(TlsStory, EndOfFileInTheDataPhaseIsNoFailure) {
  Connection c = ReadyWithLibrary();
  c.story.Handshake13(c.flow).LibraryRequest(kSsl, HttpMethod::kGet, "/mcp", "mcp.example");
  c.story.FromClient(c.flow, 23, 250).FromServer(c.flow, 23, 700).LibraryAnswer(kSsl, 200);
  c.story.Library(kSsl, LibraryOp::kError, 294).PeerClose(c.flow);
  EXPECT_EQ(OutcomeOf(c.story.Run(OneRoute())), Outcome::kReachable);
  ExpectNeverTls(c.story);
}

TEST(TlsStory, ClientThatCancelsWithinTheHandshakeBeforeAnyAnswerSaysNothing) {
  Connection c = Ready();
  c.story.Hello(c.flow).Wait(100).Close(c.flow);
  ExpectNeverTls(c.story);
}

TEST(TlsStory, HelloRetryRequestIsOneExchange) {
  Connection c = Ready();
  c.story.Hello(c.flow).FromServer(c.flow, 22, 88).FromServer(c.flow, 20, 1);
  c.story.FromClient(c.flow, 20, 1).FromClient(c.flow, 22, 300);
  c.story.ServerFlight13(c.flow).FromClient(c.flow, 23, 69);
  c.story.FromClient(c.flow, 23, 250).FromServer(c.flow, 23, 700).Close(c.flow);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(Only(report).rule, Rule::kStatusNotVisible);
}

// --- joins ---

TEST(TlsStory, C1_C2_HundredsOfSessionsOnOneThreadJoinByTheirRandoms) {
  std::vector<TestRoute> routes;
  for (int i = 0; i < 100; i++) routes.push_back({"s" + std::to_string(i) + ".example", 443});
  Story s;
  s.Exec();
  std::vector<uint64_t> flows;
  for (int i = 0; i < 200; i++) {
    const std::string name = "s" + std::to_string(i % 100) + ".example";
    const std::string address = "10.0.1." + std::to_string(i % 100 + 1);
    if (i < 100)
      s.Lookup(name, {address});
    flows.push_back(s.Connected(address, 443));
  }
  for (int i = 0; i < 200; i++) {
    const auto random = static_cast<std::byte>(i + 1);
    s.LibraryDraws(kSsl + static_cast<uint64_t>(i), random);
    HelloOptions hello;
    hello.random = random;
    hello.sni = "s" + std::to_string(i % 100) + ".example";
    s.Hello(flows[static_cast<size_t>(i)], hello);
  }
  // Every third server is untrusted, every third answers 200, every third 503.
  for (int i = 199; i >= 0; i--) {
    const uint64_t flow = flows[static_cast<size_t>(i)];
    const uint64_t ssl = kSsl + static_cast<uint64_t>(i);
    s.ServerFlight13(flow);
    if (i % 100 % 3 == 0) {
      s.Library(ssl, LibraryOp::kVerify, 20).Library(ssl, LibraryOp::kError, 134).Close(flow);
      continue;
    }
    s.Library(ssl, LibraryOp::kVerify, 0).Finish13(flow);
    s.LibraryRequest(ssl, HttpMethod::kPost, "/mcp", "s" + std::to_string(i % 100) + ".example");
    s.FromClient(flow, 23, 200).FromServer(flow, 23, 600);
    s.LibraryAnswer(ssl, i % 100 % 3 == 1 ? 200 : 503);
  }
  const Report report = s.Run(PolicyWith(routes));
  EXPECT_EQ(report.exchanges.size(), 200U);
  for (int i = 0; i < 100; i++) {
    const Outcome expected = i % 3 == 0   ? Outcome::kTlsFailed
                             : i % 3 == 1 ? Outcome::kReachable
                                          : Outcome::kUpstreamRejected;
    EXPECT_EQ(OutcomeOf(report, "s" + std::to_string(i) + ".example"), expected) << i;
  }
}

TEST(TlsStory, AReusedPointerIsAnotherSession) {
  Connection c = ReadyWithLibrary();
  c.story.Handshake13(c.flow).Library(kSsl, LibraryOp::kFree);
  // The same pointer, another handshake, not yet on the wire: its error is not the old flow's.
  c.story.LibraryDraws(kSsl, std::byte{0x99}).Library(kSsl, LibraryOp::kError, 134);
  c.story.FromClient(c.flow, 23, 200).FromServer(c.flow, 23, 600).Close(c.flow);
  ExpectNeverTls(c.story);
}

TEST(TlsStory, C29_TheNameIsKnownFromTheFirstHello) {
  Story s;  // no DNS at all: the name is in the ClientHello
  const uint64_t flow = s.Connected("10.0.0.7", 443);
  s.Hello(flow).Reset(flow);
  EXPECT_EQ(OutcomeOf(s.Run(OneRoute())), Outcome::kTlsFailed);
}

TEST(TlsStory, RequestInTlsThatIsResetBeforeItsAnswerIsTransportFailed) {
  Connection c = ReadyWithLibrary();
  c.story.Handshake13(c.flow).LibraryRequest(kSsl, HttpMethod::kPost, "/mcp", "mcp.example");
  c.story.FromClient(c.flow, 23, 250).Reset(c.flow);
  const Report report = c.story.Run(OneRoute());
  EXPECT_EQ(OutcomeOf(report), Outcome::kTransportFailed);
  EXPECT_EQ(Only(report).rule, Rule::kResetBeforeAnswer);
}

}  // namespace
}  // namespace routelens
