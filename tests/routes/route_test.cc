// SPDX-License-Identifier: Apache-2.0
#include "routes/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

namespace routelens {
namespace {

using testing::ElementsAre;

TEST(Route, MatchesEveryPublishedVector) {
  std::ifstream file(ROUTELENS_ROUTE_VECTORS);
  ASSERT_TRUE(file) << ROUTELENS_ROUTE_VECTORS;
  const nlohmann::json vectors = nlohmann::json::parse(file);
  ASSERT_EQ(vectors.size(), 11u);
  for (const nlohmann::json& vector : vectors) {
    const auto host = vector["host"].get<std::string>();
    const auto ports = vector["ports"].get<std::vector<uint16_t>>();
    const auto path = vector["path"].get<std::string>();
    SCOPED_TRACE(vector.dump());
    EXPECT_EQ(SubjectOf(host, ports, path).text, vector["subject"]);
    EXPECT_EQ(EndpointIdOf(host, ports, path), vector["endpoint_id"]);
    const Route route = MakeRoute(host, ports, path, true);
    EXPECT_EQ(route.subject.text, vector["subject"]);
    EXPECT_EQ(route.endpoint_id, vector["endpoint_id"]);
    EXPECT_TRUE(route.credentialed);
  }
}

TEST(Route, LowersOnlyAsciiLettersOfAHost) {
  EXPECT_EQ(CanonicalHost("MCP.Example.COM."), "mcp.example.com.");
  EXPECT_EQ(CanonicalHost("B\xC3\x9C"
                          "CHER.example"),
            "b\xC3\x9C"
            "cher.example");
  EXPECT_EQ(CanonicalHost("[::FFFF:1.2.3.4]"), "[::ffff:1.2.3.4]");
}

TEST(Route, WritesThePathThatMatchesEverythingInOneWay) {
  for (const char* all : {"", "**", "/**"}) EXPECT_EQ(CanonicalPath(all), "/**");
  for (const char* kept : {"/", "/mcp/", "/***", "*", "/mcp/**", "/a//b", "mcp"})
    EXPECT_EQ(CanonicalPath(kept), kept);
}

TEST(Route, SortsPortsAndDropsRepeatedOnes) {
  EXPECT_THAT(CanonicalPorts({8443, 443, 8443, 1, 65535}), ElementsAre(1, 443, 8443, 65535));
  EXPECT_THAT(CanonicalPorts({}), ElementsAre());
}

TEST(Route, KeepsFieldsApartInTheDigest) {
  const std::vector<uint16_t> ports = {443};
  EXPECT_NE(SubjectOf("ab", ports, "c"), SubjectOf("a", ports, "bc"));
  EXPECT_NE(SubjectOf("a", {1, 2}, "/"), SubjectOf("a", {1}, "/"));
  EXPECT_NE(SubjectOf("a", ports, "/mcp"), SubjectOf("a", ports, "/mcp/"));
  EXPECT_NE(SubjectOf("a", ports, "/mcp"), SubjectOf("a.", ports, "/mcp"));
}

// Property: the name depends neither on the order or repetition of ports, nor on the case of the
// host, and canonical parts are their own canonical form.
TEST(Route, NamesDoNotDependOnHowARouteIsSpelled) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto pick = [&](size_t below) { return random() % below; };
  constexpr std::string_view kHostBytes = "abcXYZ019.-:[]*\xC3\xBC";
  constexpr std::string_view kPathBytes = "/*a?[]%2F.;#Z";
  for (int round = 0; round < 500; ++round) {
    std::string host;
    std::string path;
    std::vector<uint16_t> ports;
    for (size_t i = pick(20); i > 0; --i) host += kHostBytes[pick(kHostBytes.size())];
    for (size_t i = pick(12); i > 0; --i) path += kPathBytes[pick(kPathBytes.size())];
    for (size_t i = 1 + pick(6); i > 0; --i)
      ports.push_back(static_cast<uint16_t>(1 + pick(65535)));

    const Route route = MakeRoute(host, ports, path, false);
    EXPECT_EQ(MakeRoute(route.host, route.ports, route.path, false), route);

    std::vector<uint16_t> respelled = ports;
    respelled.push_back(ports[pick(ports.size())]);
    std::shuffle(respelled.begin(), respelled.end(), random);
    std::string other_case = host;
    for (char& c : other_case) {
      if (c >= 'a' && c <= 'z' && pick(2) == 0)
        c = static_cast<char>(c - 'a' + 'A');
    }
    EXPECT_EQ(MakeRoute(other_case, respelled, path, false), route) << host << " " << path;

    const uint16_t another = route.ports.back() == 65535 ? 65534 : 65535;
    if (!std::binary_search(route.ports.begin(), route.ports.end(), another)) {
      respelled.push_back(another);
      EXPECT_NE(SubjectOf(host, respelled, path), route.subject);
    }
  }
}

}  // namespace
}  // namespace routelens
