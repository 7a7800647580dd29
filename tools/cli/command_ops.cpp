// tenon ops: every op that a plugin declares, or those that a pattern names.
#include <tenon/listing/listing.hpp>

#include "commands.hpp"
#include "listing.hpp"
#include "views.hpp"

namespace cli {

void define_ops(Commands& commands) {
  define_listing(commands, {"ops",
                            "List every op: signature, provider, differentiability",
                            "  tenon ops\n"
                            "  tenon ops conv\n"
                            "  tenon ops nn.functional\n"
                            "  tenon ops 'nn.*pool*' --json",
                            [] { return tenon::listing::ops(); },
                            {"op",
                             {{"OP", member("name")},
                              {"SIGNATURE", member("signature"), Align::left, true},
                              {"PLUGIN", member("provider")},
                              {"GRADIENT", gradient_text}},
                             {{"OP", call_cell, Align::left, true},
                              {"PLUGIN", member("provider")},
                              {"GRADIENT", gradient_text}},
                             "no plugin declares an op; see `tenon plugins`\n",
                             "name",
                             false,
                             "PLUGIN"}});
}

}  // namespace cli
