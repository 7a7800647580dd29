#include "rewrite_list.hpp"

#include "format.hpp"

namespace cli {

tenon::Json rewrites_document() {
  tenon::JsonArray list;
  for (const tenon::rewrites::ListedRule& listed : tenon::rewrites::rules()) {
    const tenon::rewrites::Rule& rule = listed.rule;
    tenon::JsonObject item;
    item.set("name", rule.name).set("plugin", rule.plugin);
    if (!rule.pattern_text.empty())
      item.set("pattern", rule.pattern_text).set("replacement", rule.replacement_text);
    if (!rule.condition_text.empty()) item.set("conditions", rule.condition_text);
    item.set("bound", rule.bound).set("active", listed.reason.empty());
    if (!listed.reason.empty()) item.set("reason", listed.reason);
    list.add(item.set("rule", rule.text).json());
  }
  return list.json();
}

std::string bound_text(double bound) {
  return bound == 0 ? "equal by bits" : format_text("within {:g}", bound);
}

}  // namespace cli
