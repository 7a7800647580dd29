// Collects the answers of one child after the other into the report.
#include "collector.hpp"

#include <algorithm>
#include <csignal>

#include <tenon/text.hpp>
#include <tenon/trust/child_process.hpp>

#include "format.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

void CheckProgress::at(size_t index, const std::string& name) {
  if (!live_) return;
  const std::string line = format_text("checking {}/{}  {}", index + 1, count_, name);
  const int width = terminal_width(stderr);
  std::fputs("\r\033[K", stderr);
  print(stderr, leading(line, width > 1 ? width - 1 : 79));
  std::fflush(stderr);
  drawn_ = true;
}

void CheckProgress::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

namespace {

std::string normal_json(const std::string& text) {
  try {
    return text.empty() ? "" : Json::parse(text).dump();
  } catch (const tenon::Error&) {
    return "";
  }
}

}  // namespace

Collector::Collector(const std::vector<CheckTarget>& targets, CheckReport& report, double timeout,
                     bool quiet)
    : targets_(targets),
      report_(report),
      timeout_(timeout),
      quiet_(quiet),
      progress_(targets.size(), !quiet && is_terminal(stderr)) {
  report_.items.push_back({report_.plugin, "plugin", {}, {}, {}, "", 0, {}});
}

void Collector::begin() {
  const CheckTarget& target = targets_[static_cast<size_t>(next_)];
  report_.items.push_back({target.name, target.kind, {}, {}, {}, "", 0, {}});
  stage_ = "begin";
  running_ = true;
  progress_.at(static_cast<size_t>(next_), target.name);
}

bool Collector::receive(const std::string& line) {
  const Json answer = Json::parse(line);
  const std::string at = answer["at"].text();
  if (at == "begin") {
    begin();
    return true;
  }
  if (at == "done") {
    finish_item();
    return true;
  }
  CheckedItem& item = current();
  if (at == "stage") {
    stage_ = tenon::printable(answer["name"].text());
    if (running_ && std::find(item.stages.begin(), item.stages.end(), stage_) == item.stages.end())
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
  } else if (at == "comparison") {
    item.against = answer["document"];
  } else if (at == "isolated") {
    report_.isolated = answer["yes"].as_bool();
  } else if (at == "end") {
    ended_ = true;
  }
  return false;
}

void Collector::add(const Json& answer) {
  const std::string kind = answer["kind"].text();
  const std::string message = tenon::printable(answer["message"].text());
  CheckedItem& item = current();
  // The next child loads the plugin as well, and finds the same.
  for (const Finding& finding : item.findings) {
    if (finding.kind == kind && finding.message == message) return;
  }
  item.findings.push_back({kind, tenon::printable(answer["stage"].text()), message,
                           normal_json(answer["sample"].text())});
}

void Collector::intrude() { find_protocol("a line that is not the checker's"); }

void Collector::find_protocol(const std::string& what) {
  CheckedItem& item = current();
  for (const Finding& finding : item.findings) {
    if (finding.kind == "protocol") return;
  }
  item.findings.push_back(
      {"protocol", stage_,
       format_text("the child process sent {}: the plugin writes where it should not", what), ""});
}

bool Collector::conclude(const ChildEnd& end) {
  if (!end.timed_out && ended_ && end.complete) {
    if (!end.printed.empty())
      current().findings.push_back(
          {"output", "exit", format_text("it writes to stdout: {}", tenon::printable(end.printed)),
           ""});
    return false;
  }
  const std::string output =
      end.output.empty() ? "" : format_text("\nit had printed:\n{}", tenon::printable(end.output));
  std::string kind = "exit", message;
  if (end.timed_out) {
    kind = "timeout";
    message = format_text("it did not end within {} s", short_number(timeout_));
  } else if (end.signal == SIGSYS) {
    kind = "signals-others";
    message = "it was ended for a signal to the processes that watch it, or for tracing them";
  } else if (end.signal != 0) {
    kind = "crash";
    message = format_text("the process was ended by {}", tenon::trust::signal_text(end.signal));
  } else {
    message = format_text("the process exited with code {}", end.code);
  }
  // After the end only the exit of the process is left.
  if (ended_) stage_ = "exit";
  CheckedItem& item = current();
  item.findings.push_back({kind, stage_, message + output, normal_json(sample_)});
  const bool more = running_ && next_ + 1 < static_cast<int64_t>(targets_.size());
  if (running_) finish_item();
  stage_ = "open";
  sample_.clear();
  return more;
}

void Collector::finish_item() {
  running_ = false;
  ++next_;
  if (quiet_) return;
  const std::string text = item_text(report_.items.back(), true);
  progress_.clear();
  print_fitted(text);
  std::fflush(stdout);
}

}  // namespace cli
