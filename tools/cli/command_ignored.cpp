// tenon ignored: the ops that cannot be overridden, each with its reason.
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "json.hpp"
#include "table.hpp"

namespace cli {

int list_ignored(const ListOptions& options) {
  const tenon::Json ops = tenon::listing::ignored();
  if (options.json) {
    print_json(ops);
    return kFine;
  }
  Table table({{"OP"}, {"PLUGIN"}, {"REASON", Align::left, true}});
  for (int64_t i = 0; i < ops.size(); ++i) {
    table.add({ops[i]["name"].text(), ops[i]["provider"].text(), ops[i]["reason"].text()});
  }
  print(table.empty() ? "every op can be overridden\n" : table.text());
  return kFine;
}

}  // namespace cli
