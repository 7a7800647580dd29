// tenon check: a plugin tried out in a child process, op by op.
#include <algorithm>
#include <chrono>
#include <optional>
#include <unistd.h>

#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "check_child.hpp"
#include "check_report.hpp"
#include "check_sample.hpp"
#include "check_worker.hpp"
#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "private_folder.hpp"
#include "signal_cleanup.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

using tenon::Json;

class Progress {
 public:
  Progress(size_t count, bool json) : count_(count), live_(!json && is_terminal(stderr)) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void at(size_t index, const std::string& name) {
    if (!live_) return;
    const std::string line = format_text("checking {}/{}  {}", index + 1, count_, name);
    const int width = terminal_width(stderr);
    std::fputs("\r\033[K", stderr);
    print(stderr, leading(line, width > 1 ? width - 1 : 79));
    std::fflush(stderr);
    drawn_ = true;
  }
  void clear() {
    if (!drawn_) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    drawn_ = false;
  }

 private:
  size_t count_;
  bool live_;
  bool drawn_ = false;
};

// Collects the answers of one child after the other into the report.
class Collector {
 public:
  Collector(const CheckOptions& options, const std::vector<CheckTarget>& targets,
            CheckReport& report)
      : options_(options),
        targets_(targets),
        report_(report),
        progress_(targets.size(), options.json) {
    report_.items.push_back({report_.plugin, "plugin", {}, {}, {}, "", 0});
  }

  // True when a new item begins.
  bool receive(const std::string& line) {
    Json answer;
    try {
      answer = Json::parse(line);
    } catch (const tenon::Error&) {
      protocol("a line that is not JSON");
      return false;
    }
    const std::string at = answer["at"].text();
    if (at == "begin" && answer["item"].integer(-1) == next_ && !running_) {
      const CheckTarget& target = targets_[static_cast<size_t>(next_)];
      report_.items.push_back({target.name, target.kind, {}, {}, {}, "", 0});
      stage_ = "begin";
      running_ = true;
      progress_.at(static_cast<size_t>(next_), target.name);
      return true;
    }
    CheckedItem& item = current();
    if (at == "done" && running_ && answer["item"].integer(-1) == next_) {
      finish_item();
    } else if (at == "stage") {
      stage_ = tenon::printable(answer["name"].text());
      if (running_ &&
          std::find(item.stages.begin(), item.stages.end(), stage_) == item.stages.end())
        item.stages.push_back(stage_);
      sample_.clear();
    } else if (at == "trying") {
      sample_ = answer["sample"].is_object() ? answer["sample"].dump() : "";
    } else if (at == "finding") {
      add(answer);
    } else if (at == "note") {
      const std::string text = tenon::printable(answer["text"].text());
      if (std::find(item.notes.begin(), item.notes.end(), text) == item.notes.end())
        item.notes.push_back(text);
    } else if (at == "skip") {
      item.skipped = tenon::printable(answer["reason"].text());
    } else if (at == "samples") {
      item.samples = answer["count"].integer();
    } else if (at == "end") {
      ended_ = true;
    } else {
      protocol("an answer out of turn");
    }
    return false;
  }

  // What the end of a child means; true when another one must continue after the item.
  bool conclude(const ChildEnd& end) {
    const std::string output =
        end.output.empty() ? ""
                           : format_text("\nit had printed:\n{}", tenon::printable(end.output));
    std::string kind, message;
    if (end.timed_out) {
      kind = "timeout";
      message = format_text("no end after {} s", short_number(options_.timeout));
    } else if (end.signal != 0) {
      kind = "crash";
      message = format_text("the process was ended by {}", signal_text(end.signal));
    } else if (!ended_) {
      kind = "exit";
      message = format_text("the process exited with code {}", end.code);
    } else {
      return false;
    }
    // After the end there is only unloading left.
    if (ended_) stage_ = "shutdown";
    CheckedItem& item = running_ ? current() : report_.items.front();
    item.findings.push_back({kind, stage_, message + output, normal_json(sample_)});
    const bool more = running_ && next_ + 1 < static_cast<int64_t>(targets_.size());
    if (running_) finish_item();
    stage_ = "open";
    sample_.clear();
    return more;
  }
  int64_t next() const { return next_; }
  void finish() { progress_.clear(); }

 private:
  CheckedItem& current() { return running_ ? report_.items.back() : report_.items.front(); }
  void add(const Json& answer) {
    const std::string kind = answer["kind"].text();
    if (remedy_of(kind).empty()) return protocol("a finding of an unknown kind");
    current().findings.push_back({kind, tenon::printable(answer["stage"].text()),
                                  tenon::printable(answer["message"].text()),
                                  normal_json(answer["sample"].text())});
  }
  static std::string normal_json(const std::string& text) {
    try {
      return text.empty() ? "" : Json::parse(text).dump();
    } catch (const tenon::Error&) {
      return "";
    }
  }
  void protocol(const std::string& what) {
    CheckedItem& item = current();
    for (const Finding& finding : item.findings) {
      if (finding.kind == "protocol") return;
    }
    item.findings.push_back(
        {"protocol", stage_,
         format_text("the child process sent {}: the plugin writes where it should not", what),
         ""});
  }
  void finish_item() {
    running_ = false;
    ++next_;
    if (options_.json) return;
    const std::string text = item_text(report_.items.back(), true);
    progress_.clear();
    print(text);
    std::fflush(stdout);
  }

  const CheckOptions& options_;
  const std::vector<CheckTarget>& targets_;
  CheckReport& report_;
  Progress progress_;
  std::string stage_ = "open", sample_;
  int64_t next_ = 0;
  bool running_ = false;
  bool ended_ = false;
};

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
  Collector collector(options, targets, report);
  // Only modules write files.
  std::optional<PrivateFolder> folder;
  if (std::any_of(targets.begin(), targets.end(),
                  [](const CheckTarget& target) { return target.kind == "module"; }))
    folder.emplace();
  const SignalCleanup cleanup([&] {
    end_children();
    folder.reset();
  });
  const std::string folder_path = folder ? folder->path() : "";
  if (options.in_process) {
    WorkerOptions here;
    here.plugin = options.plugin;
    here.item = options.item;
    here.seed = options.seed;
    here.options = options.options;
    here.folder = folder_path;
    check_targets_here(here, [&](const std::string& line) { collector.receive(line); });
  } else {
    for (bool more = true; more;) {
      const ChildEnd end =
          run_child(worker_arguments(options, collector.next(), folder_path), options.timeout,
                    [&](const std::string& line) { return collector.receive(line); });
      more = collector.conclude(end);
    }
  }
  collector.finish();
  find_empty(declarations, report);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.json) {
    print_json(report_json(report));
  } else {
    print(item_text(report.items.front(), false));
    print(summary_text(report));
  }
  return report.faulty() ? kFault : kFine;
}

}  // namespace cli
