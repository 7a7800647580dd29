// The page of an op.
#include <tenon/text.hpp>

#include "format.hpp"
#include "html.hpp"
#include "pages.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

namespace {

std::string gradient_text(const Json& op) {
  const std::string differentiable = op["differentiable"].text();
  std::string text = differentiable == "none"        ? "none"
                     : differentiable == "composite" ? "of the ops that it is made of"
                                                     : "a rule";
  const std::string jvp = op["jvp"].text();
  if (jvp != "none") text += format_text("; forward mode {}", jvp);
  const std::string twice = op["double_backward"].text();
  if (twice == "once") text += "; once";
  if (twice == "yes") text += "; any number of times";
  return text;
}

std::string facts_table(const CatalogueFacts& facts, const Json& op) {
  const std::string name = op["name"].text();
  HtmlTable table({"", ""});
  const auto row = [&](const char* what, const std::string& markup) {
    if (!markup.empty()) table.add({what, markup});
  };
  row("schema", code(op["schema"].text()));
  row("gradient", markup_text(gradient_text(op)));
  row("error in ulp", prose(op["accuracy"].text()));
  if (const auto found = facts.by_vmap.find(name); found != facts.by_vmap.end())
    row("vmap", markup_text(found->second.how) +
                    (found->second.by.empty() ? "" : " " + code(found->second.by)));
  row("overrides",
      op["overridable"].as_bool() ? "types may override it" : prose(op["reason"].text()));
  row("C++", op["method"].as_bool() ? "a function and a method of Tensor" : "a function");
  std::string conversions;
  for (int64_t i = 0; i < op["conversions"].size(); ++i) {
    const Json one = op["conversions"][i];
    conversions +=
        format_text("{}{} {} ({})", i == 0 ? "" : "<br>", markup_text(one["format"].text()),
                    code(one["rule"].text()), page_link("../", "plugins", one["plugin"].text()));
  }
  row("converted from", conversions);
  return table.text(R"(class="facts")");
}

std::string types_table(const CatalogueFacts& facts, const std::string& name) {
  HtmlTable table({"operands of", "handled", "by"});
  for (const std::string& type : facts.type_names) {
    const auto& ops = facts.by_type.at(type);
    const auto found = ops.find(name);
    if (found == ops.end()) continue;
    table.add({page_link("../", "types", type),
               format_text(R"(<span class="{0}">{0}</span>)", markup_text(found->second.how)),
               markup_text(found->second.by)});
  }
  return table.text();
}

std::string samples_text(const CatalogueFacts& facts, const std::string& name) {
  const auto found = facts.samples.by_op.find(name);
  if (found == facts.samples.by_op.end()) return "";
  std::string text;
  for (const SampleResult& sample : found->second) {
    text += "<section class=\"sample\">\n";
    if (!sample.sample.empty()) text += format_text("<p>{}</p>\n", code(sample.sample));
    const auto block = [&](const char* what, const std::string& content) {
      text += format_text("<pre class=\"{}\">{}</pre>\n", what, markup_text(content));
    };
    for (const std::string& operand : sample.operands) block("operand", operand);
    for (const std::string& result : sample.results) block("result", result);
    if (!sample.fault.empty()) block("fault", sample.fault);
    text += "</section>\n";
  }
  return "<h2>Samples</h2>\n" + text;
}

}  // namespace

std::string op_page(const CatalogueFacts& facts, const Json& op) {
  const std::string name = op["name"].text();
  std::string body =
      format_text("<h1>{}<span class=\"signature\">{}</span></h1>\n<p class=\"lead\">{}</p>\n",
                  markup_text(name), markup_text(op["signature"].text()), prose(op["doc"].text()));
  body += parameter_table(op["parameters"]) + facts_table(facts, op);
  body += "<h2>Provided by</h2>\n" + provider_table(op["providers"]);
  if (const std::string types = types_table(facts, name); !types.empty())
    body += "<h2>Types</h2>\n" + types;
  return page(name, "../", body + samples_text(facts, name));
}

}  // namespace cli
