// How a command file defines its command: name, examples, arguments and options, and the function
// that does it.
//
//   struct LockOptions { std::string config, output; };
//   int lock_config(const LockOptions& options);
//
//   void define_lock(Commands& commands) {
//     auto [command, options] =
//         commands.add(lock_config, "lock", "Pin the plugins ...", "  tenon lock ...");
//     command.argument(options.config, "CONFIG", "The config file");
//     command.option("-o,--output", options.output, "FILE", "The lock file");
//   }
//
// Help, messages and completion follow from these calls, as does sdk/docs/reference/commands.md.
// CLI11 parses; only command.cpp, main.cpp, help.hpp and command_completion.cpp see it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): a library's
class App;
class Option;
}  // namespace CLI

namespace cli {

// Seeds are numbers of JSON, which are exact up to here.
inline constexpr int64_t kLargestSeed = int64_t{1} << 53;

// CLI11 takes some values for what they are not: "-1.5" and "-inf" for options, "[1,2]" for two words, "new"
// behind a command for another one. Such words are parsed with a mark, which each argument and option removes.
inline constexpr char kWordMark = '\x01';
std::string marked_word(std::string_view word);
std::string unmarked_word(const std::string& word);

// The arguments and options of one command. A placeholder is the name of a value in help, and
// decides by what shells complete it: command_completion.cpp. What has no meaning is not listed.
class Command {
 public:
  // Null: of a command that the arguments do not name, whose options no caller will see.
  explicit Command(CLI::App* app) : app_(app) {}

  // Values by their places; in messages they have their placeholder in small letters.
  void argument(std::string& value, const char* placeholder, const char* meaning);
  void optional_argument(std::string& value, const char* placeholder, const char* meaning);
  // One or more, the only ones that may be empty texts.
  void arguments(std::vector<std::string>& values, const char* placeholder, const char* meaning);
  void optional_arguments(std::vector<std::string>& values, const char* placeholder,
                          const char* meaning);

  // `names` is "--output", or with a letter "-o,--output"; "!--no-shapes" sets false.
  void flag(const char* names, bool& value, const char* meaning);
  void option(const char* names, std::string& value, const char* placeholder, const char* meaning);
  void required_option(const char* names, std::string& value, const char* placeholder,
                       const char* meaning);
  void existing_file(const char* names, std::string& value, const char* placeholder,
                     const char* meaning);
  // Separated by commas.
  void list(const char* names, std::vector<std::string>& values, const char* placeholder,
            const char* meaning);
  // From `low` to `high`: int, int64_t, uint64_t, an optional one of the latter two, or double.
  template <class Number>
  void number(const char* names, Number& value, double low, double high, const char* placeholder,
              const char* meaning);
  // Wrong usage, when both are given.
  void exclude(const char* one, const char* other);

  // Options that several commands have.
  void json(bool& json) { flag("--json", json, "Print JSON"); }
  void frozen(bool& frozen) {
    flag("--frozen", frozen,
         "Refuse what differs from the lock file beside the config: see tenon lock");
  }
  void inputs(std::vector<std::string>& inputs) {
    list(
        "--input", inputs, "NAME=VALUE",
        "An input of a model's file, where the file leaves sizes open: NAME=1x3x320x320, NAME=FILE "
        "(.npy, .npz, .safetensors), or NAME=16000 for one without dimensions");
  }
  void profile(bool& profile) {
    flag("--profile", profile, "Print where the time goes: by op, plugin and module");
  }
  void profile_trace(std::string& trace) {
    option("--profile-trace", trace, "FILE",
           "Write each call, with its time, to this file, which chrome://tracing and "
           "ui.perfetto.dev show");
  }
  void trace(std::string& trace) {
    option("--trace", trace, "FILE",
           "Write what each call returns, as checksums and some elements, to this file, which "
           "tenon diff compares");
  }
  void with_config(std::string& config) {
    existing_file("--config", config, "CONFIG",
                  "With the plugins, preferences and types of this config");
  }

 private:
  CLI::App* app_;
};

// The commands of the program.
class Commands {
 public:
  // `word` names the one that gets its options: to define those of all would be a quarter of a start.
  // `with_all`: all get them.
  Commands(CLI::App& program, std::string word, bool with_all)
      : program_(&program), word_(std::move(word)), with_all_(with_all) {}

  template <class Options>
  struct Added {
    Command command;
    Options& options;
  };
  // A command without a summary is not listed. The options live as long as the commands.
  template <class Options>
  Added<Options> add(int (*function)(const Options&, const SessionOptions&), const char* name,
                     const char* summary, const char* examples) {
    const auto options = std::make_shared<Options>();
    return {add_command(name, summary, examples,
                        [=](const SessionOptions& session) { return function(*options, session); }),
            *options};
  }
  template <class Options>
  Added<Options> add(int (*function)(const Options&), const char* name, const char* summary,
                     const char* examples) {
    const auto options = std::make_shared<Options>();
    return {add_command(name, summary, examples,
                        [=](const SessionOptions&) { return function(*options); }),
            *options};
  }

  // Commands that are added from here on are under this heading in help.
  void begin_group(const char* name) { group_ = name; }
  CLI::App& program() const { return *program_; }
  // The command that the arguments chose; empty: none.
  using Function = std::function<int(const SessionOptions&)>;
  const Function& chosen() const { return chosen_; }

 private:
  Command add_command(const char* name, const char* summary, const char* examples,
                      Function function);

  CLI::App* program_;
  std::string word_, group_;
  bool with_all_;
  Function chosen_;
};

}  // namespace cli
