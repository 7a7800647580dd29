// The report of a check as text and JSON.
#include "report.hpp"

#include <algorithm>

#include "comparison.hpp"
#include "format.hpp"
#include "json.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

bool is_faulty(const CheckedItem& item) { return !item.findings.empty(); }
bool is_skipped(const CheckedItem& item) { return item.findings.empty() && !item.skipped.empty(); }
bool is_sound(const CheckedItem& item) {
  return item.findings.empty() && item.skipped.empty() && item.kind != "plugin";
}

std::string indented(std::string_view text) {
  std::string out = "    ";
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "    ";
  }
  return format_text("{}\n", out);
}

}  // namespace

size_t CheckReport::count(bool (*which)(const CheckedItem&)) const {
  return static_cast<size_t>(std::count_if(items.begin(), items.end(), which));
}
bool CheckReport::faulty() const { return count(is_faulty) > 0; }

std::string item_text(const CheckedItem& item, bool in_full) {
  if (item.findings.empty() && !in_full) return "";
  const Style style = is_faulty(item)    ? Style::red
                      : is_skipped(item) ? Style::yellow
                                         : Style::green;
  const char* word = is_faulty(item) ? "FAULT  " : is_skipped(item) ? "skipped" : "ok     ";
  std::string text = format_text("{}  {}", paint(stdout, style, word), item.name);
  if (is_sound(item)) {
    text += format_text("  {}", paint(stdout, Style::dim,
                                      format_text("{}: {}", counted(item.samples, "sample"),
                                                  join(item.stages, ", "))));
  } else if (is_skipped(item)) {
    text += format_text(": {}", item.skipped);
  }
  text += "\n";
  for (const Finding& finding : item.findings) {
    text += format_text("  {} in {}\n{}", paint(stdout, Style::bold, finding.kind), finding.stage,
                        indented(finding.message));
    if (!finding.sample.empty()) text += indented(format_text("sample: {}", finding.sample));
    if (const std::string_view expected = expectation_of(finding.kind); !expected.empty())
      text += indented(format_text("expected: {}", expected));
    if (const std::string_view remedy = remedy_of(finding.kind); !remedy.empty())
      text += indented(format_text("to do: {}", remedy));
  }
  if (item.against.is_object()) text += comparison_text(item.name, item.against);
  for (const std::string& note : item.notes)
    text += format_text("{}\n", paint(stdout, Style::dim, format_text("  note: {}", note)));
  return text;
}

std::string summary_text(const CheckReport& report) {
  int64_t found = 0;
  for (const CheckedItem& item : report.items) found += static_cast<int64_t>(item.findings.size());
  const auto faulty = static_cast<int64_t>(report.count(is_faulty));
  std::string text = format_text("{} {}: {} ok", report.plugin, report.version,
                                 counted(static_cast<int64_t>(report.count(is_sound)), "item"));
  if (const size_t skipped = report.count(is_skipped); skipped > 0)
    text += format_text(", {} skipped", grouped(static_cast<int64_t>(skipped)));
  text += faulty == 0
              ? (report.count(is_skipped) == 0 ? ", no faults" : ", no faults in what was checked")
              : format_text(", {} faulty with {}", grouped(faulty), counted(found, "finding"));
  return format_text("{} ({})\n", text, duration(report.seconds));
}

tenon::Json report_json(const CheckReport& report) {
  tenon::JsonArray items;
  for (const CheckedItem& item : report.items) {
    tenon::JsonArray findings;
    for (const Finding& finding : item.findings) {
      findings.add(tenon::JsonObject()
                       .set("kind", finding.kind)
                       .set("stage", finding.stage)
                       .set("expected", expectation_of(finding.kind))
                       .set("message", finding.message)
                       .set("sample", finding.sample.empty() ? tenon::Json()
                                                             : tenon::Json::parse(finding.sample))
                       .set("remedy", remedy_of(finding.kind))
                       .json());
    }
    items.add(tenon::JsonObject()
                  .set("name", item.name)
                  .set("kind", item.kind)
                  .set("state", is_faulty(item)    ? "fault"
                                : is_skipped(item) ? "skipped"
                                                   : "ok")
                  .set("samples", item.samples)
                  .set("stages", text_array(item.stages))
                  .set("skipped", text_or_null(item.skipped))
                  .set("findings", findings.json())
                  .set("notes", text_array(item.notes))
                  .set("against", item.against)
                  .json());
  }
  return tenon::JsonObject()
      .set("plugin", report.plugin)
      .set("version", report.version)
      .set("path", report.path)
      .set("ok", !report.faulty())
      .set("isolated", report.isolated)
      .set("seconds", report.seconds)
      .set("items", items.json())
      .json();
}

}  // namespace cli
