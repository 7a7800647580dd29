// tenon show: whatever bears a name, op, plugin, module or tensor type, in full.
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "text.hpp"
#include "views.hpp"

namespace cli {

namespace {

using tenon::Json;

struct Named {
  std::string kind;
  std::string name;
};

std::vector<Named> everything() {
  std::vector<Named> list;
  const auto collect = [&](const std::string& kind, const char* listing, const char* key) {
    const Json document = tenon::describe(listing);
    for (int64_t i = 0; i < document.size(); ++i) {
      const std::string name = document[i][key].text();
      const bool again = !list.empty() && list.back().name == name && list.back().kind == kind;
      if (!name.empty() && !again) list.push_back({kind, name});
    }
  };
  collect("op", "ops", "name");
  collect("plugin", "plugins", "id");
  collect("module", "modules", "name");
  collect("type", "types", "name");
  return list;
}

// What `matches` the name, in the order of the list.
template <class Matches>
std::vector<Named> chosen(const std::vector<Named>& all, Matches&& matches) {
  std::vector<Named> list;
  for (const Named& item : all) {
    if (matches(item)) list.push_back(item);
  }
  return list;
}

// The name in full, else as the last part; letters of the other case only when nothing else fits.
std::vector<Named> find_named(const std::vector<Named>& all, const std::string& name) {
  std::vector<Named> found = chosen(all, [&](const Named& item) { return item.name == name; });
  if (found.empty()) {
    found = chosen(
        all, [&](const Named& item) { return item.name.ends_with(format_text(".{}", name)); });
  }
  if (found.empty()) {
    const std::string asked = lower(name);
    found = chosen(all, [&](const Named& item) {
      return lower(item.name) == asked || lower(item.name).ends_with(format_text(".{}", asked));
    });
  }
  return found;
}

}  // namespace

int show_name(const ListOptions& options) {
  const std::vector<Named> all = everything();
  const std::vector<Named> found = find_named(all, options.name);
  if (found.empty()) {
    std::vector<std::string> names;
    for (const Named& item : all) names.push_back(item.name);
    throw tenon::ValueError(format_text("no op, plugin, module or type is named '{}'{}",
                                        options.name, tenon::suggestion(options.name, names)));
  }
  tenon::JsonArray list;
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string& kind = found[i].kind;
    const Json document = tenon::describe(kind, found[i].name);
    if (options.json) {
      tenon::JsonObject item;
      item.set("kind", kind);
      for (int64_t m = 0; m < document.size(); ++m) item.set(document.key(m), document[m]);
      list.add(item.json());
      continue;
    }
    if (i > 0) print("\n");
    if (kind == "op") print_op(document);
    if (kind == "plugin") print_plugin(document);
    if (kind == "module") print_module(document);
    if (kind == "type") print_type(document);
  }
  if (options.json) {
    print_json(list.json());
    return kFine;
  }
  // A module and an op of one name differ in their first letter only; both are worth a mention.
  std::string others;
  for (const Named& item : chosen(all, [&](const Named& other) {
         return lower(other.name) == lower(options.name) ||
                lower(other.name).ends_with(format_text(".{}", lower(options.name)));
       })) {
    bool is_shown = false;
    for (const Named& one : found)
      is_shown = is_shown || (one.name == item.name && one.kind == item.kind);
    if (!is_shown)
      others += format_text("{}{} {}", others.empty() ? "" : ", ", item.kind, item.name);
  }
  if (!others.empty())
    print(format_text("{}\n", paint(stdout, Style::dim, format_text("\nsee also: {}", others))));
  return kFine;
}

}  // namespace cli
