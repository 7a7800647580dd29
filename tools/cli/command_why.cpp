// tenon why: what would run for an op and the types of its operands, and why.
#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "json.hpp"
#include "table.hpp"
#include "text.hpp"

namespace cli {

using tenon::Tree;

namespace {

std::string texts(const Tree& list) {
  std::string text;
  for (int64_t i = 0; i < list.size(); ++i) text += (i == 0 ? "" : ", ") + list[i].text();
  return text;
}

}  // namespace

int explain_call(const WhyOptions& options) {
  std::string call = options.op;
  for (const std::string& type : options.types) call += " " + type;
  const Tree why = tenon::describe("why", call);
  const bool fails = !why["error"].text().empty();
  if (options.json) {
    print_json(why);
    return fails ? kFault : kFine;
  }
  print(why["op"].text() + why["signature"].text() + "\n");
  Table table({{}, {"", Align::left, true}}, 2);
  std::string arguments;
  for (int64_t i = 0; i < why["arguments"].size(); ++i) {
    const Tree argument = why["arguments"][i];
    arguments += (i == 0 ? "" : ", ") + argument["name"].text() + ": " + argument["type"].text();
  }
  table.add({"arguments", arguments});
  table.add({"modes", why["modes"].size() == 0 ? "none" : texts(why["modes"])});
  table.add(
      {"asked", why["order"].size() == 0 ? "nobody: all operands are plain" : texts(why["order"])});
  for (int64_t i = 0; i < why["steps"].size(); ++i) {
    const Tree step = why["steps"][i];
    const std::string by = step["provider"].text();
    const std::string reason = step["reason"].text();
    table.add({i == 0 ? "steps" : "", std::to_string(i + 1) + ". " + step["type"].text() + ": " +
                                          step["what"].text() +
                                          (by.empty() ? "" : ", plugin " + by) +
                                          (reason.empty() ? "" : " - passed over: " + reason)});
  }
  if (fails) {
    table.add({"fails", {why["error"].text(), Style::red}});
    if (why["nearest"].size() > 0) table.add({"nearest", texts(why["nearest"])});
  } else {
    table.add({"runs",
               {why["answer"]["what"].text() + ", plugin " + why["answer"]["provider"].text(),
                Style::green}});
    table.add({"gradient", why["gradient"].text()});
  }
  print(table.text());
  return fails ? kFault : kFine;
}

}  // namespace cli
