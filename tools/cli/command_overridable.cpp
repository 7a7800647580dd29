// tenon overridable: the ops that tensor types and modes can override, namespace by namespace.
#include <algorithm>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "text.hpp"

namespace cli {

namespace {

struct OverridableOptions {
  std::string name;   // namespace; empty: all
  int64_t first = 0;  // only so many of a namespace; 0: all
  bool all = false;   // internal ones, too; documents have them in any case
  bool json = false;
};

constexpr size_t kLineWidth = 79;

// A list as Python prints it, broken where a line is full.
std::string list_text(const tenon::Json& names, int64_t count) {
  const auto width = static_cast<int64_t>(line_width(kLineWidth));
  std::string out = "[", line = "[";
  for (int64_t i = 0; i < count; ++i) {
    const std::string item = format_text("'{}'{}", names[i].text(), i + 1 < count ? "," : "]");
    const bool full = i > 0 && display_width(line) + 1 + display_width(item) > width;
    if (full) line.clear();
    if (i > 0) out += full ? "\n" : " ";
    if (i > 0 && !full) line += " ";
    out += item;
    line += item;
  }
  return out + (count == 0 ? "]\n" : "\n");
}

int64_t shown(const tenon::Json& names, const OverridableOptions& options) {
  return options.first > 0 ? std::min(options.first, names.size()) : names.size();
}

tenon::Json listed(const std::string& name, const tenon::Json& ops, bool all) {
  if (all) return ops;
  tenon::JsonArray list;
  for (int64_t i = 0; i < ops.size(); ++i) {
    const std::string op = ops[i].text();
    if (!tenon::listing::is_internal(name.empty() ? op : format_text("{}.{}", name, op)))
      list.add(op);
  }
  return list.json();
}

int list_overridable(const OverridableOptions& options) {
  const tenon::Json namespaces = tenon::listing::overridable(options.name);
  if (options.json) {
    tenon::JsonArray list;
    for (int64_t i = 0; i < namespaces.size(); ++i) {
      tenon::JsonArray ops;
      const tenon::Json names = namespaces[i]["ops"];
      for (int64_t n = 0; n < shown(names, options); ++n) ops.add(names[n]);
      list.add(tenon::JsonObject()
                   .set("namespace", namespaces[i]["namespace"])
                   .set("ops", ops.json())
                   .json());
    }
    print_json(list.json());
    return kFine;
  }
  bool first = true;
  int64_t hidden = 0;
  for (int64_t i = 0; i < namespaces.size(); ++i) {
    const std::string name = namespaces[i]["namespace"].text();
    const tenon::Json names = listed(name, namespaces[i]["ops"], options.all);
    hidden += namespaces[i]["ops"].size() - names.size();
    if (names.size() == 0) continue;
    if (options.name.empty())
      print(format_text("{}{}\n", first ? "" : "\n",
                        paint(stdout, Style::bold, name.empty() ? "tenon" : name)));
    print(list_text(names, shown(names, options)));
    first = false;
  }
  if (first && hidden > 0)
    print(format_text("{}, which --all lists\n", counted(hidden, "internal op")));
  return kFine;
}

}  // namespace

void define_overridable(Commands& commands) {
  auto [command, options] = commands.add(list_overridable, "overridable",
                                         "List the ops that can be overridden, by namespace",
                                         "  tenon overridable\n"
                                         "  tenon overridable nn.functional\n"
                                         "  tenon overridable nn.functional --first 5");
  command.optional_argument(options.name, "NAMESPACE", "Only this namespace");
  command.flag("--all", options.all, "Internal ops, too, which --json has in any case");
  command.number("--first", options.first, 1, 1000000000, "N", "Only the first N of a namespace");
  command.json(options.json);
}

}  // namespace cli
