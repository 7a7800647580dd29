// tenon ambiguities: overrides between which nothing decides, and the one that would.
#include <tenon/config/config.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "listing.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

namespace {

struct AmbiguityOptions {
  std::string config;  // whose plugins and preferences to look at; empty: none
  bool json = false;
};

std::string types_of(const Json& ambiguity) {
  std::vector<std::string> types;
  for (int64_t i = 0; i < ambiguity["types"].size(); ++i)
    types.push_back(ambiguity["types"][i].text());
  return join(types, ", ");
}

std::string overrides_of(const Json& ambiguity) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < ambiguity["overrides"].size(); ++i) {
    const Json entry = ambiguity["overrides"][i];
    texts.push_back(format_text("{} of {}", entry["key"].text(), entry["provider"].text()));
  }
  return join(texts, ", ");
}

std::string fix_of(const Json& ambiguity) {
  return format_text("register {}", ambiguity["fix"].text());
}

int list_ambiguities(const AmbiguityOptions& options) {
  if (!options.config.empty()) tenon::config::apply(tenon::config::read(options.config));
  const Json ambiguities = tenon::listing::ambiguities();
  if (options.json)
    print_json(ambiguities);
  else
    print_rows(ambiguities,
               {{"OP", member("op")},
                {"OPERANDS", types_of},
                {"OVERRIDES", overrides_of, Align::left, true},
                {"POSSIBLE FIX", fix_of}},
               "no overrides are ambiguous\n");
  return ambiguities.size() == 0 ? kFine : kFault;
}

}  // namespace

void define_ambiguities(Commands& commands) {
  auto [command, options] =
      commands.add(list_ambiguities, "ambiguities",
                   "List overrides between which nothing decides, and what would",
                   "  tenon ambiguities\n"
                   "  tenon ambiguities --config digits.json --json\n"
                   "Ends with 1 when there are some.");
  command.with_config(options.config);
  command.json(options.json);
}

}  // namespace cli
