// tenon types: the types that stand in for Tensor.
#include <tenon/listing/listing.hpp>

#include "commands.hpp"
#include "listing.hpp"

namespace cli {

void define_types(Commands& commands) {
  const auto handler = [](const tenon::Json& type) {
    return Cell(type["handler"].as_bool() ? "yes" : "no");
  };
  define_listing(commands,
                 {"types",
                  "List the types that stand in for Tensor: parent, handler, fallback, overrides",
                  "  tenon types\n"
                  "  tenon --plugin-path build types --json",
                  tenon::listing::types,
                  {"type",
                   {{"TYPE", member("name")},
                    {"PARENT", member("parent", "-")},
                    {"HANDLER", handler},
                    {"FALLBACK", member("fallback")},
                    {"OVERRIDES", number_member("overrides"), Align::right},
                    {"PLUGIN", member("provider")}},
                   {},
                   "no plugin declares a tensor type; see `tenon plugins`\n"}});
}

}  // namespace cli
