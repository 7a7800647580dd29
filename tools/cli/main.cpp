// The program `tenon`: an ordinary application over the SDK.
#include <cstdio>
#include <exception>
#include <filesystem>

#include <tenon/parallel.hpp>
#include <tenon/runtime.hpp>

#include "arguments.hpp"
#include "commands.hpp"
#include "format.hpp"
#include "terminal.hpp"

namespace {

void print_error(const std::string& kind, const std::string& message) {
  const std::string text = cli::format_text(
      "{}: {}{}\n", cli::paint(stderr, cli::Style::bold, "tenon"),
      kind.empty() ? "" : cli::format_text("{}: ", cli::paint(stderr, cli::Style::red, kind)),
      message);
  std::fflush(stdout);
  cli::print(stderr, text);
}

void trust(const std::vector<std::string>& paths) {
  tenon::JsonArray list;
  for (const std::string& path : paths)
    list.add(std::filesystem::absolute(path).lexically_normal().string());
  tenon::apply_policy(tenon::JsonObject().set("trust", list.json()).json());
}

int run(int count, char** arguments) {
  const cli::Invocation invocation = cli::parse_arguments(count, arguments);
  if (!invocation.command) return cli::kFine;
  if (invocation.no_autoload) tenon::apply_policy(tenon::Json::parse(R"({"autoload": false})"));
  if (!invocation.trusted.empty()) trust(invocation.trusted);
  // The first one named is the first one searched.
  for (auto path = invocation.plugin_paths.rbegin(); path != invocation.plugin_paths.rend();
       ++path) {
    tenon::add_plugin_path(std::filesystem::absolute(*path).lexically_normal());
  }
  if (invocation.threads > 0) tenon::set_thread_count(invocation.threads);
  return invocation.command();
}

}  // namespace

int main(int count, char** arguments) {
  int code = cli::kFault;
  try {
    code = run(count, arguments);
  } catch (const cli::UsageError& error) {
    print_error("", error.what());
    code = cli::kUsage;
  } catch (const tenon::Error& error) {
    std::string message = error.what();
    const std::string op = error.op() == nullptr ? "" : error.op();
    if (!op.empty() && message.find(op) == std::string::npos)
      message += cli::format_text("\n  in op {}", op);
    print_error(error.kind_name(), message);
    if (error.kind() == TENON_ERROR_DISTRIBUTED) code = cli::kOutOfStep;
    if (error.kind() == TENON_ERROR_INTERRUPTED) code = cli::kInterrupted;
  } catch (const std::exception& error) {
    print_error("", error.what());
  }
  if (!cli::finish_output()) {
    print_error("IOError", "standard output could not be written");
    return cli::kFault;
  }
  return code;
}
