// tenon plugins: every plugin that was found, and why some are refused.
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "table.hpp"
#include "views.hpp"

namespace cli {

namespace {

int retry(const std::string& id) {
  const tenon::Json plugins = tenon::listing::plugins();
  for (int64_t i = 0; i < plugins.size(); ++i) {
    if (plugins[i]["id"].text() != id || plugins[i]["state"].text() != "quarantined") continue;
    const tenon::Json list = tenon::JsonArray().add(id).json();
    tenon::apply_policy(tenon::JsonObject().set("retry", list).json());
    print(format_text("plugin {} may be loaded again\n", id));
    return kFine;
  }
  throw UsageError(format_text("no plugin '{}' is in quarantine; see `tenon plugins`", id));
}

}  // namespace

int list_plugins(const PluginsOptions& options) {
  if (!options.retry.empty()) {
    return retry(options.retry);
  }
  const tenon::Json plugins = tenon::listing::plugins();
  bool refused = false;
  std::string reasons;
  Table table({{"PLUGIN"},
               {"VERSION"},
               {"STATE"},
               {"OPS", Align::right},
               {"MODULES", Align::right},
               {"FOUND BY"},
               {"PATH", Align::left, true}});
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const tenon::Json plugin = plugins[i];
    const std::string state = plugin["state"].text();
    refused = refused || is_refused(state);
    const auto count = [&](const char* key) {
      return plugin[key].defined() ? std::to_string(plugin[key].integer()) : std::string("-");
    };
    table.add({plugin["id"].text("-"),
               plugin["version"].text("-"),
               {state, state_style(state)},
               count("ops"),
               count("modules"),
               plugin["origin"].text(),
               plugin["path"].text()});
    if (const std::string reason = plugin["reason"].text(); !reason.empty()) {
      reasons += format_text("{}  {}\n", paint(stdout, state_style(state), state), reason);
    }
  }
  if (options.json) {
    print_json(plugins);
  } else if (table.empty()) {
    print("no plugins were found; these folders were searched:\n");
    const tenon::Json folders = tenon::listing::runtime()["folders"];
    for (int64_t i = 0; i < folders.size(); ++i)
      print(format_text("  {}\n", folders[i]["path"].text()));
  } else {
    print(table.text());
    if (!reasons.empty()) print(format_text("\n{}", reasons));
  }
  return refused ? kFault : kFine;
}

}  // namespace cli
