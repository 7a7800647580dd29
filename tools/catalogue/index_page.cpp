// The first page, and the matrix of ops and types.
#include <tenon/listing/listing.hpp>

#include "format.hpp"
#include "html.hpp"
#include "pages.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

namespace {

// Longer lists are closed at first, so that the page is an overview.
constexpr size_t kShort = 25;

// The first sentence of a document.
std::string summary(const std::string& doc) {
  const size_t end = doc.find(". ");
  return end == doc.npos ? doc : doc.substr(0, end + 1);
}

std::string gradient_mark(const Json& op) {
  const std::string kind = op["differentiable"].text();
  return kind == "none" ? "" : kind == "composite" ? "by ops" : "rule";
}

// Ops by namespace, internal ones behind them.
std::string op_tables(const CatalogueFacts& facts) {
  std::map<std::string, HtmlTable> spaces;
  HtmlTable internal({"op", "", "plugin"});
  for (const Json& op : facts.ops) {
    const std::string name = op["name"].text();
    const std::string link = page_link("", "ops", name), text = prose(summary(op["doc"].text())),
                      plugin = page_link("", "plugins", op["provider"].text());
    if (tenon::listing::is_internal(name)) {
      internal.add({link, text, plugin});
      continue;
    }
    spaces.try_emplace(op["namespace"].text(), HtmlTable({"op", "", "gradient", "plugin"}))
        .first->second.add({link, text, gradient_mark(op), plugin});
  }
  const bool open = facts.ops.size() <= kShort;
  std::string body;
  for (const auto& [space, table] : spaces)
    body += table.section(space.empty() ? "without a namespace" : space, open, R"(class="list")");
  return body + internal.section("for other ops", open);
}

}  // namespace

std::string index_page(const CatalogueFacts& facts) {
  HtmlTable modules({"module", "", "plugin"}), types({"type", "", "plugin"}),
      plugins({"plugin", "version", "state", "ops", "modules", "reason"});
  for (const Json& module : facts.modules)
    modules.add({page_link("", "modules", module["name"].text()),
                 prose(summary(module["doc"].text())),
                 page_link("", "plugins", module["provider"].text())});
  for (const Json& type : facts.types)
    types.add({page_link("", "types", type["name"].text()), prose(summary(type["doc"].text())),
               page_link("", "plugins", type["provider"].text())});
  for (const Json& plugin : facts.plugins) {
    const auto [state, reason] = plugin_state(facts, plugin);
    plugins.add({page_link("", "plugins", plugin_name(plugin)),
                 markup_text(plugin["version"].text()),
                 format_text(R"(<span class="{0}">{0}</span>)", markup_text(state)),
                 std::to_string(plugin["ops"].integer()),
                 std::to_string(plugin["modules"].integer()), markup_text(reason)});
  }
  const auto none = [](const std::string& table, const char* what) {
    return table.empty() ? format_text("<p>No {} is installed.</p>\n", what) : table;
  };
  std::string body = format_text(
      "<h1>What is installed</h1>\n<p class=\"lead\">{}, {}, {} and {} of Tenon {}.</p>\n",
      counted(static_cast<int64_t>(facts.ops.size()), "op"),
      counted(static_cast<int64_t>(facts.modules.size()), "module"),
      counted(static_cast<int64_t>(facts.types.size()), "type"),
      counted(static_cast<int64_t>(facts.plugins.size()), "plugin"),
      markup_text(tenon::listing::runtime()["version"].text()));
  body += "<h2 id=\"ops\">Ops</h2>\n" + none(op_tables(facts), "op");
  body +=
      "<h2 id=\"modules\">Modules</h2>\n" +
      none(modules.section("by name", facts.modules.size() <= kShort, R"(class="list")"), "module");
  body += "<h2 id=\"types\">Types</h2>\n" + none(types.text(R"(class="list")"), "type");
  body += "<h2 id=\"plugins\">Plugins</h2>\n" + none(plugins.text(), "plugin");
  return page("Tenon catalogue", "", body);
}

std::string matrix_page(const CatalogueFacts& facts) {
  std::vector<std::string> head = {"op", "Tensor on cpu", "vmap"};
  for (const std::string& type : facts.type_names) head.push_back(page_link("", "types", type));
  HtmlTable table(head);
  const auto cell = [](const std::map<std::string, Handled>& ops, const std::string& name) {
    const auto found = ops.find(name);
    if (found == ops.end()) return std::string();
    return format_text(R"(<span class="{0}" title="{1}">{0}</span>)",
                       markup_text(found->second.how), markup_text(found->second.by));
  };
  for (const Json& op : facts.ops) {
    const std::string name = op["name"].text();
    if (tenon::listing::is_internal(name)) continue;
    std::string providers;
    for (int64_t i = 0; i < op["providers"].size(); ++i) {
      const Json one = op["providers"][i];
      const std::string standing = one["standing"].text();
      if (standing != "chosen" && standing != "next") continue;
      providers += (providers.empty() ? "" : ", ") + page_link("", "plugins", one["plugin"].text());
    }
    std::vector<std::string> cells = {page_link("", "ops", name), providers,
                                      cell(facts.by_vmap, name)};
    for (const std::string& type : facts.type_names)
      cells.push_back(cell(facts.by_type.at(type), name));
    table.add(cells);
  }
  return page(
      "Ops and types", "",
      "<h1>Ops and types</h1>\n<p class=\"lead\">Who answers when all operands are of a type: an "
      "override (handled), the type's handler, an ancestor (inherited), a conversion (fallback), "
      "or "
      "nothing (missing).</p>\n" +
          table.text(R"(class="matrix")"));
}

}  // namespace cli
