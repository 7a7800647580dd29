// The program `tenon`: an ordinary application over the SDK. Its arguments choose a command, which
// the file command_NAME.cpp defines and does.
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

#include <tenon/abi/version.h>
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

// In the order of help.
constexpr void (*kDefinitions[])(Commands&) = {
    define_run,      define_plan,     define_tune,        define_bench,       define_predict,
    define_export,   define_convert,  define_schema,      define_docs,        define_check,
    define_plugins,  define_ops,      define_modules,     define_overridable, define_ignored,
    define_types,    define_rewrites, define_signature,   define_show,        define_version,
    define_coverage, define_why,      define_ambiguities, define_lock,        define_compat,
    define_new,      define_wrappers, define_completion,  define_open_plugin};

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

void define_session(CLI::App& program, SessionOptions& session) {
  program.set_version_flag("--version", version_text(), "Print the version");
  program.set_help_flag("-h,--help", "Print help");
  program
      .add_option("--plugin-path", session.plugin_paths,
                  "Folder of plugins, searched before all others; may be repeated")
      ->type_name("DIR")
      ->take_all()
      ->allow_extra_args(false)
      ->check(check_folder);
  program
      .add_option("--trust", session.trusted,
                  "A plugin file, or a folder of them, that is used although other users can "
                  "change it; may be repeated")
      ->type_name("PATH")
      ->take_all()
      ->allow_extra_args(false);
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
  throw UsageError(format_text("unknown command '{}'{}; expected one of {}", word,
                               tenon::suggestion(word, commands), join(commands, ", ")));
}

// Describes the first word that neither the command nor the program takes.
std::string surplus_text(CLI::App& program) {
  const std::string word = program.remaining(true).front();
  if (!word.starts_with("-")) return format_text("unexpected argument '{}'", word);
  std::vector<std::string> options;
  std::vector<CLI::App*> takers = program.get_subcommands();
  takers.push_back(&program);
  for (CLI::App* taker : takers) {
    for (const CLI::Option* option : taker->get_options()) {
      for (const std::string& name : option->get_lnames())
        options.push_back(format_text("--{}", name));
    }
  }
  return format_text("unknown option '{}'{}", word, tenon::suggestion(word, options));
}

// False: help or the version was asked for, and is printed.
bool parse(CLI::App& program, const std::string& word, int count, const char* const* arguments) {
  if (!word.empty()) require_known(program, word);
  const std::string help = word.empty() ? "tenon --help" : format_text("tenon {} --help", word);
  try {
    program.parse(count, arguments);
  } catch (const CLI::CallForHelp&) {
    const std::vector<CLI::App*> chosen = program.get_subcommands();
    print(chosen.empty() ? program.help() : chosen.front()->help());
    return false;
  } catch (const CLI::CallForVersion&) {
    print(format_text("{}\n", version_text()));
    return false;
  } catch (const CLI::ExtrasError&) {
    throw UsageError(format_text("{}; see `{}`", surplus_text(program), help));
  } catch (const CLI::ParseError& error) {
    throw UsageError(format_text("{}; see `{}`", error.what(), help));
  }
  if (program.get_subcommands().empty())
    throw UsageError(format_text("no command was given; see `{}`", help));
  return true;
}

int run(int count, const char* const* arguments) {
  CLI::App program("The tensor runtime whose ops, Functions and modules come from plugins.",
                   "tenon");
  program.fallthrough();
  program.formatter(std::make_shared<HelpFormatter>());
  SessionOptions session;
  define_session(program, session);
  const std::string word = command_word(program, {arguments + 1, arguments + count});
  Commands commands(program, word, word == "completion");
  for (const auto define : kDefinitions) define(commands);
  program.footer(
      format_text("`tenon COMMAND --help` prints more, with examples. The options above apply to "
                  "every command.\n{}",
                  kExitCodes));
  if (!parse(program, word, count, arguments)) return kFine;
  apply_session(session);
  return commands.chosen()(session);
}

}  // namespace

}  // namespace cli

int main(int count, char** arguments) {
  return cli::run_program([=] { return cli::run(count, arguments); });
}
