// tenon why: what would run for an op and the types of its operands, and why.
#include <tenon/config/config.hpp>
#include <tenon/explain.hpp>

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

// A word that `describe` reads as one, whatever is in it. Without letters it is an empty text.
std::string one_word(const std::string& word) {
  std::string out = word.empty() ? "''" : "";
  for (const char letter : word) {
    if (letter == ' ' || letter == '\\' || letter == '\'') out += '\\';
    out += letter;
  }
  return out;
}

}  // namespace

int explain_call(const WhyOptions& options) {
  if (!options.config.empty()) tenon::config::apply(tenon::config::read(options.config));
  std::string call = one_word(options.op);
  for (const std::string& operand : options.operands) call += format_text(" {}", one_word(operand));
  const tenon::Json why = tenon::describe("why", call);
  if (options.json)
    print_json(why);
  else
    print(painted(tenon::explain_text(why)));
  return why["error"].is_null() ? kFine : kFault;
}

}  // namespace cli
