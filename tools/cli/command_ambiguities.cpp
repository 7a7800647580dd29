// tenon ambiguities: overrides between which nothing decides, and the one that would.
#include <tenon/config/config.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "table.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

int list_ambiguities(const AmbiguityOptions& options) {
  if (!options.config.empty()) tenon::config::apply(tenon::config::read(options.config));
  const Json ambiguities = tenon::listing::ambiguities();
  const int code = ambiguities.size() == 0 ? kFine : kFault;
  if (options.json) {
    print_json(ambiguities);
    return code;
  }
  Table table({{"OP"}, {"OPERANDS"}, {"OVERRIDES", Align::left, true}, {"POSSIBLE FIX"}});
  for (int64_t i = 0; i < ambiguities.size(); ++i) {
    const Json ambiguity = ambiguities[i];
    std::vector<std::string> types, entries;
    for (int64_t t = 0; t < ambiguity["types"].size(); ++t)
      types.push_back(ambiguity["types"][t].text());
    for (int64_t e = 0; e < ambiguity["overrides"].size(); ++e) {
      const Json entry = ambiguity["overrides"][e];
      entries.push_back(format_text("{} of {}", entry["key"].text(), entry["provider"].text()));
    }
    table.add({ambiguity["op"].text(), join(types, ", "), join(entries, ", "),
               format_text("register {}", ambiguity["fix"].text())});
  }
  print(table.empty() ? "no overrides are ambiguous\n" : table.text());
  return code;
}

}  // namespace cli
