// tenon signature: how an op is called.

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "op_document.hpp"

namespace cli {

namespace {

struct SignatureOptions {
  std::string op;
  bool json = false;
};

int print_signature(const SignatureOptions& options) {
  const tenon::Json op = op_document(options.op);
  const std::string signature = op["signature"].text();
  if (options.json) {
    print_json(tenon::JsonObject()
                   .set("name", op["name"])
                   .set("signature", signature)
                   .set("schema", op["schema"]));
  } else {
    print_fitted(format_text("{}\n", signature));
  }
  return kFine;
}

}  // namespace

void define_signature(Commands& commands) {
  auto [command, options] = commands.add(print_signature, "signature", "Print how an op is called",
                                         "  tenon signature add\n"
                                         "  tenon signature nn.functional.linear");
  command.argument(options.op, "OP", "The op, by full name or its last part");
  command.json(options.json);
}

}  // namespace cli
