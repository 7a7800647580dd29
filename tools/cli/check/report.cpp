// What checking found, as text and JSON.
#include "check_report.hpp"

#include <algorithm>
#include <array>

#include "format.hpp"
#include "json.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

struct Remedy {
  std::string_view kind, text;
};
constexpr std::array kRemedies{
    // ---- the process ----
    Remedy{"open", "fix the problem above; `tenon show` prints the plugin's state"},
    Remedy{"crash", "run the sample under a debugger: `gdb --args tenon check ... --in-process`"},
    Remedy{"exit", "report the failure: throw, or return a status; never end the process"},
    Remedy{"timeout", "make it end, or give it more time with --timeout"},
    Remedy{"memory", "allocate what the shapes need, or allow more with --memory"},
    Remedy{"protocol", "write to no file descriptor that the plugin has not opened"},
    // ---- the declaration ----
    Remedy{
        "empty",
        "give each definition to TENON_OP, TENON_MODULE, TENON_TYPE or TENON_OVERRIDE; those of a "
        "static library need tenon_add_plugin(... LINK library), or a linker's --whole-archive"},
    Remedy{"samples", "fix the `samples` of the definition; tools/README.md has their form"},
    // ---- calls ----
    Remedy{"result", "return what the schema declares, or declare what is returned"},
    Remedy{"undeclared-mutation",
           "declare it, Tensor(a!), and mark_dirty it in a Function; or change a clone"},
    Remedy{"missing-mutation", "change the argument in place, or declare it without '!'"},
    Remedy{"undeclared-alias", "declare it, Tensor(a) on both; or return a clone"},
    Remedy{"missing-alias", "return a view, drop the letter from the schema, or declare may_copy"},
    Remedy{"nondeterminism", "draw from the host's generator; initialize every element"},
    Remedy{"layout", "walk the strides of each operand, or make it contiguous first"},
    Remedy{"precision", "compute in the operand's dtype; read elements as what they are"},
    Remedy{"out", "write the result into `out` and return it"},
    Remedy{"shape", "give a shape_rule or fix it, or declare data_dependent_shape"},
    Remedy{"unexplained-error", "throw an error of the right kind that says what was wrong"},
    // ---- gradients ----
    Remedy{"missing-gradient",
           "give a backward; or declare composite, zero_gradient, or samples whose tensors say "
           "\"requires_grad\": false"},
    Remedy{"cut-graph", "composite ops call ops only: compute by ops, or give a backward"},
    Remedy{"wrong-gradient", "fix the backward; the report says how the numbers differ"},
    Remedy{"unsaved-read",
           "name the tensor in `saves`, or keep it in forward: save_for_backward, for a jvp "
           "save_for_forward"},
    Remedy{"failing-gradient", "fix the backward so that it returns for every input"},
    Remedy{"changed-gradient", "compute a new tensor: gradients belong to the engine"},
    Remedy{"changed-input", "leave saved tensors as they are: others use them, too"},
    Remedy{"wrong-jvp", "fix the jvp: its tangents are the derivative times the input's tangents"},
    Remedy{"failing-jvp", "fix the jvp so that it returns for every tangent"},
    Remedy{"wrong-second-order",
           "save tensors with save_for_backward and compute the backward by ops; or declare "
           "once_differentiable"},
    Remedy{"failing-second-order",
           "compute the backward by differentiable ops; or declare once_differentiable"},
    // ---- modules ----
    Remedy{"module", "fix what the message names"},
    Remedy{"state", "register every tensor that forward reads as a parameter or buffer"},
    Remedy{"unreached-parameter", "use the parameter in forward by ops that carry gradients"},
};

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

std::string_view remedy_of(std::string_view kind) {
  const auto* found = std::find_if(kRemedies.begin(), kRemedies.end(),
                                   [&](const Remedy& remedy) { return remedy.kind == kind; });
  return found == kRemedies.end() ? std::string_view() : found->text;
}

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
    if (const std::string_view remedy = remedy_of(finding.kind); !remedy.empty())
      text += indented(format_text("to do: {}", remedy));
  }
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
              ? ", no faults"
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
                  .json());
  }
  return tenon::JsonObject()
      .set("plugin", report.plugin)
      .set("version", report.version)
      .set("path", report.path)
      .set("ok", !report.faulty())
      .set("seconds", report.seconds)
      .set("items", items.json())
      .json();
}

}  // namespace cli
