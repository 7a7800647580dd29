// tenon plugins: every plugin that was found, and why some are refused.
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "listing.hpp"
#include "text.hpp"
#include "views.hpp"

namespace cli {

namespace {

struct PluginsOptions {
  std::string retry;  // id of a plugin that is taken out of quarantine; empty: list them
  ListingOptions listing;
};

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

Cell state_cell(const tenon::Json& plugin) {
  const std::string state = plugin["state"].text();
  return {state, state_style(state)};
}

std::string no_plugins_text() {
  std::string text = "no plugins were found; these folders were searched:\n";
  const tenon::Json folders = tenon::listing::runtime()["folders"];
  for (int64_t i = 0; i < folders.size(); ++i)
    text += format_text("  {}\n", folders[i]["path"].text());
  return text;
}

int list_plugins(const PluginsOptions& options) {
  if (!options.retry.empty()) return retry(options.retry);
  const tenon::Json all = tenon::listing::plugins();
  const std::string none = all.size() == 0 ? no_plugins_text() : "";
  const ListingForm form{"plugin",
                         {{"PLUGIN", member("id", "-")},
                          {"VERSION", member("version", "-")},
                          {"STATE", state_cell},
                          {"OPS", number_member("ops"), Align::right},
                          {"MODULES", number_member("modules"), Align::right},
                          {"FOUND BY", member("origin")},
                          {"PATH", member("path"), Align::left, true}},
                         {},
                         none.c_str(),
                         "id"};
  const tenon::Json plugins = chosen_rows(all, options.listing, form);
  print_listing(plugins, options.listing, form);
  bool refused = false;
  std::string reasons;
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const std::string state = plugins[i]["state"].text(), reason = plugins[i]["reason"].text();
    refused = refused || is_refused(state);
    if (!reason.empty())
      reasons += format_text("{}  {}\n", paint(stdout, state_style(state), state), reason);
  }
  if (!options.listing.json && !options.listing.names && !reasons.empty())
    print(fitted(format_text("\n{}", reasons), options.listing.wide ? 0 : output_width()));
  return refused ? kFault : kFine;
}

}  // namespace

void define_plugins(Commands& commands) {
  auto [command, options] = commands.add(
      list_plugins, "plugins", "List every plugin found: state, version, path, reason when refused",
      "  tenon plugins\n"
      "  tenon --plugin-path build plugins --json\n"
      "  tenon plugins --retry hello\n"
      "Ends with 1 when a plugin is refused. Nothing is loaded to be listed.");
  command.option("--retry", options.retry, "NAME",
                 "Take this plugin out of quarantine, so that it may be loaded again");
  define_listing_options(command, options.listing, "plugin");
}

}  // namespace cli
