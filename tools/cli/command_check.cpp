// tenon check: a plugin tried out in a child process, op by op.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>

#include <tenon/runtime.hpp>

#include "check/child.hpp"
#include "check/collector.hpp"
#include "check/page.hpp"
#include "check/report.hpp"
#include "check/sample.hpp"
#include "check/worker.hpp"
#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "private_folder.hpp"
#include "signal_cleanup.hpp"
#include "text.hpp"

namespace cli {

namespace {

using tenon::Json;

std::vector<std::string> worker_arguments(const CheckOptions& options, int64_t first,
                                          const std::string& folder) {
  std::vector<std::string> list;
  if (options.no_autoload) list.push_back("--no-autoload");
  for (const std::string& path : options.trusted) {
    list.push_back("--trust");
    list.push_back(path);
  }
  for (const std::string& path : options.plugin_paths) {
    list.push_back("--plugin-path");
    list.push_back(path);
  }
  for (const std::string& word :
       {std::string("--threads"), std::string("1"), std::string("check-worker"), options.plugin,
        std::string("--first"), std::to_string(first), std::string("--memory"),
        std::to_string(options.memory), std::string("--seed"), std::to_string(options.seed)}) {
    list.push_back(word);
  }
  if (!folder.empty()) {
    list.push_back("--folder");
    list.push_back(folder);
  }
  if (!options.options.empty()) {
    list.push_back("--check");
    list.push_back(options.options);
  }
  if (!options.item.empty()) {
    list.push_back("--op");
    list.push_back(options.item);
  }
  return list;
}

// A plugin that is built and does nothing: most often the linker has left its definitions out.
void find_empty(const Json& declarations, CheckReport& report) {
  for (const char* kind : {"ops", "modules", "types", "overrides"}) {
    if (declarations[kind].size() > 0) return;
  }
  report.items.front().findings.push_back(
      {"empty", "open", "the plugin provides no op, module, type or override", ""});
}

}  // namespace

int check_plugin(const CheckOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  try {
    Sample sample;
    apply_options(options.options, sample);
  } catch (const tenon::Error& error) {
    throw UsageError(format_text("--check: {}", error.what()));
  }
  const Json declarations = tenon::describe("declarations", options.plugin);
  const std::vector<CheckTarget> targets = check_targets(declarations, options.item);
  CheckReport report;
  report.plugin = declarations["id"].text();
  report.version = declarations["version"].text();
  report.path = declarations["path"].text();
  Collector collector(targets, report, options.timeout, options.json);
  // Modules are saved; samples may name files.
  std::optional<PrivateFolder> folder;
  if (std::any_of(targets.begin(), targets.end(), [](const CheckTarget& target) {
        return target.kind == "module" || name_files(target.declaration["samples"].text());
      }))
    folder.emplace();
  // Held for good by what ends the program: what fails since the folder goes is not reported.
  std::mutex reporting;
  const SignalCleanup cleanup([&] {
    reporting.lock();
    end_children();
    folder.reset();
  });
  const std::string folder_path = folder ? folder->path() : "";
  const auto receive = [&](const std::string& line) {
    const std::lock_guard lock(reporting);
    return collector.receive(line);
  };
  if (options.in_process) {
    WorkerOptions here;
    here.plugin = options.plugin;
    here.item = options.item;
    here.seed = options.seed;
    here.options = options.options;
    here.folder = folder_path;
    check_targets_here(here, receive);
  } else {
    for (bool more = true; more;) {
      const ChildEnd end = run_child(worker_arguments(options, collector.next(), folder_path),
                                     options.timeout, {receive, [&] { collector.intrude(); }});
      more = collector.conclude(end);
    }
  }
  const std::lock_guard lock(reporting);
  collector.finish();
  find_empty(declarations, report);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!options.page.empty()) write_page(options.page, report);
  if (options.json) {
    print_json(report_json(report));
  } else {
    print(item_text(report.items.front(), false));
    print(summary_text(report));
  }
  return report.faulty() ? kFault : kFine;
}

}  // namespace cli
