// How a program begins and ends.
#include "program.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>

#include <tenon/parallel.hpp>
#include <tenon/runtime.hpp>
#include <tenon/trust/guard.hpp>

#include "exit_code.hpp"
#include "format.hpp"
#include "shape_drawing.hpp"
#include "terminal.hpp"

namespace cli {

namespace {

constexpr int64_t kDrawingColumns = 80;

void print_error(const std::string& kind, const std::string& message) {
  const std::string text = format_text(
      "{}: {}{}\n", paint(stderr, Style::bold, "tenon"),
      kind.empty() ? "" : format_text("{}: ", paint(stderr, Style::red, kind)), message);
  std::fflush(stdout);
  print(stderr, text);
  print(stderr, drawn_shapes_of(message, kDrawingColumns));
}

void trust(const std::vector<std::string>& paths) {
  tenon::JsonArray list;
  for (const std::string& path : paths)
    list.add(std::filesystem::absolute(path).lexically_normal().string());
  tenon::apply_policy(tenon::JsonObject().set("trust", list.json()).json());
}

}  // namespace

void apply_session(const SessionOptions& options) {
  tenon::trust::install();
  if (options.no_autoload) tenon::apply_policy(tenon::Json::parse(R"({"autoload": false})"));
  if (!options.trusted.empty()) trust(options.trusted);
  // The folder that is added last is searched first.
  for (auto path = options.plugin_paths.rbegin(); path != options.plugin_paths.rend(); ++path)
    tenon::add_plugin_path(std::filesystem::absolute(*path).lexically_normal());
  if (options.threads > 0) tenon::set_thread_count(options.threads);
}

int run_program(const std::function<int()>& body) {
  int code = kFault;
  try {
    code = body();
  } catch (const UsageError& error) {
    print_error("", error.what());
    code = kUsage;
  } catch (const tenon::Error& error) {
    std::string message = error.what();
    const std::string op = error.op() == nullptr ? "" : error.op();
    if (!op.empty() && message.find(op) == std::string::npos)
      message += format_text("\n  in op {}", op);
    print_error(error.kind_name(), message);
    if (error.kind() == TENON_ERROR_DISTRIBUTED) code = kOutOfStep;
    if (error.kind() == TENON_ERROR_INTERRUPTED) code = kInterrupted;
  } catch (const std::exception& error) {
    print_error("", error.what());
  }
  if (!finish_output()) {
    print_error("IOError", "standard output could not be written");
    return kFault;
  }
  return code;
}

}  // namespace cli
