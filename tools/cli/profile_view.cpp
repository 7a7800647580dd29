#include "profile_view.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include <tenon/state/atomic_file.hpp>
#include <tenon/training/files.hpp>
#include <tenon/trust/sha256.hpp>

#include "format.hpp"
#include "table.hpp"
#include "text.hpp"

namespace cli {

namespace profile = tenon::profile;

namespace {

constexpr size_t kMostRows = 20;

std::string time_text(int64_t nanoseconds) {
  const auto time = static_cast<double>(nanoseconds);
  if (time < 1e6) return format_text("{:.1f} us", time / 1e3);
  return time < 1e9 ? format_text("{:.1f} ms", time / 1e6) : format_text("{:.2f} s", time / 1e9);
}

// 12.3 M, 4.56 G: three digits and a letter.
std::string scaled(int64_t number) {
  if (number < 0) return "-";
  if (number < 1000) return std::to_string(number);
  auto scaled_number = static_cast<double>(number);
  const char* unit = "";
  for (const char* next : {" K", " M", " G", " T", " P"}) {
    if (scaled_number < 999.5) break;
    scaled_number /= 1000;
    unit = next;
  }
  return format_text("{:.3g}{}", scaled_number, unit);
}

std::string entries_text(const std::vector<profile::Entry>& entries, const char* title,
                         bool providers) {
  std::vector<Table::Column> columns{{title, Align::left, true}};
  if (providers) columns.push_back({"PLUGIN"});
  for (const char* name : {"CALLS", "TIME", "SHARE", "BYTES", "MUL-ADDS", "LIMIT"})
    columns.push_back({name, Align::right});
  Table table(std::move(columns));
  for (size_t i = 0; i < std::min(entries.size(), kMostRows); ++i) {
    const profile::Entry& entry = entries[i];
    std::vector<Cell> row{entry.name.empty() ? std::string("-") : entry.name};
    if (providers) row.emplace_back(entry.provider.empty() ? "-" : entry.provider);
    for (const std::string& text :
         {grouped(entry.calls), time_text(entry.nanoseconds),
          format_text("{:.1f} %", 100 * entry.share), scaled(entry.bytes),
          scaled(entry.multiply_adds),
          entry.of_limit < 0 ? std::string("-") : format_text("{:.0f} %", 100 * entry.of_limit)})
      row.emplace_back(text);
    table.add(std::move(row));
  }
  std::string text = "\n" + table.text();
  if (entries.size() > kMostRows)
    text += format_text("and {} more, which --json lists\n",
                        grouped(static_cast<int64_t>(entries.size() - kMostRows)));
  return text;
}

}  // namespace

void require_replaceable(const std::string& path, std::string_view beginning, const char* what) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::is_regular_file(path, ignored)) return;
  std::ifstream file(path, std::ios::binary);
  std::string found(beginning.size(), '\0');
  file.read(found.data(), static_cast<std::streamsize>(found.size()));
  if (file.gcount() == 0 || found == beginning) return;
  throw tenon::IOError(format_text(
      "cannot write '{}': the file is there, and is not {}; remove it, or choose another name",
      path, what));
}

namespace {

void require_trace(const std::string& path) {
  require_replaceable(path, R"({"displayTimeUnit":)", "a trace of calls");
}
void require_results(const std::string& path) {
  require_replaceable(path, tenon::record::trace_beginning, "a trace of results");
}

// Facts that two runs should have in common.
tenon::Json facts_of(const std::string& config, uint64_t seed) {
  std::string hash;
  try {
    hash = tenon::trust::sha256_file(config);
  } catch (const tenon::Error&) {  // standard input
  }
  return tenon::JsonObject().set("config", hash).set("seed", static_cast<int64_t>(seed)).json();
}

}  // namespace

ProfileScope::ProfileScope(const ProfileOptions& options) : options_(options) {
  for (const std::string& path : {options.trace, options.results}) {
    if (path.empty()) continue;
    const std::string fault = tenon::training::output_fault(path);
    if (!fault.empty()) throw tenon::IOError(fault);
  }
  require_trace(options.trace);
  require_results(options.results);
  if (!options.trace.empty() && !options.results.empty() &&
      tenon::training::same_file(options.trace, options.results))
    throw tenon::IOError(
        format_text("cannot write '{}': --trace and --profile-trace name one file", options.trace));
}

void ProfileScope::begin(const tenon::Module& model, const std::string& title,
                         const std::string& config, uint64_t seed) {
  title_ = title;
  if (!options_.results.empty()) {
    require_results(options_.results);  // the command may have written it meanwhile
    recorder_.emplace(options_.results, title, tenon::record::RecorderOptions(),
                      facts_of(config, seed));
    if (model.defined()) recorder_->watch(model);
  }
  if (!options_.times()) return;
  profile::ProfilerOptions how;
  how.events = !options_.trace.empty();
  profiler_.emplace(how);
  if (model.defined()) profiler_->watch(model);
}

std::optional<profile::Profile> ProfileScope::end(std::exception_ptr& fault) {
  std::optional<profile::Profile> made;
  if (profiler_) made = profiler_->stop();
  profiler_.reset();
  const auto kept = [&](const auto& write) {
    try {
      write();
    } catch (const std::exception&) {
      if (!fault) fault = std::current_exception();
    }
  };
  if (recorder_) kept([&] { recorder_->stop(); });
  if (made && !options_.trace.empty()) {
    kept([&] {
      require_trace(options_.trace);  // the command may have written it meanwhile
      tenon::state::write_file(options_.trace, profile::trace_events(*made, title_));
    });
  }
  recorder_.reset();
  if (made && options_.profile) made->limits = profile::measure_limits();
  return made;
}

std::string profile_text(const profile::Profile& profile) {
  int64_t calls = 0;
  for (const profile::CallRow& row : profile.calls) calls += row.calls;
  std::string text =
      format_text("profile of {}, of which {} in {} of ops\n", time_text(profile.nanoseconds),
                  time_text(profile.call_nanoseconds()), counted(calls, "call"));
  if (profile.limits.bytes > 0)
    text += format_text(
        "LIMIT: part of {} multiply-adds or {} bytes a second, this machine's\n"
        "most; above 100 % operands are in caches\n",
        scaled(static_cast<int64_t>(profile.limits.multiply_adds)),
        scaled(static_cast<int64_t>(profile.limits.bytes)));
  text += entries_text(by_op(profile), "OP", true);
  text += entries_text(by_provider(profile), "PLUGIN", false);
  if (!profile.modules.empty()) text += entries_text(by_module(profile), "MODULE", false);
  if (profile.events_dropped > 0)
    text +=
        format_text("the file of events has the first {} of {}\n",
                    grouped(static_cast<int64_t>(profile.events.size())),
                    grouped(static_cast<int64_t>(profile.events.size()) + profile.events_dropped));
  return text;
}

}  // namespace cli
