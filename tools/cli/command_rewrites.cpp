// tenon rewrites: the rules by which prepared models replace calls.
#include <tenon/config/config.hpp>
#include <tenon/training/training.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "listing.hpp"
#include "rewrite_list.hpp"

namespace cli {

namespace {

using tenon::Json;

struct RewritesOptions {
  std::string config;
  ListingOptions listed;
};

int list_rewrites(const RewritesOptions& options) {
  if (!options.config.empty())
    tenon::config::apply(tenon::training::read_config(options.config), tenon::EagerPlugins::wait);
  const auto state = [](const Json& rule) {
    return rule["active"].as_bool() ? Cell(bound_text(rule["bound"].number()))
                                    : Cell("not used", Style::yellow);
  };
  const auto calls = [](const Json& rule) {
    return Cell(rule[rule["active"].as_bool() ? "pattern" : "reason"].text());
  };
  ListingForm form{"rewrite",
                   {{"RULE", member("name")},
                    {"PLUGIN", member("plugin")},
                    {"RESULT", state},
                    {"CALLS, OR THE REASON", calls, Align::left, true}},
                   {},
                   "no plugin declares a rewrite; see `tenon plugins`\n"};
  form.in_order = true;
  print_listing(chosen_rows(rewrites_document(), options.listed, form), options.listed, form);
  return kFine;
}

}  // namespace

void define_rewrites(Commands& commands) {
  auto [command, options] = commands.add(list_rewrites, "rewrites",
                                         "List the rules by which prepared models replace calls",
                                         "  tenon rewrites\n"
                                         "  tenon rewrites nn\n"
                                         "  tenon rewrites --config train.json\n"
                                         "Rules are in the order in which they are tried; `tenon "
                                         "plan MODEL --prepared` shows which of "
                                         "them a model uses.");
  define_listing_options(command, options.listed, "rewrite");
  command.option("--config", options.config, "FILE", "Rank and disable rules as this config does");
}

}  // namespace cli
