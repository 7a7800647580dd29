// Ops, plugins and modules in words.
#include "views.hpp"

#include <algorithm>
#include <vector>

#include "format.hpp"
#include "rewrite_list.hpp"
#include "table.hpp"
#include "text.hpp"

namespace cli {

namespace {

using tenon::Json;

void print_head(const std::string& name, const std::string& what, const std::string& doc) {
  print_fitted(
      format_text("{}  {}\n", paint(stdout, Style::bold, name), paint(stdout, Style::dim, what)));
  if (!doc.empty()) print(wrapped(doc, 2, line_width(92)));
}

}  // namespace

bool is_refused(const std::string& state) { return state == "failed" || state == "quarantined"; }

Style state_style(const std::string& state) {
  if (is_refused(state) || state == "contested") return Style::red;
  if (state == "active" || state == "chosen") return Style::green;
  if (state == "disabled" || state == "excluded" || state == "shadowed" || state == "outranked")
    return Style::yellow;
  return Style::plain;
}

std::string gradient_text(const Json& op) {
  const std::string backward = op["differentiable"].text();
  const std::string forward = op["jvp"].text();
  if (backward == "composite") return "composite";
  if (backward == "none") return forward == "none" ? "none" : "forward only";
  return forward == "none" ? "backward" : "backward, forward";
}

void print_op(const Json& op) {
  print_head(op["name"].text(), format_text("op of plugin {}", op["provider"].text()),
             op["doc"].text());
  Table table = Table::of_facts();
  table.add({"signature", op["signature"].text()});
  table.add({"schema", op["schema"].text()});
  const std::string forward = op["jvp"].text();
  table.add(
      {"gradient",
       gradient_text(op) + (forward == "none" ? "" : format_text(" (forward mode: {})", forward))});
  std::string rules;
  for (int64_t i = 0; i < op["rules"].size(); ++i)
    rules += (i == 0 ? "" : ", ") + op["rules"][i].text();
  table.add({"written as", format_text("{}: {}", op["form"].text(), rules)});
  if (op["differentiable"].text() == "formula") table.add({"twice", op["double_backward"].text()});
  if (op["accuracy"].defined()) table.add({"error (ulp)", op["accuracy"].text()});
  table.add({"overridable", op["overridable"].as_bool()
                                ? std::string("yes")
                                : format_text("no: {}", op["reason"].text())});
  const Json providers = op["providers"];
  for (int64_t i = 0; i < providers.size(); ++i) {
    const std::string standing = providers[i]["standing"].text();
    const std::string reason = providers[i]["reason"].text();
    const std::string declines = providers[i]["may_decline"].as_bool() ? ", may decline" : "";
    const bool is_used = standing == "chosen" || standing == "next";
    table.add({i == 0 ? "provided by" : "",
               {format_text("{}, {}{}{}", providers[i]["plugin"].text(), standing, declines,
                            reason.empty() ? "" : format_text(": {}", reason)),
                is_used ? Style::plain : state_style(standing)}});
  }
  const Json conversions = op["conversions"];
  for (int64_t i = 0; i < conversions.size(); ++i) {
    table.add({i == 0 ? "converts" : "",
               format_text("{} {} ({})", conversions[i]["format"].text(),
                           conversions[i]["rule"].text(), conversions[i]["plugin"].text())});
  }
  print(table.text());
}

void print_plugin(const Json& plugin) {
  const std::string state = plugin["state"].text();
  const std::string id = plugin["id"].text();  // none in a file that was refused
  print_head(
      id.empty() ? plugin["path"].text() : format_text("{} {}", id, plugin["version"].text()),
      "plugin", "");
  Table table = Table::of_facts();
  table.add({"state", {state, state_style(state)}});
  if (const std::string reason = plugin["reason"].text(); !reason.empty()) {
    table.add({"reason", {reason, state_style(state)}});
  }
  table.add({"path", plugin["path"].text()});
  table.add({"found by", plugin["origin"].text()});
  if (plugin["abi"].defined()) {
    table.add(
        {"boundary", format_text("{}.{}", plugin["abi"][0].integer(), plugin["abi"][1].integer())});
  }
  if (plugin["generation"].defined())
    table.add({"generation", std::to_string(plugin["generation"].integer())});
  const Json holders = plugin["holders"];
  for (int64_t i = 0; i < holders.size(); ++i)
    table.add(
        {i == 0 ? "held by" : "", format_text("{} x {}", holders[i].integer(), holders.key(i))});
  if (const Json unmap = plugin["unmap"]; unmap.defined()) {
    table.add({"unload", unmap["possible"].as_bool() ? "its code can be unmapped"
                                                     : "its code stays mapped:"});
    for (int64_t i = 0; i < unmap["reasons"].size(); ++i)
      table.add({"", unmap["reasons"][i].text()});
  }
  for (const char* key : {"sdk", "compiler", "license"}) {
    if (const std::string text = plugin[key].text(); !text.empty()) table.add({key, text});
  }
  for (const char* key : {"ops", "modules", "types", "overrides"}) {
    std::vector<std::string> schemas;
    for (int64_t i = 0; i < plugin[key].size(); ++i) schemas.push_back(plugin[key][i].text());
    std::sort(schemas.begin(), schemas.end());
    for (const std::string& schema : schemas) {
      table.add({&schema == schemas.data() ? key : "", schema});
    }
  }
  print(table.text());
}

void print_module(const Json& module) {
  print_head(module["name"].text(), format_text("module of plugin {}", module["provider"].text()),
             module["doc"].text());
  Table table = Table::of_facts();
  table.add({"attributes", module["signature"].text()});
  table.add({"schema", module["schema"].text()});
  if (module["forward"].is_object()) table.add({"forward", module["forward"]["schema"].text()});
  print(table.text());
}

void print_type(const Json& type) {
  print_head(type["name"].text(), format_text("tensor type of plugin {}", type["provider"].text()),
             type["doc"].text());
  Table table = Table::of_facts();
  table.add({"parent", type["parent"].text("none: it has no data")});
  table.add({"handler", type["handler"].as_bool() ? "yes" : "no"});
  table.add({"fallback", type["fallback"].text()});
  const Json overrides = type["overrides_in_force"];
  for (int64_t i = 0; i < overrides.size(); ++i) {
    const Json entry = overrides[i];
    const std::string differs = entry["signature_differs"].text();
    table.add(
        {i == 0 ? "overrides" : "",
         format_text("{}{}, plugin {}{}", entry["op"].text(), entry["signature"].text(),
                     entry["provider"].text(),
                     differs.empty() ? "" : format_text("; signature differs: {}", differs))});
  }
  print(table.text());
}

void print_rewrite(const Json& rewrite) {
  print_head(rewrite["name"].text(), format_text("rewrite of plugin {}", rewrite["plugin"].text()),
             "");
  Table table = Table::of_facts();
  if (rewrite["pattern"].defined()) {
    table.add({"pattern", rewrite["pattern"].text()});
    table.add({"replacement", rewrite["replacement"].text()});
    table.add({"conditions", rewrite["conditions"].text("none")});
    table.add({"results", bound_text(rewrite["bound"].number())});
  }
  table.add({"used", rewrite["active"].as_bool()
                         ? std::string("yes")
                         : format_text("no: {}", rewrite["reason"].text())});
  print(table.text());
}

}  // namespace cli
