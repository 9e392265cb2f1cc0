// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "cli/commands/completion.h"
#include "cli/commands/help.h"
#include "cli/commands/near_word.h"
#include "cli/commands/output.h"
#include "cli/render/text.h"

namespace routelens {
namespace {

constexpr double kMaxDurationSeconds = 365.0 * 86400;

// The parser for all commands over one set of flags.
class Parser {
 public:
  explicit Parser(CommandLine& line) : app_("routelens") {
    app_.set_help_flag("-h,--help");
    app_.set_version_flag("--version", "routelens " ROUTELENS_VERSION);
    app_.require_subcommand(1);

    CLI::App& run = Add(app_, "run");
    AddLiveFlags(run, line.run.live);

    CLI::App& attach = Add(app_, "attach");
    CLI::Option_group& target = *attach.add_option_group("what to watch");
    target.add_option("--pid", line.attach.pid)->check(CLI::Range(1, 1 << 22));
    target.add_option("--cgroup", line.attach.cgroup);
    target.add_option("--container", line.attach.container);
    target.require_option(1);
    attach.add_option("--duration,-d", line.attach.duration_seconds)
        ->check(CLI::Range(0.001, kMaxDurationSeconds));
    AddLiveFlags(attach, line.attach.live);

    CLI::App& watch = Add(app_, "watch");
    watch.add_option("id", line.watch.id);
    watch.add_flag("--all", line.watch.all);
    watch.add_flag("--json", line.watch.json);

    CLI::App& replay = Add(app_, "replay");
    replay.add_option("file", line.replay.file)->required();
    replay.add_option("--output,-o", line.replay.output);
    replay.add_flag("--json", line.replay.json);
    replay.add_flag("--watch", line.replay.watch);

    CLI::App& doctor = Add(app_, "doctor");
    doctor.add_flag("--json", line.doctor.json);

    CLI::App& subject = Add(app_, "subject");
    subject.add_option("--host", line.subject.host)->required();
    subject.add_option("--port", line.subject.ports)
        ->required()
        ->delimiter(',')
        ->expected(1)
        ->take_all()
        ->check(CLI::Range(1, 65535));
    subject.add_option("--path", line.subject.path);
    subject.add_flag("--json", line.subject.json);

    CLI::App& policy = Add(app_, "policy");
    policy.require_subcommand(1);
    CLI::App& routes = Add(policy, "routes");
    routes.add_option("file", line.routes.file)->required();
    routes.add_option("--credentialed", line.routes.credentialed)->expected(1)->take_all();
    routes.add_flag("--json", line.routes.json);
    CLI::App& check = Add(policy, "check");
    check.add_option("file", line.check.file)->required();
    check.add_flag("--strict", line.check.strict);
    check.add_flag("--json", line.check.json);

    CLI::App& completion = Add(app_, "completion");
    completion.add_option("shell", line.shell)->required()->check(CLI::IsMember({"bash"}));
  }

  // Throws CLI::ParseError.
  void Parse(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());  // what CLI11 wants
    app_.parse(std::move(words));
  }

  // The words of the innermost command that was met: "policy check".
  std::string Chosen() const {
    std::string words;
    const CLI::App* at = &app_;
    for (auto chosen = at->get_subcommands(); !chosen.empty(); chosen = at->get_subcommands()) {
      at = chosen.front();
      words += (words.empty() ? "" : " ") + at->get_name();
    }
    return words;
  }

  CLI::App* Find(const std::string& command) {
    CLI::App* at = &app_;
    for (const std::string& word : SplitWords(command)) at = at->get_subcommand(word);
    return at;
  }

  static std::vector<std::string> SplitWords(const std::string& text) {
    std::vector<std::string> words;
    for (size_t start = 0; start < text.size();) {
      const size_t end = std::min(text.find(' ', start), text.size());
      words.push_back(text.substr(start, end - start));
      start = end + 1;
    }
    return words;
  }

 private:
  static CLI::App& Add(CLI::App& parent, const std::string& name) {
    CLI::App& command = *parent.add_subcommand(name);
    command.set_help_flag("-h,--help");
    return command;
  }

  CLI::App app_;
};

// CLI11 explains itself in several lines; the first one says it.
std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::vector<std::string> NamesBelow(std::string_view group) {
  std::vector<std::string> names;
  for (const std::string_view topic : HelpTopics()) {
    const std::vector<std::string> words = Parser::SplitWords(std::string(topic));
    if (group.empty() && words.size() == 1)
      names.push_back(words[0]);
    if (!group.empty() && words.size() == 2 && words[0] == group)
      names.push_back(words[1]);
  }
  return names;
}

// "" when `word` names a command below `group`.
std::string ComplainOfName(const std::string& word, std::string_view group) {
  const std::vector<std::string> names = NamesBelow(group);
  if (std::find(names.begin(), names.end(), word) != names.end())
    return "";
  const std::string near = NearestWord(word, names);
  const std::string prefix = group.empty() ? "" : std::string(group) + " ";
  return "no command '" + prefix + word + "'" +
         (near.empty() ? "" : "; did you mean '" + prefix + near + "'?");
}

std::string UsageError(const std::string& command, const std::string& what) {
  const std::string program = command.empty() ? "routelens" : "routelens " + command;
  return program + ": " + Printable(what) + " (see `" + program + " --help`)";
}

}  // namespace

Parsed Parse(const std::vector<std::string>& words, CommandLine& line) {
  Parsed parsed;
  if (words.empty()) {
    parsed.error = UsageError("", "no command");
    return parsed;
  }
  const bool names_command = words[0].rfind('-', 0) != 0;
  std::string complaint = names_command ? ComplainOfName(words[0], "") : "";
  if (complaint.empty() && words[0] == "policy" && words.size() > 1 &&
      words[1].rfind('-', 0) != 0) {
    complaint = ComplainOfName(words[1], "policy");
  }
  if (!complaint.empty()) {
    parsed.error = UsageError("", complaint);
    return parsed;
  }
  // What follows the first "--" of run is the command's and never ours to understand.
  std::vector<std::string> ours = words;
  if (words[0] == "run") {
    const auto dashes = std::find(words.begin(), words.end(), "--");
    ours.assign(words.begin(), dashes);
    if (dashes != words.end())
      line.run.command.assign(dashes + 1, words.end());
  }
  Parser parser(line);
  try {
    parser.Parse(ours);
    parsed.command = parser.Chosen();
  } catch (const CLI::CallForHelp&) {
    parsed.output = std::string(HelpPage(parser.Chosen()));
    return parsed;
  } catch (const CLI::CallForVersion&) {
    parsed.output = "routelens " ROUTELENS_VERSION "\n";
    return parsed;
  } catch (const CLI::ParseError& error) {
    const std::string command = parser.Chosen();
    std::string what = FirstLine(error.what());
    if (command == "run" && line.run.command.empty()) {
      what += "; the command to run goes after --";
    }
    parsed.error = UsageError(command, what);
    return parsed;
  }
  if (parsed.command == "run" && line.run.command.empty()) {
    parsed.command.clear();
    parsed.error = UsageError("run", "no command to run: put it after --");
  }
  return parsed;
}

std::vector<std::string> OptionsOf(const std::string& command) {
  CommandLine line;
  Parser parser(line);
  std::vector<std::string> names;
  const std::function<void(const CLI::App&)> collect = [&](const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_snames()) names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    // Option groups are commands without a name.
    for (const CLI::App* group : app.get_subcommands(std::function<bool(const CLI::App*)>(
             [](const CLI::App* candidate) { return candidate->get_name().empty(); }))) {
      collect(*group);
    }
  };
  collect(*parser.Find(command));
  std::sort(names.begin(), names.end());
  return names;
}

int RunCommandLine(const std::vector<std::string>& words) {
  CommandLine line;
  const Parsed parsed = Parse(words, line);
  if (!parsed.error.empty()) {
    (void)WriteAll(2, parsed.error + "\n");
    return kExitUsage;
  }
  if (parsed.command.empty())
    return PrintResult(parsed.output);
  const std::map<std::string, std::function<int()>> commands = {
      {"run", [&] { return RunCommand(line.run); }},
      {"attach", [&] { return AttachCommand(line.attach); }},
      {"watch", [&] { return WatchCommand(line.watch); }},
      {"replay", [&] { return ReplayCommand(line.replay); }},
      {"doctor", [&] { return DoctorCommand(line.doctor); }},
      {"subject", [&] { return SubjectCommand(line.subject); }},
      {"policy routes", [&] { return PolicyRoutesCommand(line.routes); }},
      {"policy check", [&] { return PolicyCheckCommand(line.check); }},
      {"completion", [] { return PrintResult(BashCompletion()); }},
  };
  return commands.at(parsed.command)();
}

}  // namespace routelens
