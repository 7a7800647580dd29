// tenon signature: how an op is called.
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"

namespace cli {

int print_signature(const ListOptions& options) {
  const std::string signature = tenon::listing::signature(options.name);
  if (options.json) {
    const tenon::Json op = tenon::listing::op(options.name);
    print_json(tenon::JsonObject()
                   .set("name", op["name"])
                   .set("signature", signature)
                   .set("schema", op["schema"]));
  } else {
    print(format_text("{}\n", signature));
  }
  return kFine;
}

}  // namespace cli
