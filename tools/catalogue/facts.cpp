// Reading what is installed from listings.
#include "facts.hpp"

#include <tenon/error.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/trust/sha256.hpp>

namespace cli {

namespace listing = tenon::listing;
using tenon::Json;

namespace {

std::vector<Json> elements(const Json& list) {
  std::vector<Json> all;
  for (int64_t i = 0; i < list.size(); ++i) all.push_back(list[i]);
  return all;
}

std::map<std::string, Handled> handled(const Json& coverage) {
  std::map<std::string, Handled> ops;
  for (const Json& op : elements(coverage["ops"])) {
    const Json first = op["ways"][int64_t{0}];
    const std::string by = first.defined() ? first["rule"].text() : op["by"].text();
    ops[op["name"].text()] = {op["how"].text(), by};
  }
  return ops;
}

}  // namespace

CatalogueFacts read_catalogue_facts(const CatalogueOptions& options) {
  CatalogueFacts facts;
  facts.ops = elements(listing::ops_in_full());
  facts.modules = elements(listing::modules_in_full());
  facts.plugins = elements(listing::plugins());
  std::vector<std::string> usable;
  for (const Json& plugin : facts.plugins) {
    const std::string id = plugin["id"].text();
    if (id.empty()) continue;
    if (plugin["state"].text() != "failed") usable.push_back(id);
    try {
      facts.hashes[id] = tenon::trust::sha256_file(plugin["path"].text());
    } catch (const tenon::Error&) {  // the listing says what is wrong with the file
    }
  }
  // Children open plugins first: those that end or hold up their process are not for this one.
  facts.samples = results_of_samples(usable, options.session, options.no_samples);
  tenon::JsonArray refused;
  for (const auto& [id, reason] : facts.samples.refused)
    refused.add(tenon::JsonObject().set("name", id).set("load", "never").json());
  tenon::apply_policy(tenon::JsonObject().set("plugins", refused.json()).json());
  for (const Json& type : elements(listing::types())) {
    const std::string name = type["name"].text();
    try {
      facts.types.push_back(listing::type(name));
      facts.by_type[name] = handled(listing::coverage(name));
      facts.type_names.push_back(name);
    } catch (const tenon::Error& error) {
      facts.types.push_back(type);
      facts.faults[name] = error.what();
    }
  }
  facts.by_vmap = handled(listing::transform_coverage("vmap"));
  return facts;
}

}  // namespace cli
