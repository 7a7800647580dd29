// tenon completion: a shell's completion of this program, from its commands and options.
#include <algorithm>
#include <cctype>
#include <vector>

#include <CLI/CLI.hpp>

#include <tenon/state/model_format.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

struct CompletionOptions {
  std::string shell;
  bool endings = false;
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
                                    {nullptr, "NAME", "names"},
                                    {"modules", "PATTERN", "modules"},
                                    {"types", "PATTERN", "types"},
                                    {"plugins", "PATTERN", "plugins"},
                                    {"rewrites", "PATTERN", "rewrites"},
                                    {nullptr, "PATTERN", "namespaces"},
                                    {nullptr, "OP", "ops"},
                                    {nullptr, "ARG", "files"},
                                    {nullptr, "NAMESPACE", "namespaces"},
                                    {nullptr, "TYPE", "types"},
                                    {nullptr, "PLUGIN", "plugins"},
                                    {nullptr, "PLUGIN,...", "plugins"},
                                    {nullptr, "OLD", "plugins"},
                                    {nullptr, "NEW", "plugins"},
                                    {nullptr, "CONFIG", "configs"},
                                    {nullptr, "DATA", "files"},
                                    {nullptr, "FILE", "files"},
                                    {nullptr, "WEIGHTS", "files"},
                                    {nullptr, "PATH", "files"},
                                    {nullptr, "DIR", "folders"},
                                    {nullptr, "SHELL", "shells"},
                                    {nullptr, "TOPIC", "topics"},
                                    {nullptr, "WHEN", "whens"},
                                    {nullptr, nullptr, "nothing"}};

// Kinds of names, and the commands of the program that list them.
struct Kind {
  const char *name, *lists;
};
constexpr Kind kKinds[] = {{"ops", "ops --names"},           {"modules", "modules --names"},
                           {"types", "types --names"},       {"plugins", "plugins --names"},
                           {"rewrites", "rewrites --names"}, {"topics", "help --names"}};

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

// For bash and zsh, which read it alike: the options and the argument of the command. `first` says
// whether the word is the first behind the command.
std::string command_case(const CLI::App& command) {
  std::vector<std::string> arguments;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) arguments.push_back(completed_by(command, *option));
  }
  std::string text =
      format_text("    {})\n      options+='{}' argument={}\n", command.get_name(),
                  offered(command), arguments.empty() ? "nothing" : arguments.front());
  if (arguments.size() > 1 && arguments[1] != arguments[0])
    text += format_text("      if ((place > 1)); then argument={}; fi\n", arguments[1]);
  if (const std::string cases = value_cases(command, "        "); !cases.empty())
    text += format_text("      case $before in\n{}      esac\n", cases);
  return text + "      ;;\n";
}

constexpr auto kBashLists = R"bash(# Bash completion of tenon: `tenon completion bash` printed it.

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
    configs)
      local endings
      endings=$(_tenon_list completion --endings | tr '\n' '|')
      compopt -o filenames -o plusdirs
      mapfile -t COMPREPLY < <(shopt -s extglob; compgen -f -X "!*.@(${endings%|})" -- "$2")
      return
      ;;
    ops | modules | types | rewrites) words=$(_tenon_list "$1" --names) ;;
    names) words=$(for kind in ops modules types plugins rewrites; do _tenon_list "$kind" --names; done) ;;
    namespaces) words=$(_tenon_list ops --names | sed -n 's/\.[^.]*$//p' | sort -u) ;;
    plugins)
      compopt -o default
      words=$(_tenon_list plugins --names)
      ;;
    topics) words=$(_tenon_list help --names) ;;
    shells) words='bash zsh fish' ;;
    whens) words='auto always never' ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$2")
}
)bash";

constexpr auto kZshLists = R"zsh(#compdef tenon
# Zsh completion of tenon: `tenon completion zsh` printed it.

# Prints what a command of tenon lists, with the options that change what is found.
_tenon_list() {
  local -a places
  local i
  for ((i = 2; i < CURRENT; ++i)); do
    if [[ $words[i] == --plugin-path ]]; then places+=(--plugin-path "$words[i+1]"); fi
  done
  "$words[1]" "${places[@]}" "$@" 2>/dev/null
}

# Completes the word by files, names, or nothing. usage: _tenon_complete KIND
_tenon_complete() {
  local kind
  case $1 in
    files) _files ;;
    folders) _files -/ ;;
    configs) _files -g "*.(${(j:|:)${(f)"$(_tenon_list completion --endings)"}})" ;;
    ops | modules | types | rewrites) compadd -- ${(f)"$(_tenon_list $1 --names)"} ;;
    names) for kind in ops modules types plugins rewrites; do compadd -- ${(f)"$(_tenon_list $kind --names)"}; done ;;
    namespaces) compadd -- ${(f)"$(_tenon_list ops --names | sed -n 's/\.[^.]*$//p' | sort -u)"} ;;
    plugins)
      compadd -- ${(f)"$(_tenon_list plugins --names)"}
      _files
      ;;
    topics) compadd -- ${(f)"$(_tenon_list help --names)"} ;;
    shells) compadd -- bash zsh fish ;;
    whens) compadd -- auto always never ;;
  esac
}
)zsh";

constexpr auto kFishLists = R"(# Fish completion of tenon: `tenon completion fish` printed it.

# Prints what a command of tenon lists, with the options that change what is found.
function __tenon_list
    set -l words (commandline -opc)
    set -l places
    for i in (seq (count $words))
        if test "$words[$i]" = --plugin-path; and test (count $words) -gt $i
            set places $places --plugin-path $words[(math $i + 1)]
        end
    end
    command tenon $places $argv 2>/dev/null
end

# Whether the command is one of these; without any, whether there is a command.
function __tenon_command
    set -l skip no
    for word in (commandline -opc)[2..-1]
        if test $skip = yes
            set skip no
            continue
        end
        switch $word
            case @SKIPPED@
                set skip yes
            case '-*'
            case '*'
                test (count $argv) -eq 0; or contains -- $word $argv
                return
        end
    end
    return 1
end

complete -c tenon -f
)";

struct Parts {
  std::vector<std::string> commands, skipped;
  std::string cases;
};
Parts parts_of(const CLI::App& program) {
  Parts parts;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (!is_listed(command)) continue;
    parts.commands.push_back(command->get_name());
    parts.cases += command_case(*command);
  }
  for (const CLI::Option* option : program.get_options()) {
    if (takes_value(option)) parts.skipped.push_back(names_of(option, " | "));
  }
  return parts;
}

std::string bash_text(const CLI::App& program) {
  const Parts parts = parts_of(program);
  return format_text(
      "{}\n"
      "_tenon() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command='' "
      "i\n"
      "  local place=0\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case ${{COMP_WORDS[i]}} in\n"
      "      {}) ((++i)) ;;\n"
      "      -*) ;;\n"
      "      *) if [[ -z $command ]]; then command=${{COMP_WORDS[i]}}; fi; ((++place)) ;;\n"
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
      kBashLists, join(parts.skipped, " | "), offered(program), parts.cases,
      value_cases(program, "    "), join(parts.commands, " "));
}

// Between quotes of zsh or fish.
std::string in_quotes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return format_text("'{}'", out);
}

std::string zsh_text(const CLI::App& program) {
  const Parts parts = parts_of(program);
  std::string commands;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (is_listed(command))
      commands += format_text("      {}\n", in_quotes(format_text("{}:{}", command->get_name(),
                                                                  command->get_description())));
  }
  return format_text(
      "{}\n"
      "_tenon() {{\n"
      "  local before=$words[CURRENT-1] command='' i place=0\n"
      "  for ((i = 2; i < CURRENT; ++i)); do\n"
      "    case $words[i] in\n"
      "      {}) ((++i)) ;;\n"
      "      -*) ;;\n"
      "      *) if [[ -z $command ]]; then command=$words[i]; fi; ((++place)) ;;\n"
      "    esac\n"
      "  done\n"
      "  local options='{}' argument=nothing value=''\n"
      "  case $command in\n"
      "{}"
      "  esac\n"
      "  case $before in\n"
      "{}"
      "  esac\n"
      "  if [[ -n $value ]]; then\n"
      "    _tenon_complete $value\n"
      "  elif [[ $words[CURRENT] == -* ]]; then\n"
      "    compadd -- ${{=options}}\n"
      "  elif [[ -z $command ]]; then\n"
      "    local -a commands=(\n"
      "{}"
      "    )\n"
      "    _describe command commands\n"
      "  else\n"
      "    _tenon_complete $argument\n"
      "  fi\n"
      "}}\n"
      "\n"
      "if [[ $funcstack[1] == _tenon ]]; then _tenon \"$@\"; else compdef _tenon tenon; fi\n",
      kZshLists, join(parts.skipped, " | "), offered(program), parts.cases,
      value_cases(program, "    "), commands);
}

// Arguments of fish that complete a kind of values.
std::string fish_values(const std::string& kind) {
  if (kind == "files") return " -F";
  if (kind == "configs")
    return " -a '(for ending in (__tenon_list completion --endings); __fish_complete_suffix "
           ".$ending; end)'";
  if (kind == "folders") return " -a '(__fish_complete_directories)'";
  if (kind == "shells") return " -a 'bash zsh fish'";
  if (kind == "whens") return " -a 'auto always never'";
  constexpr auto kNamespaces = "__tenon_list ops --names | string match -r \".*(?=\\.)\" | sort -u";
  if (kind == "namespaces") return format_text(" -a '({})'", kNamespaces);
  std::string lists;
  for (const Kind& one : kKinds) {
    if (one.name == kind || (kind == "names" && std::string_view(one.name) != "topics"))
      lists += format_text("{}__tenon_list {}", lists.empty() ? "" : "; ", one.lists);
  }
  if (lists.empty()) return "";
  return format_text(" -a '({})'{}", lists, kind == "plugins" ? " -F" : "");
}

std::string fish_options(const CLI::App& app, const std::string& condition) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    std::string line = format_text("complete -c tenon{}", condition);
    if (option->get_positional()) {
      const std::string values = fish_values(completed_by(app, *option));
      if (!values.empty()) text += format_text("{}{}\n", line, values);
      continue;
    }
    for (const std::string& name : option->get_lnames()) line += format_text(" -l {}", name);
    for (const std::string& name : option->get_snames()) line += format_text(" -s {}", name);
    if (takes_value(option)) line += format_text(" -r{}", fish_values(completed_by(app, *option)));
    text += format_text("{} -d {}\n", line, in_quotes(option->get_description()));
  }
  return text;
}

std::string fish_text(const CLI::App& program) {
  std::string text = kFishLists, skipped;
  for (const CLI::Option* option : program.get_options()) {
    if (takes_value(option)) skipped += format_text(" {}", names_of(option, " "));
  }
  const std::string mark = " @SKIPPED@";
  text.replace(text.find(mark), mark.size(), skipped);
  text += fish_options(program, "");
  for (const CLI::App* command : program.get_subcommands({})) {
    if (!is_listed(command)) continue;
    text += format_text("complete -c tenon -n 'not __tenon_command' -a {} -d {}\n",
                        command->get_name(), in_quotes(command->get_description()));
    text += fish_options(*command, format_text(" -n '__tenon_command {}'", command->get_name()));
  }
  return text;
}

// Endings of what CONFIG names: configs, prepared models, and models that plugins open.
std::vector<std::string> config_endings() {
  std::vector<std::string> endings = {"json", "jsonc", "tenon"};
  for (const tenon::state::ModelFormat& format : tenon::state::model_formats()) {
    const std::string ending = format.ending.substr(1);
    // Shells read them within patterns.
    const bool plain = std::all_of(ending.begin(), ending.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-';
    });
    if (plain) endings.push_back(ending);
  }
  return endings;
}

int print_completion(const CompletionOptions& options) {
  const CLI::App& program = *options.program;
  if (options.endings) {
    for (const std::string& ending : config_endings()) print(format_text("{}\n", ending));
    return kFine;
  }
  if (options.shell.empty()) throw UsageError("shell is required; see `tenon completion --help`");
  if (options.shell != "bash" && options.shell != "zsh" && options.shell != "fish")
    throw UsageError(format_text("no completion of the shell '{}'{}; expected bash, zsh or fish",
                                 options.shell,
                                 tenon::suggestion(options.shell, {"bash", "zsh", "fish"})));
  print(options.shell == "bash"  ? bash_text(program)
        : options.shell == "zsh" ? zsh_text(program)
                                 : fish_text(program));
  return kFine;
}

}  // namespace

void define_completion(Commands& commands) {
  auto [command, options] = commands.add(print_completion, "completion",
                                         "Print the completion of commands and options for a shell",
                                         "  tenon completion bash\n"
                                         "  source <(tenon completion bash)\n"
                                         "  tenon completion fish | source\n"
                                         "An installed Tenon has them where the shells look.");
  command.optional_argument(options.shell, "SHELL", "The shell: bash, zsh or fish");
  command.flag("--endings", options.endings, "");  // for the completions: of files for CONFIG
  options.program = &commands.program();
}

}  // namespace cli
