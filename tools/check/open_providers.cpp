// The process of one side of a comparison: its plugins provide the ops, whatever ranks others.
#include <map>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "against.hpp"
#include "format.hpp"

namespace cli {

using tenon::Json;

namespace {

// All but ops, of which those that are not compared are provided as always.
void prefer_others(const Json& declarations, std::map<std::string, std::string>& prefer) {
  for (const char* kind : {"modules", "types", "overrides"}) {
    const Json list = declarations[kind];
    for (int64_t i = 0; i < list.size(); ++i)
      prefer.emplace((list[i].is_text() ? list[i] : list[i]["name"]).text(),
                     declarations["id"].text());
  }
}

}  // namespace

void require_provider(const std::string& op, const std::string& plugin) {
  const Json providers = tenon::providers(tenon::ItemKind::op, op);
  std::string above;
  for (int64_t i = 0; i < providers.size(); ++i) {
    if (!providers[i]["used"].as_bool()) continue;
    if (providers[i]["plugin"].text() == plugin) return;
    above = format_text(
        " but '{}'{}", providers[i]["plugin"].text(),
        providers[i]["reason"].is_text() ? format_text(", {}", providers[i]["reason"].text()) : "");
  }
  throw tenon::PluginError(format_text(
      "'{}' would not be provided by plugin '{}'{}; unset what ranks another one above it", op,
      plugin, above));
}

bool open_providers(const WorkerOptions& options, const std::vector<SharedOp>& shared,
                    CheckListener& listener) {
  listener.stage("open");
  // By file: one that is given so is in no folder. In this order where several have a name.
  tenon::JsonArray plugins;
  std::map<std::string, std::string> preferred;
  const auto add = [&](const std::string& plugin) {
    const Json declarations = tenon::listing::declarations(plugin);
    plugins.add(tenon::JsonObject()
                    .set("name", declarations["id"].text())
                    .set("path", declarations["path"].text())
                    .json());
    if (options.record == (plugin == options.plugin)) prefer_others(declarations, preferred);
    return declarations["id"].text();
  };
  const std::string id = options.record ? add(options.plugin) : "";
  std::vector<std::string> providers;
  for (const std::string& provider : options.against) providers.push_back(add(provider));
  for (const SharedOp& op : shared) preferred[op.target.name] = options.record ? id : op.provider;
  tenon::JsonObject prefer;
  for (const auto& [name, plugin] : preferred) prefer.set(name, plugin);
  const Json ops =
      tenon::JsonObject().set("prefer", prefer.json()).set("duplicates", "first").json();
  try {
    tenon::apply_policy(tenon::JsonObject()
                            .set("quarantine", false)
                            .set("plugins", plugins.json())
                            .set("ops", ops)
                            .json());
    if (options.record) {
      tenon::load_plugin(id);
    } else {
      for (const std::string& provider : providers) tenon::load_plugin(provider);
    }
    for (const SharedOp& op : shared)
      require_provider(op.target.name, options.record ? id : op.provider);
  } catch (const tenon::Error& error) {
    listener.finding({"open", "open", error.what(), ""});
    return false;
  }
  return true;
}

}  // namespace cli
