// tenon modules: every module type that a config can build a model of.
#include <tenon/listing/listing.hpp>

#include "commands.hpp"
#include "listing.hpp"

namespace cli {

void define_modules(Commands& commands) {
  define_listing(commands,
                 {"modules",
                  "List every module that a model can be built of",
                  "  tenon modules\n"
                  "  tenon modules conv",
                  tenon::listing::modules,
                  {"module",
                   {{"MODULE", member("name")},
                    {"ATTRIBUTES", member("signature"), Align::left, true},
                    {"PLUGIN", member("provider")}},
                   {{"MODULE", call_cell, Align::left, true}, {"PLUGIN", member("provider")}},
                   "no plugin declares a module; see `tenon plugins`\n"}});
}

}  // namespace cli
