// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/completion.h"

#include "cli/commands/command_line.h"
#include "cli/commands/help.h"

namespace routelens {

std::string BashCompletion() {
  std::string commands;
  std::string cases;
  for (const std::string_view topic : HelpTopics()) {
    const std::string command(topic);
    if (!command.empty() && command.find(' ') == std::string::npos)
      commands += " " + command;
    std::string words;
    for (const std::string& option : OptionsOf(command)) words += " " + option;
    if (command == "policy")
      words += " routes check";
    if (command == "completion")
      words += " bash";
    if (!command.empty())
      cases += "    '" + command + "') words='" + words.substr(1) + "' ;;\n";
  }
  return R"(# bash completion for routelens: source <(routelens completion bash)
_routelens() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      _command_offset $((i + 1)) 2>/dev/null
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W ')" +
         commands.substr(1) + R"( --help --version' -- "$current")
    return
  fi
  case $previous in
    --policy | -p | --output | -o | --record | --cgroup)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
  esac
  if [[ $command == policy && $COMP_CWORD -gt 2 ]]; then
    command="policy ${COMP_WORDS[2]}"
  fi
  case $command in
)" + cases +
         R"(  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [[ $current != -* ]]; then
    case $command in
      replay | 'policy routes' | 'policy check')
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        ;;
    esac
  fi
}
complete -o filenames -F _routelens routelens
)";
}

}  // namespace routelens
