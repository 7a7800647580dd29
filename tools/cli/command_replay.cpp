// tenon replay: makes a call again that has failed and was kept.
#include <filesystem>
#include <unistd.h>

#include <tenon/print.hpp>
#include <tenon/record/failure.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace record = tenon::record;

namespace {

struct ReplayOptions {
  std::string file, under;
  bool json = false;
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// Becomes the program, which starts this one with the same arguments but for --under. A debugger that takes
// the arguments of what it runs by an option, as gdb does, gets the option.
[[noreturn]] void continue_under(const ReplayOptions& options, const SessionOptions& session) {
  std::vector<std::string> words = words_of(options.under);
  if (words.empty()) throw UsageError("--under needs the name of a program, such as gdb");
  const std::string name = std::filesystem::path(words.front()).filename().string();
  if (words.size() == 1 && name.ends_with("gdb")) words.emplace_back("--args");
  if (words.size() == 1 && name.ends_with("lldb")) words.emplace_back("--");
  words.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  for (const std::string& path : session.plugin_paths) {
    words.emplace_back("--plugin-path");
    words.push_back(path);
  }
  for (const std::string& path : session.trusted) {
    words.emplace_back("--trust");
    words.push_back(path);
  }
  if (session.no_autoload) words.emplace_back("--no-autoload");
  if (session.threads > 0) {
    words.emplace_back("--threads");
    words.push_back(std::to_string(session.threads));
  }
  words.emplace_back("replay");
  words.push_back(options.file);
  if (options.json) words.emplace_back("--json");
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  finish_output();
  execvp(arguments.front(), arguments.data());
  throw tenon::IOError(
      format_text("cannot start '{}', which is to run the call: is it installed?", words.front()));
}

std::string changed_text(const std::vector<record::ChangedPlugin>& changed) {
  std::string text;
  for (const record::ChangedPlugin& plugin : changed)
    text += format_text("  plugin {} was {}, is {}\n", plugin.id, plugin.before,
                        plugin.now.empty() ? "not found" : plugin.now);
  return text;
}

int replay_call(const ReplayOptions& options, const SessionOptions& session) {
  const record::KeptCall kept = record::load_failure(options.file);
  if (!options.under.empty()) continue_under(options, session);
  const std::vector<record::ChangedPlugin> changed = kept.changed_plugins();
  if (!options.json) {
    std::string text = format_text("{}\n  failed     {}\n", kept.text(), kept.error());
    const std::string provider = kept.document()["provider"].text();
    if (!provider.empty()) text += format_text("  provider   {}\n", provider);
    text += format_text("  version    {}\n", kept.document()["version"].text());
    text += changed.empty() ? "  plugins    the same files as then\n" : changed_text(changed);
    for (const std::string& gap : kept.gaps()) text += format_text("  not kept   {}\n", gap);
    print_fitted(text + "\n");
  }
  std::string error, results;
  try {
    for (const tenon::Value& value : kept.call()) results += tenon::text_of(value) + "\n";
  } catch (const tenon::Error& fault) {
    error = format_text("{}: {}", fault.kind_name(), fault.what());
  }
  const bool same = error == kept.error();
  if (options.json) {
    tenon::JsonArray list;
    for (const record::ChangedPlugin& plugin : changed)
      list.add(tenon::JsonObject()
                   .set("id", plugin.id)
                   .set("before", plugin.before)
                   .set("now", text_or_null(plugin.now))
                   .json());
    print_json(tenon::JsonObject()
                   .set("call", kept.text())
                   .set("op", kept.op())
                   .set("provider", kept.document()["provider"].text())
                   .set("failed", kept.error())
                   .set("fails", text_or_null(error))
                   .set("same_error", same)
                   .set("changed_plugins", list.json())
                   .set("gaps", text_array(kept.gaps()))
                   .json());
  } else if (error.empty()) {
    print(format_text("The call succeeds now:\n{}", results));
  } else {
    print_fitted(same ? "The call fails with the same error.\n"
                      : format_text("The call fails with another error:\n  {}\n", error));
  }
  return error.empty() ? kFine : kFault;
}

}  // namespace

void define_replay(Commands& commands) {
  auto [command, options] = commands.add(
      replay_call, "replay", "Make a failing call again, from the file that it was kept in",
      "  tenon replay failures/failure-mm-20260102T030405-678-1.safetensors\n"
      "  tenon replay failures/failure-mm-20260102T030405-678-1.safetensors --under gdb\n"
      "  TENON_KEEP_FAILURES=failures tenon run digits.json\n"
      "With TENON_KEEP_FAILURES=FOLDER in the environment each call of an op that fails is kept in "
      "a file of the folder: op, arguments with their strides, error, versions and hashes of "
      "plugins; at most 20 files. Replay says which plugins are other files now. Exits with "
      "status 1 where the call fails again.");
  command.argument(options.file, "FILE", "The file of the call");
  command.option("--under", options.under, "PROGRAM",
                 "Run the call under this program, such as gdb, or 'valgrind -q'");
  command.json(options.json);
}

}  // namespace cli
