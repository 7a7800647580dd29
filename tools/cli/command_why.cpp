// tenon why: what would run for an op and the types of its operands, and why.
#include <algorithm>
#include <optional>

#include <tenon/config/config.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/listing/why.hpp>
#include <tenon/shapes_only.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "written_arguments.hpp"

namespace cli {

namespace {

struct WhyOptions {
  std::string op;
  std::vector<std::string> operands;  // a type for each, in order or by name
  std::string config;                 // whose plugins and preferences are active
  bool json = false;
};

// The outcome, which is what most are after, in its colour.
std::string painted(const std::string& text) {
  std::string result;
  for (size_t start = 0; start < text.size();) {
    const size_t end = text.find('\n', start) + 1;
    const std::string line = text.substr(start, end - start - 1);
    const bool runs = line.starts_with("  runs "), fails = line.starts_with("  fails ");
    result += runs    ? paint(stdout, Style::green, line)
              : fails ? paint(stdout, Style::red, line)
                      : line;
    result += "\n";
    start = end;
  }
  return result;
}

// The op that the last part of its name means. An unknown name stays: the error of the runtime says which
// folders were searched, and what else has the name.
std::string full_name(const std::string& name) {
  const std::vector<std::string> names = tenon::listing::op_names();
  const std::string end = format_text(".{}", name);
  const bool known = std::any_of(names.begin(), names.end(), [&](const std::string& one) {
    return one.ends_with(end) && !tenon::listing::is_internal(one);
  });
  if (!known || std::find(names.begin(), names.end(), name) != names.end()) return name;
  return tenon::listing::op(name)["name"].text();
}

// Operands with shapes are written as `tenon call` takes them; no element is computed.
int explain_shapes(const WhyOptions& options) {
  const tenon::Op op(full_name(options.op));
  std::optional<WrittenArguments> arguments;
  {
    const tenon::ShapesOnly only;
    arguments.emplace(op, options.operands, false);
  }
  const tenon::Json why = explanation_of(op, *arguments);
  if (options.json)
    print_json(why);
  else
    print_fitted(painted(tenon::listing::explain_text(why)) + shapes_text(op, *arguments));
  return why["error"].is_null() ? kFine : kFault;
}

int explain_call(const WhyOptions& options) {
  if (!options.config.empty()) tenon::config::apply(tenon::config::read(options.config));
  if (std::any_of(options.operands.begin(), options.operands.end(), says_shape))
    return explain_shapes(options);
  // An empty word is an empty text.
  std::vector<std::string> operands = options.operands;
  std::replace(operands.begin(), operands.end(), std::string(), std::string("''"));
  const tenon::Json why = tenon::listing::why(full_name(options.op), operands);
  if (options.json)
    print_json(why);
  else
    print_fitted(painted(tenon::listing::explain_text(why)));
  return why["error"].is_null() ? kFine : kFault;
}

}  // namespace

void define_why(Commands& commands) {
  auto [command, options] =
      commands.add(explain_call, "why", "Print what would run for operands of these types, and why",
                   "  tenon why add ScalarTensor Tensor\n"
                   "  tenon why add Tensor:f32 Tensor:f64 alpha=Scalar\n"
                   "  tenon why cat ScalarTensor,Tensor dim=1 --json\n"
                   "  tenon why mul ScalarTensor Scalar --config digits.json\n"
                   "  tenon why add f32[8,1,6] f32[7,5]\n"
                   "If the call would fail, explains why in up to six lines and exits with status "
                   "1.");
  command.argument(options.op, "OP", "The op, by full name or its last part");
  command.arguments(
      options.operands, "TYPE",
      "A type for each operand, in order or as NAME=TYPE, with :DTYPE if it matters; "
      "A,B for a list, Scalar for a number, or a value; f32[2,3] for a tensor of this "
      "shape, beside which others are as `tenon call` takes them");
  command.with_config(options.config);
  command.json(options.json);
}

}  // namespace cli
