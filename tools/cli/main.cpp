// The program `tenon`: an ordinary application over the SDK. Its arguments choose a command, which
// the file command_NAME.cpp defines and does.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include <tenon/abi/version.h>
#include <tenon/record/failure.hpp>
#include <tenon/text.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "format.hpp"
#include "help.hpp"
#include "program.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

// In the order of help, under its headings.
struct CommandGroup {
  const char* name;
  std::vector<void (*)(Commands&)> definitions;
};
std::vector<CommandGroup> command_groups() {
  return {{"Look around",
           {define_ops, define_modules, define_types, define_plugins, define_rewrites, define_show,
            define_signature, define_catalogue}},
          {"Call, and ask why",
           {define_call, define_why, define_diff, define_replay, define_coverage,
            define_overridable, define_ignored, define_ambiguities}},
          {"Models and training",
           {define_run, define_plan, define_graph, define_predict, define_bench, define_tune,
            define_lock, define_export, define_convert, define_schema, define_docs}},
          {"Write plugins", {define_new, define_check, define_compat, define_wrappers}},
          {"About the program", {define_help, define_version, define_completion}},
          {"", {define_open_plugin}}};
}

constexpr auto kExitCodes =
    "Exit codes: 0 fine, 1 a fault was found, 2 wrong usage, 130 interrupted.";

std::string version_text() {
  return format_text("tenon {}.{}.{}", TENON_VERSION_MAJOR, TENON_VERSION_MINOR,
                     TENON_VERSION_PATCH);
}

std::string check_folder(const std::string& path) {
  if (path.empty()) return "it is empty";
  return std::filesystem::is_directory(path) ? ""
                                             : format_text("'{}' is not an existing folder", path);
}

void set_colour_word(const std::string& word) {
  if (word != "auto" && word != "always" && word != "never")
    throw UsageError(format_text("--color: found '{}'{}, expected auto, always or never", word,
                                 tenon::suggestion(word, {"auto", "always", "never"})));
  set_colour(word == "always"  ? Colour::always
             : word == "never" ? Colour::never
                               : Colour::automatic);
}

void define_session(CLI::App& program, SessionOptions& session) {
  program.set_version_flag("--version", version_text(), "Print the version");
  program.set_help_flag("-h,--help", "Print help");
  program
      .add_option("--plugin-path", session.plugin_paths,
                  "Folder of plugins, searched before all others; may be repeated")
      ->type_name("DIR")
      ->take_all()
      ->allow_extra_args(false)
      ->check(check_folder)
      ->transform(unmarked_word);
  program
      .add_option("--trust", session.trusted,
                  "A plugin file, or a folder of them, that is used although other users can "
                  "change it; may be repeated")
      ->type_name("PATH")
      ->take_all()
      ->allow_extra_args(false)
      ->transform(unmarked_word);
  program
      .add_option_function<std::string>("--color", set_colour_word,
                                        "Colour: auto, which is on terminals, always or never")
      ->type_name("WHEN")
      ->transform(unmarked_word);
  program.add_flag_callback("--no-pager", disable_pager, "Print to the terminal without a pager");
  Command options(&program);
  options.flag("--no-autoload", session.no_autoload,
               "Of plugins in folders use only those that are named, by a config or a command");
  options.number("--threads", session.threads, 1, 1024, "N", "Threads to compute with");
}

// The first argument that is neither an option nor an option's value.
std::string command_word(const CLI::App& program, const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with("-")) return arguments[i];
    const CLI::Option* const option = program.get_option_no_throw(arguments[i]);
    if (option != nullptr && option->get_expected_max() > 0) ++i;
  }
  return "";
}

void require_known(CLI::App& program, const std::string& word) {
  std::vector<std::string> commands;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (command->get_name() == word) return;
    if (!command->get_group().empty()) commands.push_back(command->get_name());
  }
  throw UsageError(format_text("unknown command '{}'{}; `tenon --help` lists the commands", word,
                               suggested(word, commands)));
}

// Describes a word that neither the command nor the program takes; `options`: others that fit there.
std::string surplus_text(CLI::App& program, const std::string& given,
                         std::vector<std::string> options = {}) {
  const std::string word = unmarked_word(given);
  if (!word.starts_with("-")) return format_text("unexpected argument '{}'", word);
  std::vector<CLI::App*> takers = program.get_subcommands();
  takers.push_back(&program);
  for (CLI::App* taker : takers) {
    for (const CLI::Option* option : taker->get_options()) {
      for (const std::string& name : option->get_lnames())
        options.push_back(format_text("--{}", name));
    }
  }
  return format_text("unknown option '{}'{}", word, suggested(word, options));
}

// "--threads needs a value" for CLI11's "--threads: 1 required N missing", and the like for a flag with one.
std::string mismatch_text(const std::string& fault) {
  if (fault.ends_with(" missing"))
    return format_text("{} needs a value", fault.substr(0, fault.find(':')));
  const size_t flag = fault.find(" was given a disallowed flag override");
  return flag == fault.npos ? fault : format_text("--{} takes no value", fault.substr(0, flag));
}

bool is_misread(std::string_view word) {
  if (word.starts_with('[') && word.ends_with(']')) return true;
  if (!word.starts_with('-') || word.size() < 2) return false;
  double number = 0;
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
  return fault == std::errc() && end == word.data() + word.size();
}

bool is_command(const CLI::App& program, const std::string& word) {
  const std::vector<const CLI::App*> commands = program.get_subcommands({});
  return std::any_of(commands.begin(), commands.end(),
                     [&](const CLI::App* command) { return command->get_name() == word; });
}

// Outcome of parsing: the command that was chosen, or that help, the version or nothing was asked for.
enum class Parsed { command, help, version, nothing };

Parsed parse(CLI::App& program, const std::string& word, int count, const char* const* arguments) {
  if (!word.empty()) require_known(program, word);
  const std::string help = word.empty() ? "tenon --help" : format_text("tenon {} --help", word);
  try {
    std::vector<std::string> words;
    bool behind = false;  // behind the command
    for (int i = 1; i < count; ++i) {
      const std::string one = arguments[i];
      const bool mark = is_misread(one) || (behind && is_command(program, one));
      words.push_back(mark ? marked_word(one) : one);
      behind = behind || one == word;
    }
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    program.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    return Parsed::help;
  } catch (const CLI::CallForVersion&) {
    for (const std::string& surplus : program.remaining(true)) {
      if (word.empty() && surplus != "--json")
        throw UsageError(
            format_text("{}; see `{}`", surplus_text(program, surplus, {"--json"}), help));
    }
    return Parsed::version;
  } catch (const CLI::ExtrasError&) {
    throw UsageError(
        format_text("{}; see `{}`", surplus_text(program, program.remaining(true).front()), help));
  } catch (const CLI::ArgumentMismatch& error) {
    throw UsageError(format_text("{}; see `{}`", mismatch_text(error.what()), help));
  } catch (const CLI::ParseError& error) {
    std::string fault = error.what();
    fault.erase(std::remove(fault.begin(), fault.end(), kWordMark), fault.end());
    throw UsageError(format_text("{}; see `{}`", fault, help));
  }
  return program.get_subcommands().empty() ? Parsed::nothing : Parsed::command;
}

// Keeps failing calls where the environment asks for it, and names their files at the end.
class KeptFailures {
 public:
  KeptFailures() {
    const char* const folder = secure_getenv("TENON_KEEP_FAILURES");
    if (folder != nullptr && *folder != 0) keeper_.emplace(folder);
  }
  ~KeptFailures() {
    if (!keeper_) return;
    for (const std::string& file : keeper_->files())
      print(stderr, format_text("tenon: a failing call is kept in {}\n", file));
  }
  KeptFailures(const KeptFailures&) = delete;
  KeptFailures& operator=(const KeptFailures&) = delete;

 private:
  std::optional<tenon::record::FailureKeeper> keeper_;
};

void print_help(CLI::App& program) {
  const std::vector<CLI::App*> chosen = program.get_subcommands();
  page_output();
  print(chosen.empty() ? program.help() : chosen.front()->help());
}

int run(int count, const char* const* arguments) {
  CLI::App program("The tensor runtime whose ops, Functions and modules come from plugins.",
                   "tenon");
  program.fallthrough();
  program.formatter(std::make_shared<HelpFormatter>());
  SessionOptions session;
  define_session(program, session);
  const std::string word = command_word(program, {arguments + 1, arguments + count});
  Commands commands(program, word, word == "completion" || word == "help");
  // Without a command only help reads their definitions, which are most of a start.
  const bool all = std::any_of(arguments + 1, arguments + count, [](std::string_view argument) {
    return argument == "-h" || argument == "--help";
  });
  if (all || !word.empty()) {
    for (const CommandGroup& group : command_groups()) {
      commands.begin_group(group.name);
      for (const auto define : group.definitions) define(commands);
    }
  }
  program.footer(
      format_text("`tenon COMMAND --help` prints more, with examples. The options above apply to "
                  "every command.\n{}",
                  kExitCodes));
  switch (parse(program, word, count, arguments)) {
    case Parsed::help:
      print_help(program);
      return kFine;
    case Parsed::version:
      if (std::find(arguments + 1, arguments + count, std::string_view("--json")) !=
          arguments + count) {
        print_inside();
        return kFine;
      }
      print(format_text("{}\n", version_text()));
      return kFine;
    case Parsed::nothing:  // as git does
      print(first_steps());
      return kFault;
    case Parsed::command:
      break;
  }
  apply_session(session);
  // The call of a file that is replayed is kept already.
  std::optional<KeptFailures> kept;
  if (word != "replay") kept.emplace();
  return commands.chosen()(session);
}

}  // namespace

}  // namespace cli

int main(int count, char** arguments) {
  return cli::run_program([=] { return cli::run(count, arguments); });
}
