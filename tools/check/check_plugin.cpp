// A plugin tried out in child processes, op by op.
#include "check_plugin.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "against.hpp"
#include "batch_rules.hpp"
#include "child.hpp"
#include "collector.hpp"
#include "device.hpp"
#include "exit_code.hpp"
#include "format.hpp"
#include "json.hpp"
#include "page.hpp"
#include "private_folder.hpp"
#include "report.hpp"
#include "rewrite_rules.hpp"
#include "sample.hpp"
#include "signal_cleanup.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "worker.hpp"

namespace cli {

namespace {

using tenon::Json;

// The child has another current folder.
std::string absolute_plugin(const std::string& id_or_path) {
  const bool path = id_or_path.find('/') != id_or_path.npos || id_or_path.ends_with(".so");
  return path ? std::filesystem::absolute(id_or_path).string() : id_or_path;
}
// How an entry of a variable is written for a process with another current folder.
using WriteEntry = std::string (*)(const std::string& entry);
void make_absolute(const char* variable, const char* separators, WriteEntry write) {
  const char* const folders = secure_getenv(variable);
  if (folders == nullptr || *folders == '\0') return;
  std::string changed;
  for (std::string_view rest = folders;;) {
    const size_t end = rest.find_first_of(separators);
    changed += write(std::string(rest.substr(0, end)));
    if (end == rest.npos) break;
    changed += rest[end];
    rest.remove_prefix(end + 1);
  }
  if (changed != folders) setenv(variable, changed.c_str(), 1);
}
// An empty entry names no folder.
std::string plugin_folder(const std::string& entry) {
  return entry.empty() ? entry : std::filesystem::absolute(entry).string();
}
// As ld.so(8) has it: an empty entry is the current folder, and $ORIGIN that of the program.
std::string library_folder(const std::string& entry) {
  if (entry.empty()) return std::filesystem::current_path().string();
  return entry[0] == '$' ? entry : std::filesystem::absolute(entry).string();
}

WorkerOptions worker_options(const CheckOptions& options, int64_t first,
                             const std::string& folder) {
  WorkerOptions worker;
  worker.plugin = absolute_plugin(options.plugin);
  worker.item = options.item;
  worker.session = options.session;
  worker.session.threads = 1;
  worker.first = first;
  worker.memory = options.memory;
  worker.seed = options.seed;
  worker.options = options.options;
  worker.samples = options.samples;
  worker.folder = folder;
  for (const std::string& provider : options.against)
    worker.against.push_back(absolute_plugin(provider));
  return worker;
}

// A plugin that is built and does nothing: most often the linker has left its definitions out.
void find_empty(const Json& declarations, CheckReport& report) {
  for (const char* kind : {"ops", "modules", "types", "overrides"}) {
    if (declarations[kind].size() > 0) return;
  }
  if (!declared_rewrites(declarations["path"].text()).empty() ||
      !declared_batch_rules(declarations).empty())
    return;
  report.items.front().findings.push_back(
      {"empty", "open", "the plugin provides no op, module, type, override, rewrite or batch rule",
       ""});
}

// A folder for the files of the check, gone when it ends, by a signal, too.
class CheckedFolder {
 public:
  explicit CheckedFolder(bool needed)
      : cleanup_([this] {
          reporting.lock();
          end_children();
          folder_.reset();
        }) {
    // Only now, so that no signal ends the program between the two.
    const std::lock_guard lock(reporting);
    try {
      folder_.emplace();
    } catch (const tenon::IOError&) {  // then files that are left are not seen
      if (needed) throw;
    }
  }
  std::string path() const {
    return folder_ ? std::filesystem::absolute(folder_->path()).string() : "";
  }

  // Held for good by what ends the program: what fails since the folder goes is not reported.
  std::mutex reporting;

 private:
  std::optional<PrivateFolder> folder_;
  const SignalCleanup cleanup_;  // last: it uses all of the above
};

// Children, one after the other, until each target was looked at.
void run_children(const CheckOptions& options, bool record, CheckedFolder& folder,
                  Collector& collector) {
  const auto receive = [&](const std::string& line) {
    const std::lock_guard lock(folder.reporting);
    return collector.receive(line);
  };
  for (bool more = true; more;) {
    WorkerOptions worker = worker_options(options, collector.next(), folder.path());
    worker.record = record;
    std::vector<std::string> words = words_of(worker);
    words.insert(words.begin(), "worker");
    const ChildEnd end = run_child(words, options.timeout, {receive, [&] { collector.intrude(); }});
    more = collector.conclude(end);
  }
}

void check_items(const CheckOptions& options, const std::vector<CheckTarget>& targets,
                 CheckedFolder& folder, CheckReport& report) {
  Collector collector(targets, report, options.timeout, options.json);
  if (options.in_process) {
    WorkerOptions here;
    here.plugin = options.plugin;
    here.item = options.item;
    here.seed = options.seed;
    here.options = options.options;
    here.folder = folder.path();
    check_targets_here(here, [&](const std::string& line) {
      const std::lock_guard lock(folder.reporting);
      collector.receive(line);
    });
  } else {
    run_children(options, false, folder, collector);
  }
  const std::lock_guard lock(folder.reporting);
  collector.finish();
}

// Findings of the process that recorded the plugin's calls belong to these items as well.
void merge(const CheckReport& recorded, CheckReport& report) {
  for (const CheckedItem& from : recorded.items) {
    const auto same = std::find_if(
        report.items.begin(), report.items.end(),
        [&](const CheckedItem& item) { return item.name == from.name && item.kind == from.kind; });
    // The second process may have ended before.
    if (same == report.items.end()) {
      report.items.push_back(from);
    } else {
      CheckedItem& to = *same;
      to.findings.insert(to.findings.begin(), from.findings.begin(), from.findings.end());
      to.notes.insert(to.notes.begin(), from.notes.begin(), from.notes.end());
      if (!from.skipped.empty()) to.skipped = from.skipped;
    }
  }
}

// The plugin's calls first, then those of the other providers.
void compare_items(const CheckOptions& options, const std::vector<CheckTarget>& targets,
                   CheckedFolder& folder, CheckReport& report) {
  CheckReport recorded = report;
  Collector first(targets, recorded, options.timeout, true);
  run_children(options, true, folder, first);
  first.finish();
  Collector second(targets, report, options.timeout, true);
  run_children(options, false, folder, second);
  const std::lock_guard lock(folder.reporting);
  second.finish();
  merge(recorded, report);
  if (options.json) return;
  for (size_t i = 1; i < report.items.size(); ++i) print_fitted(item_text(report.items[i], true));
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
  const bool compares = !options.against.empty();
  if (compares && options.in_process)
    throw UsageError("--against: two providers need a process each; omit --in-process");
  const Json declarations = tenon::listing::declarations(options.plugin);
  std::vector<CheckTarget> targets;
  const bool on_device = compares && !device_of(declarations).empty();
  if (on_device) {
    targets = device_targets(options.against, options.item);
  } else if (compares) {
    for (SharedOp& op : shared_ops(declarations, options.item, options.against))
      targets.push_back(std::move(op.target));
  } else {
    targets = check_targets(declarations, options.item);
  }
  CheckReport report;
  report.plugin = declarations["id"].text();
  report.version = declarations["version"].text();
  report.path = declarations["path"].text();
  make_absolute("TENON_PLUGIN_PATH", ":", plugin_folder);
  make_absolute("LD_LIBRARY_PATH", ":;", library_folder);
  // Modules and objects are saved, samples may name files, and recorded calls are kept.
  CheckedFolder folder(compares ||
                       std::any_of(targets.begin(), targets.end(), [](const CheckTarget& target) {
                         return target.kind == "module" || target.kind == "type" ||
                                name_files(target.declaration["samples"].text());
                       }));
  (compares && !on_device ? compare_items : check_items)(options, targets, folder, report);
  const std::lock_guard lock(folder.reporting);
  find_empty(declarations, report);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!options.page.empty()) write_page(options.page, report);
  if (options.json) {
    print_json(report_json(report));
  } else {
    const CheckedItem& plugin = report.items.front();
    print_fitted(item_text(plugin, !plugin.notes.empty()));
    print_fitted(summary_text(report));
  }
  return report.faulty() ? kFault : kFine;
}

}  // namespace cli
