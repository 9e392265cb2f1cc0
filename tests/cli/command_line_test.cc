// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/command_line.h"

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "cli/commands/completion.h"
#include "cli/commands/help.h"
#include "cli/commands/near_word.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace routelens {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Words = std::vector<std::string>;

std::string ErrorOf(const Words& words) {
  CommandLine line;
  const Parsed parsed = Parse(words, line);
  EXPECT_TRUE(parsed.command.empty()) << parsed.command;
  EXPECT_TRUE(parsed.output.empty());
  return parsed.error;
}

TEST(CommandLine, RunTakesItsFlagsBeforeTheDashes) {
  CommandLine line;
  const Parsed parsed = Parse({"run",
                               "-p",
                               "p.yaml",
                               "--output=o.json",
                               "--record",
                               "r",
                               "--json",
                               "-q",
                               "--watch",
                               "--credentialed",
                               "a",
                               "--credentialed",
                               "b",
                               "--no-library-probes",
                               "--no-data-path-probes",
                               "--syscall-exit",
                               "--",
                               "curl",
                               "-s",
                               "--json",
                               "--",
                               "x"},
                              line);
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.command, "run");
  EXPECT_EQ(line.run.live.policy, "p.yaml");
  EXPECT_EQ(line.run.live.output, "o.json");
  EXPECT_EQ(line.run.live.record, "r");
  EXPECT_TRUE(line.run.live.json && line.run.live.quiet && line.run.live.watch);
  EXPECT_TRUE(line.run.live.no_library_probes && line.run.live.no_data_path_probes);
  EXPECT_TRUE(line.run.live.syscall_exit);
  EXPECT_THAT(line.run.live.credentialed, ElementsAre("a", "b"));
  EXPECT_THAT(line.run.command, ElementsAre("curl", "-s", "--json", "--", "x"));
}

TEST(CommandLine, WhatFollowsTheDashesIsNeverOurs) {
  CommandLine line;
  EXPECT_EQ(Parse({"run", "--", "--help"}, line).command, "run");
  EXPECT_THAT(line.run.command, ElementsAre("--help"));
}

TEST(CommandLine, RunWantsACommand) {
  EXPECT_THAT(ErrorOf({"run"}), HasSubstr("put it after --"));
  EXPECT_THAT(ErrorOf({"run", "--"}), HasSubstr("put it after --"));
  EXPECT_THAT(ErrorOf({"run", "curl", "x"}), HasSubstr("goes after --"));
}

TEST(CommandLine, AttachWantsExactlyOneTarget) {
  CommandLine line;
  EXPECT_EQ(Parse({"attach", "--pid", "12", "-d", "1.5"}, line).command, "attach");
  EXPECT_EQ(line.attach.pid, 12);
  EXPECT_EQ(line.attach.duration_seconds, 1.5);
  EXPECT_NE(ErrorOf({"attach"}), "");
  EXPECT_NE(ErrorOf({"attach", "--pid", "1", "--cgroup", "/x"}), "");
  EXPECT_NE(ErrorOf({"attach", "--pid", "0"}), "");
  EXPECT_NE(ErrorOf({"attach", "--pid", "x"}), "");
  EXPECT_NE(ErrorOf({"attach", "--pid", "1", "--duration", "-1"}), "");
  EXPECT_NE(ErrorOf({"attach", "--pid", "1", "--duration", "1e30"}), "");
}

TEST(CommandLine, SubjectTakesPortsInEveryForm) {
  CommandLine line;
  EXPECT_EQ(Parse({"subject", "--host", "h", "--port", "443,80", "--port", "1"}, line).error, "");
  EXPECT_THAT(line.subject.ports, ElementsAre(443, 80, 1));
  for (const char* wrong : {"0", "65536", "70000", "-1", "x", "", "1,x", "1,0"}) {
    EXPECT_NE(ErrorOf({"subject", "--host", "h", "--port", wrong}), "") << wrong;
  }
  EXPECT_NE(ErrorOf({"subject", "--port", "1"}), "");
  EXPECT_NE(ErrorOf({"subject", "--host", "h"}), "");
}

TEST(CommandLine, ErrorsAreOneLineThatPointsToHelp) {
  for (const Words& words : std::vector<Words>{{},
                                               {"--bogus"},
                                               {"run", "--bogus", "--", "x"},
                                               {"run", "--policy"},
                                               {"policy"},
                                               {"policy", "check"},
                                               {"policy", "check", "a", "b"},
                                               {"watch", "a", "b"},
                                               {"replay"},
                                               {"doctor", "x"},
                                               {"completion", "fish"},
                                               {"a\x1b[31m\nb"}}) {
    const std::string error = ErrorOf(words);
    EXPECT_THAT(error, testing::MatchesRegex("routelens.*: .* \\(see `routelens.*--help`\\)"));
    EXPECT_EQ(error.find_first_of("\n\x1b"), std::string::npos) << error;
  }
}

TEST(CommandLine, UnknownCommandsSuggestTheNearOne) {
  EXPECT_THAT(ErrorOf({"rnu"}), HasSubstr("did you mean 'run'?"));
  EXPECT_THAT(ErrorOf({"docter"}), HasSubstr("did you mean 'doctor'?"));
  EXPECT_THAT(ErrorOf({"policy", "chek"}), HasSubstr("did you mean 'policy check'?"));
  EXPECT_THAT(ErrorOf({"xyzzy"}), testing::Not(HasSubstr("did you mean")));
}

TEST(CommandLine, HelpComesBeforeEveryComplaint) {
  for (const std::string_view topic : HelpTopics()) {
    for (const char* flag : {"--help", "-h"}) {
      Words words;
      std::istringstream parts{std::string(topic)};
      for (std::string word; parts >> word;) words.push_back(word);
      words.emplace_back(flag);
      CommandLine line;
      const Parsed parsed = Parse(words, line);
      EXPECT_EQ(parsed.output, HelpPage(topic));
      EXPECT_EQ(parsed.error, "");
      EXPECT_EQ(parsed.command, "");
    }
  }
}

TEST(CommandLine, TellsItsVersion) {
  CommandLine line;
  EXPECT_THAT(Parse({"--version"}, line).output, testing::MatchesRegex("routelens [0-9.]+\n"));
}

TEST(Help, NamesEveryOptionOfTheParserAndNoOther) {
  const std::regex option("(^|[ ,\\[])(--?[a-z][a-z-]*)");
  for (const std::string_view topic : HelpTopics()) {
    std::set<std::string> named;
    std::istringstream lines{std::string(HelpPage(topic))};
    bool in_options = false;
    for (std::string text; std::getline(lines, text);) {
      // Options are indented lines that begin with a dash; what a page says of others is prose.
      const size_t start = text.find_first_not_of(' ');
      in_options = start != std::string::npos && start >= 2 && start <= 6 && text[start] == '-';
      if (!in_options)
        continue;
      const std::string head = text.substr(0, text.find("  ", start));
      for (std::sregex_iterator it(head.begin(), head.end(), option), end; it != end; ++it) {
        named.insert((*it)[2]);
      }
    }
    const std::vector<std::string> known = OptionsOf(std::string(topic));
    EXPECT_EQ(named, std::set<std::string>(known.begin(), known.end())) << topic;
  }
}

TEST(Help, FitsInEightyColumnsAndHasItsParts) {
  for (const std::string_view topic : HelpTopics()) {
    const std::string page(HelpPage(topic));
    std::istringstream lines(page);
    for (std::string text; std::getline(lines, text);) EXPECT_LE(text.size(), 80u) << text;
    EXPECT_THAT(page, HasSubstr("\nUsage: routelens"));
    EXPECT_THAT(page, HasSubstr("Example"));
    if (topic != "policy") {
      EXPECT_THAT(page, HasSubstr("\nExit status:\n")) << topic;
    }
  }
}

TEST(Completion, KnowsEveryCommandAndOption) {
  const std::string script = BashCompletion();
  for (const std::string_view topic : HelpTopics()) {
    if (topic.empty())
      continue;
    EXPECT_THAT(script, HasSubstr("'" + std::string(topic) + "')"));
    for (const std::string& option : OptionsOf(std::string(topic))) {
      EXPECT_THAT(script, HasSubstr(option));
    }
  }
}

TEST(NearestWord, IsTheNearOneOrNone) {
  const std::vector<std::string> words = {"run", "replay", "attach", "watch"};
  EXPECT_EQ(NearestWord("atach", words), "attach");
  EXPECT_EQ(NearestWord("wathc", words), "watch");
  EXPECT_EQ(NearestWord("rnu", words), "run");
  EXPECT_EQ(NearestWord("zzz", words), "");
  EXPECT_EQ(NearestWord("", words), "");
  EXPECT_EQ(NearestWord(std::string(1000, 'r'), words), "");
}

}  // namespace
}  // namespace routelens
