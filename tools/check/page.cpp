// The report of a check as a page.
#include "page.hpp"

#include <algorithm>

#include <tenon/runtime.hpp>
#include <tenon/state/atomic_file.hpp>

#include "comparison.hpp"
#include "format.hpp"
#include "text.hpp"

namespace cli {

namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ok: #2a7d3f; --fault: #c0392b; --skip: #a07000; }
@media (prefers-color-scheme: dark) { :root { --ok: #6cc38a; --fault: #ff8a7a; --skip: #e0b450; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem; }
.grid { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: .15rem .5rem; border-bottom: 1px solid #8884; text-align: center; }
th:first-child, td:first-child { text-align: left; font-family: ui-monospace, monospace; }
.ok { color: var(--ok); } .fault { color: var(--fault); font-weight: 600; }
.skipped { color: var(--skip); }
section { border-left: 4px solid var(--fault); padding: .1rem 1rem; margin: 1.5rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .2rem 0; }
dt { font-weight: 600; } dd { margin: 0 0 .6rem; }
)";

// All stages that some item went through, in the order of their first use.
std::vector<std::string> all_stages(const CheckReport& report) {
  std::vector<std::string> stages;
  const auto add = [&](const std::string& stage) {
    if (std::find(stages.begin(), stages.end(), stage) == stages.end()) stages.push_back(stage);
  };
  const CheckedItem* longest = &report.items.front();
  for (const CheckedItem& item : report.items) {
    if (item.stages.size() > longest->stages.size()) longest = &item;
  }
  for (const std::string& stage : longest->stages) add(stage);
  for (const CheckedItem& item : report.items) {
    for (const std::string& stage : item.stages) add(stage);
    for (const Finding& finding : item.findings) add(finding.stage);
  }
  return stages;
}

std::string cell(const CheckedItem& item, const std::string& stage) {
  std::vector<std::string> kinds;
  for (const Finding& finding : item.findings) {
    if (finding.stage == stage) kinds.push_back(finding.kind);
  }
  if (!kinds.empty())
    return format_text(R"(<td class="fault" title="{0}">{0}</td>)", markup_text(join(kinds, ", ")));
  if (std::find(item.stages.begin(), item.stages.end(), stage) == item.stages.end())
    return "<td></td>";
  return "<td class=\"ok\">&#10003;</td>";
}

std::string row(const CheckedItem& item, const std::vector<std::string>& stages, size_t number) {
  const bool faulty = !item.findings.empty();
  std::string name = markup_text(item.name);
  if (faulty) name = format_text("<a href=\"#item-{}\">{}</a>", number, name);
  std::string text = format_text("<tr><td class=\"{}\">{}</td>",
                                 faulty                  ? "fault"
                                 : !item.skipped.empty() ? "skipped"
                                                         : "ok",
                                 name);
  for (const std::string& stage : stages) text += cell(item, stage);
  return format_text("{}<td>{}</td></tr>\n", text,
                     item.skipped.empty() ? "" : markup_text("skipped: " + item.skipped));
}

std::string findings(const CheckedItem& item, size_t number) {
  if (item.findings.empty()) return "";
  std::string text =
      format_text("<section id=\"item-{}\"><h2>{}</h2>\n", number, markup_text(item.name));
  for (const Finding& finding : item.findings) {
    text += format_text("<h3>{} in {}</h3><dl>\n", markup_text(finding.kind),
                        markup_text(finding.stage));
    const auto entry = [&](const char* title, std::string_view content) {
      if (!content.empty())
        text += format_text("<dt>{}</dt><dd><pre>{}</pre></dd>\n", title, markup_text(content));
    };
    entry("Sample", finding.sample);
    entry("Expected", expectation_of(finding.kind));
    entry("Found", finding.message);
    entry("To do", remedy_of(finding.kind));
    text += "</dl>\n";
  }
  return text + "</section>\n";
}

// Below the grid, where ops were compared with those of another provider.
std::string comparisons(const CheckReport& report) {
  std::string text;
  for (const CheckedItem& item : report.items) {
    if (item.against.is_object())
      text += format_text("<h3>{}</h3><pre>{}</pre>\n", markup_text(item.name),
                          markup_text(comparison_text(item.name, item.against)));
  }
  return text;
}

}  // namespace

std::string report_page(const CheckReport& report) {
  const std::string title = markup_text(format_text("{} {}", report.plugin, report.version));
  const std::vector<std::string> stages = all_stages(report);
  std::string head, rows, details;
  for (const std::string& stage : stages) head += format_text("<th>{}</th>", markup_text(stage));
  for (size_t i = 0; i < report.items.size(); ++i) {
    if (report.items[i].kind == "plugin" && report.items[i].findings.empty()) continue;
    rows += row(report.items[i], stages, i);
    details += findings(report.items[i], i);
  }
  return format_text(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>tenon check {0}</title>\n"
      "<style>{1}</style></head><body>\n<h1>tenon check {0}</h1>\n<p>{2}</p>\n<p>{3}</p>\n"
      "<div class=\"grid\"><table>\n<tr><th></th>{4}<th></th></tr>\n{5}</table></div>\n{6}{7}"
      "</body></html>\n",
      title, kStyle, markup_text(report.path), markup_text(summary_text(report)), head, rows,
      details, comparisons(report));
}

void write_page(const std::string& path, const CheckReport& report) {
  tenon::state::write_file(path, report_page(report));
}

}  // namespace cli
