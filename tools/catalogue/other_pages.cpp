// The pages of modules, types and plugins.
#include <filesystem>

#include <tenon/error.hpp>
#include <tenon/listing/listing.hpp>

#include "format.hpp"
#include "html.hpp"
#include "pages.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

namespace {

std::string heading(const std::string& name, const std::string& behind, const std::string& doc) {
  return format_text("<h1>{}<span class=\"signature\">{}</span></h1>\n<p class=\"lead\">{}</p>\n",
                     markup_text(name), markup_text(behind), prose(doc));
}

// "name (3)" and a list of links.
std::string links(const char* title, const std::string& kind,
                  const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string text = format_text("<h2>{} ({})</h2>\n<p class=\"names\">", title, names.size());
  for (const std::string& name : names) text += page_link("../", kind, name) + " ";
  return text + "</p>\n";
}

}  // namespace

std::string module_page(const Json& module) {
  const std::string name = module["name"].text();
  std::string body = heading(name, module["signature"].text(), module["doc"].text());
  body += "<h2>Attributes</h2>\n";
  const std::string attributes = parameter_table(module["parameters"]);
  body += attributes.empty() ? "<p>It has none.</p>\n" : attributes;
  if (const Json forward = module["forward"]; forward.is_object())
    body += format_text("<h2>Call</h2>\n<p>{}</p>\n", code(forward["schema"].text())) +
            parameter_table(forward["parameters"]);
  if (module["mode"].as_bool())
    body += "<p>It runs otherwise in training than in evaluation.</p>\n";
  body += "<h2>Provided by</h2>\n" + provider_table(module["providers"]);
  return page(name, "../", body);
}

std::string type_page(const CatalogueFacts& facts, const Json& type) {
  const std::string name = type["name"].text();
  std::string body = heading(name, "", type["doc"].text());
  HtmlTable table({"", ""});
  table.add({"plugin", page_link("../", "plugins", type["provider"].text())});
  if (type["parent"].defined()) table.add({"parent", code(type["parent"].text())});
  table.add({"handler", type["handler"].as_bool() ? "it has one, which is asked about every op"
                                                  : "it has none"});
  table.add({"fallback", code(type["fallback"].text())});
  body += table.text(R"(class="facts")");
  if (const auto fault = facts.faults.find(name); fault != facts.faults.end())
    body += format_text("<pre class=\"fault\">{}</pre>\n", markup_text(fault->second));
  HtmlTable overrides({"override", "signature", "plugin"});
  const Json list = type["overrides_in_force"];
  for (int64_t i = 0; i < list.size(); ++i)
    overrides.add({page_link("../", "ops", list[i]["op"].text()), code(list[i]["signature"].text()),
                   page_link("../", "plugins", list[i]["provider"].text())});
  if (list.size() > 0) body += "<h2>Overrides</h2>\n" + overrides.text();
  if (const auto found = facts.by_type.find(name); found != facts.by_type.end()) {
    std::map<std::string, std::vector<std::string>> by_how;
    for (const auto& [op, handled] : found->second) by_how[handled.how].push_back(op);
    for (const auto& [how, ops] : by_how) {
      if (ops.size() == found->second.size())
        body += format_text("<p>All {} ops that can be overridden: {}.</p>\n", ops.size(),
                            markup_text(how));
      else
        body += links(how.c_str(), "ops", ops);
    }
  }
  return page(name, "../", body);
}

std::string plugin_name(const Json& plugin) {
  const std::string id = plugin["id"].text();
  return !id.empty() ? id : std::filesystem::path(plugin["path"].text()).filename().string();
}

PluginState plugin_state(const CatalogueFacts& facts, const Json& plugin) {
  const PluginState listed{plugin["state"].text(), plugin["reason"].text()};
  const auto refused = facts.samples.refused.find(plugin["id"].text());
  if (!listed.reason.empty() || refused == facts.samples.refused.end()) return listed;
  return {"failed", refused->second};
}

std::string plugin_page(const CatalogueFacts& facts, const Json& plugin) {
  const std::string name = plugin_name(plugin), id = plugin["id"].text();
  std::string body = heading(name, plugin["version"].text(), "");
  HtmlTable table({"", ""});
  const auto row = [&](const char* what, const std::string& markup) {
    if (!markup.empty()) table.add({what, markup});
  };
  const auto [state, reason] = plugin_state(facts, plugin);
  row("state", format_text(R"(<span class="{0}">{0}</span>)", markup_text(state)));
  row("reason", markup_text(reason));
  row("file", code(plugin["path"].text()));
  if (const auto hash = facts.hashes.find(id); hash != facts.hashes.end())
    row("sha256", code(hash->second));
  row("compiler", markup_text(plugin["compiler"].text()));
  body += table.text(R"(class="facts")");
  const auto& stopped = facts.samples.stopped;
  if (const auto found = stopped.find(id); found != stopped.end())
    body += format_text("<pre class=\"fault\">{}</pre>\n", markup_text(found->second));
  const auto names = [&](const std::vector<Json>& items) {
    std::vector<std::string> own;
    for (const Json& item : items) {
      const Json providers = item["providers"];
      bool provides = item["provider"].text() == id;
      for (int64_t i = 0; i < providers.size(); ++i)
        provides = provides || providers[i]["plugin"].text() == id;
      if (provides) own.push_back(item["name"].text());
    }
    return own;
  };
  body += links("Ops", "ops", names(facts.ops)) +
          links("Modules", "modules", names(facts.modules)) +
          links("Types", "types", names(facts.types));
  return page(name, "../", body);
}

}  // namespace cli
