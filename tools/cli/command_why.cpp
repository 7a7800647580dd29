// tenon why: what would run for an op and the types of its operands, and why.
#include <algorithm>

#include <tenon/config/config.hpp>
#include <tenon/explain.hpp>
#include <tenon/listing/why.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"

namespace cli {

namespace {

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

}  // namespace

int explain_call(const WhyOptions& options) {
  if (!options.config.empty()) tenon::config::apply(tenon::config::read(options.config));
  // An empty word is an empty text.
  std::vector<std::string> operands = options.operands;
  std::replace(operands.begin(), operands.end(), std::string(), std::string("''"));
  const tenon::Json why = tenon::listing::why(options.op, operands);
  if (options.json)
    print_json(why);
  else
    print(painted(tenon::explain_text(why)));
  return why["error"].is_null() ? kFine : kFault;
}

}  // namespace cli
