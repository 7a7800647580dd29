// tenon completion: a shell's completion of this program, from its commands and options.
#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

struct CompletionOptions {
  std::string shell;
  const CLI::App* program = nullptr;
};

// How values are completed, by their placeholder; the first row that fits counts.
struct Completed {
  const char* command;      // null: any
  const char* placeholder;  // null: any
  const char* by;
};
constexpr Completed kCompleted[] = {{"new", "NAME", "nothing"},
                                    {"plugins", "NAME", "plugins"},
                                    {nullptr, "NAME", "ops"},
                                    {nullptr, "OP", "ops"},
                                    {nullptr, "NAMESPACE", "namespaces"},
                                    {nullptr, "TYPE", "types"},
                                    {nullptr, "PLUGIN", "plugins"},
                                    {nullptr, "PLUGIN,...", "plugins"},
                                    {nullptr, "OLD", "plugins"},
                                    {nullptr, "NEW", "plugins"},
                                    {nullptr, "CONFIG", "files"},
                                    {nullptr, "DATA", "files"},
                                    {nullptr, "FILE", "files"},
                                    {nullptr, "WEIGHTS", "files"},
                                    {nullptr, "PATH", "files"},
                                    {nullptr, "DIR", "folders"},
                                    {nullptr, "SHELL", "shells"},
                                    {nullptr, nullptr, "nothing"}};

std::string completed_by(const CLI::App& command, const CLI::Option& option) {
  const auto fits = [&](const Completed& row) {
    return (row.command == nullptr || row.command == command.get_name()) &&
           (row.placeholder == nullptr || row.placeholder == option.get_type_name());
  };
  return std::find_if(std::begin(kCompleted), std::end(kCompleted), fits)->by;
}

bool is_listed(const CLI::App* command) { return !command->get_group().empty(); }
bool takes_value(const CLI::Option* option) { return option->get_expected_max() > 0; }

// "--output -o", or with " | " between as a pattern.
std::string names_of(const CLI::Option* option, const char* between) {
  std::vector<std::string> names;
  for (const std::string& name : option->get_lnames()) names.push_back(format_text("--{}", name));
  for (const std::string& name : option->get_snames()) names.push_back(format_text("-{}", name));
  return join(names, between);
}

// Long names, as they are offered.
std::string offered(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) text += format_text(" --{}", name);
  }
  return text;
}

// Lines of `case $before in` for options that take a value.
std::string value_cases(const CLI::App& command, const std::string& indent) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() || !takes_value(option)) continue;
    text += format_text("{}{}) value={} ;;\n", indent, names_of(option, " | "),
                        completed_by(command, *option));
  }
  return text;
}

std::string command_case(const CLI::App& command) {
  std::string arguments = "nothing";
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    arguments = completed_by(command, *option);
    break;
  }
  std::string text = format_text("    {})\n      options+='{}' argument={}\n", command.get_name(),
                                 offered(command), arguments);
  if (const std::string cases = value_cases(command, "        "); !cases.empty())
    text += format_text("      case $before in\n{}      esac\n", cases);
  return text + "      ;;\n";
}

constexpr auto kLists = R"(# Bash completion of tenon: `tenon completion bash` printed it.

# Prints what a command of tenon lists, with the options that change what is found.
_tenon_list() {
  local -a places=()
  local i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} == --plugin-path ]]; then places+=(--plugin-path "${COMP_WORDS[i + 1]}"); fi
  done
  "${COMP_WORDS[0]}" "${places[@]}" "$@" 2>/dev/null
}

# Completes the word by files, names, or nothing. usage: _tenon_complete KIND WORD
_tenon_complete() {
  local words=''
  case $1 in
    files) compopt -o default; return ;;
    folders) compopt -o dirnames; return ;;
    ops) words=$(_tenon_list ops --names) ;;
    namespaces) words=$(_tenon_list ops --names | sed -n 's/\.[^.]*$//p' | sort -u) ;;
    types) words=$(_tenon_list types | sed '1d;s/ .*//') ;;
    plugins)
      compopt -o default
      words=$(_tenon_list plugins | sed '1d;/^$/q;s/ .*//')
      ;;
    shells) words=bash ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$2")
}
)";

std::string bash_text(const CLI::App& program) {
  std::vector<std::string> commands, skipped;
  std::string cases;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (!is_listed(command)) continue;
    commands.push_back(command->get_name());
    cases += command_case(*command);
  }
  for (const CLI::Option* option : program.get_options()) {
    if (takes_value(option)) skipped.push_back(names_of(option, " | "));
  }
  return format_text(
      "{}\n"
      "_tenon() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command='' "
      "i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case ${{COMP_WORDS[i]}} in\n"
      "      {}) ((++i)) ;;\n"
      "      -*) ;;\n"
      "      *) command=${{COMP_WORDS[i]}}; break ;;\n"
      "    esac\n"
      "  done\n"
      "  COMPREPLY=()\n"
      "  local options='{}' argument=nothing value=''\n"
      "  case $command in\n"
      "{}"
      "  esac\n"
      "  case $before in\n"
      "{}"
      "  esac\n"
      "  if [[ -n $value ]]; then\n"
      "    _tenon_complete \"$value\" \"$word\"\n"
      "  elif [[ $word == -* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
      "  elif [[ -z $command ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$word\")\n"
      "  else\n"
      "    _tenon_complete \"$argument\" \"$word\"\n"
      "  fi\n"
      "}}\n"
      "\n"
      "complete -F _tenon tenon\n",
      kLists, join(skipped, " | "), offered(program), cases, value_cases(program, "    "),
      join(commands, " "));
}

int print_completion(const CompletionOptions& options) {
  if (options.shell != "bash")
    throw UsageError(format_text("no completion of the shell '{}'; expected bash", options.shell));
  print(bash_text(*options.program));
  return kFine;
}

}  // namespace

void define_completion(Commands& commands) {
  auto [command, options] = commands.add(print_completion, "completion",
                                         "Print the completion of commands and options for a shell",
                                         "  tenon completion bash\n"
                                         "  source <(tenon completion bash)\n"
                                         "An installed Tenon has it where bash-completion looks.");
  command.argument(options.shell, "SHELL", "The shell: bash");
  options.program = &commands.program();
}

}  // namespace cli
