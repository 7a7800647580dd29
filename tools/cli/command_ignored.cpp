// tenon ignored: the ops that cannot be overridden, each with its reason.
#include <tenon/listing/listing.hpp>

#include "commands.hpp"
#include "listing.hpp"

namespace cli {

void define_ignored(Commands& commands) {
  define_listing(commands, {"ignored",
                            "List the ops that cannot be overridden, each with its reason",
                            "  tenon ignored\n"
                            "  tenon ignored data",
                            tenon::listing::ignored,
                            {"op",
                             {{"OP", member("name")},
                              {"PLUGIN", member("provider")},
                              {"REASON", member("reason"), Align::left, true}},
                             {},
                             "every op can be overridden\n"}});
}

}  // namespace cli
