// tenon show: whatever bears a name, op, plugin, module, tensor type or rewrite, in full.
#include <algorithm>
#include <filesystem>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "listing.hpp"
#include "name_pattern.hpp"
#include "rewrite_list.hpp"
#include "text.hpp"
#include "views.hpp"

namespace cli {

namespace {

struct ShowOptions {
  std::string name;
  bool all = false;  // internal ops, too
  bool json = false;
};

namespace listing = tenon::listing;
using tenon::Json;

struct Named {
  std::string kind;
  std::string name;
  Json listed;  // its row in the listing of its kind
};

std::vector<Named> everything() {
  std::vector<Named> list;
  const auto collect = [&](const std::string& kind, const Json& document, const char* key) {
    for (int64_t i = 0; i < document.size(); ++i) {
      const std::string name = document[i][key].text();
      const bool again = !list.empty() && list.back().name == name && list.back().kind == kind;
      if (!name.empty() && !again) list.push_back({kind, name, document[i]});
    }
  };
  collect("op", listing::ops(), "name");
  collect("plugin", listing::plugins(), "id");
  collect("module", listing::modules(), "name");
  collect("type", listing::types(), "name");
  collect("rewrite", rewrites_document(), "name");
  return list;
}

// The first of that name, where several have it and none is used.
Json listed_rewrite(const std::string& name) {
  const Json rules = rewrites_document();
  for (int64_t i = 0; i < rules.size(); ++i) {
    if (rules[i]["name"].text() == name) return rules[i];
  }
  return {};
}

Json listed(const Named& item) {
  if (item.kind == "rewrite") return listed_rewrite(item.name);
  return item.kind == "op"       ? listing::op(item.name)
         : item.kind == "plugin" ? listing::plugin(item.name)
         : item.kind == "module" ? listing::module(item.name)
                                 : listing::type(item.name);
}

// Entries whose name `matches`, in the order of the list.
template <class Matches>
std::vector<Named> chosen(const std::vector<Named>& all, Matches&& matches) {
  std::vector<Named> list;
  for (const Named& item : all) {
    if (matches(item)) list.push_back(item);
  }
  return list;
}

bool is_hidden(const Named& item, const ShowOptions& options) {
  return item.kind == "op" && !options.all && listing::is_internal(item.name);
}

// The name in full, else as the last part; letters of the other case only when nothing else fits.
std::vector<Named> find_named(const std::vector<Named>& everything, const ShowOptions& options) {
  const std::string& name = options.name;
  std::vector<Named> found =
      chosen(everything, [&](const Named& item) { return item.name == name; });
  const std::vector<Named> all =
      chosen(everything, [&](const Named& item) { return !is_hidden(item, options); });
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

// The first sentence of its doc; of a plugin its version.
std::string summary_text(const Json& row) {
  const std::string doc = row["doc"].text(row["version"].text());
  const size_t end = doc.find(". ");
  return end == doc.npos ? doc : doc.substr(0, end);
}

// The document of an entry as JSON.
Json shown(const std::string& kind, const Json& document) {
  tenon::JsonObject item;
  item.set("kind", kind);
  for (int64_t m = 0; m < document.size(); ++m) item.set(document.key(m), document[m]);
  return item.json();
}

// Plugin files that have no id, because they were refused: by path, file name, or what is before
// ".so". False when there is none.
bool show_refused(const ShowOptions& options) {
  const std::filesystem::path asked(options.name);
  const Json plugins = tenon::listing::plugins();
  tenon::JsonArray list;
  int64_t count = 0;
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const std::filesystem::path path = plugins[i]["path"].text();
    std::error_code ignored;
    if (!plugins[i]["id"].text().empty() || (path.filename() != asked && path.stem() != asked &&
                                             !std::filesystem::equivalent(path, asked, ignored)))
      continue;
    if (options.json) {
      list.add(shown("plugin", plugins[i]));
    } else {
      if (count > 0) print("\n");
      print_plugin(plugins[i]);
    }
    ++count;
  }
  if (options.json && count > 0) print_json(list.json());
  return count > 0;
}

// Lists all that the pattern names: a line for each, or the rows of the listings.
int show_pattern(const ShowOptions& options) {
  const std::vector<Named> all =
      chosen(everything(), [&](const Named& item) { return !is_hidden(item, options); });
  std::vector<std::string> names;
  for (const Named& item : all) names.push_back(item.name);
  const NamePattern pattern(options.name, names);
  std::vector<Named> found =
      chosen(all, [&](const Named& item) { return pattern.matches(item.name); });
  if (found.empty())
    throw tenon::ValueError(format_text("no op, plugin, module, type or rewrite matches '{}'{}",
                                        options.name, pattern.suggestion()));
  std::stable_sort(found.begin(), found.end(),
                   [](const Named& a, const Named& b) { return a.name < b.name; });
  tenon::JsonArray list;
  for (const Named& item : found) list.add(shown(item.kind, item.listed));
  if (options.json) {
    print_json(list.json());
    return kFine;
  }
  page_output();
  print_rows(list.json(),
             {{"NAME", [](const Json& row) { return Cell(row["name"].text(row["id"].text())); }},
              {"KIND", member("kind")},
              {"SUMMARY", summary_text, Align::left, true}},
             "");
  return kFine;
}

int show_name(const ShowOptions& options) {
  if (NamePattern::is_one(options.name)) return show_pattern(options);
  const std::vector<Named> all = everything();
  const std::vector<Named> found = find_named(all, options);
  if (found.empty()) {
    if (show_refused(options)) return kFault;
    // A file that is in no folder of plugins: the error says why it is refused, if it is.
    if (options.name.find('/') != std::string::npos && std::filesystem::exists(options.name)) {
      const Json declared = tenon::listing::declarations(options.name);
      throw tenon::ValueError(
          format_text("plugin '{}' of this file is in no folder that is searched: give its folder "
                      "to --plugin-path",
                      declared["id"].text()));
    }
    std::vector<std::string> names;
    names.reserve(all.size());
    for (const Named& item : all) {
      if (!is_hidden(item, options)) names.push_back(item.name);
    }
    const std::vector<Named> hidden = find_named(all, {options.name, true, false});
    throw tenon::ValueError(format_text(
        "no op, plugin, module, type or rewrite is named '{}'{}", options.name,
        hidden.empty() ? suggested(options.name, names)
                       : format_text("; `--all` finds the internal op {}", hidden[0].name)));
  }
  if (!options.json) page_output();
  tenon::JsonArray list;
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string& kind = found[i].kind;
    const Json document = listed(found[i]);
    if (options.json) {
      list.add(shown(kind, document));
      continue;
    }
    if (i > 0) print("\n");
    if (kind == "op") print_op(document);
    if (kind == "plugin") print_plugin(document);
    if (kind == "module") print_module(document);
    if (kind == "type") print_type(document);
    if (kind == "rewrite") print_rewrite(document);
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
    if (!is_shown && !is_hidden(item, options))
      others += format_text("{}{} {}", others.empty() ? "" : ", ", item.kind, item.name);
  }
  if (!others.empty())
    print_fitted(
        format_text("{}\n", paint(stdout, Style::dim, format_text("\nsee also: {}", others))));
  return kFine;
}

}  // namespace

void define_show(Commands& commands) {
  auto [command, options] =
      commands.add(show_name, "show", "Show an op, plugin, module, tensor type or rewrite in full",
                   "  tenon show linear\n"
                   "  tenon show math\n"
                   "  tenon show Conv2d --json\n"
                   "  tenon show 'nn.*'\n"
                   "Shows all that bear the name; JSON is a list, each with its \"kind\".");
  command.argument(options.name, "NAME",
                   "A name in full, or its last part; or a pattern, which lists what it matches");
  command.flag("-a,--all", options.all, "Internal ops, too, such as those of gradients");
  command.json(options.json);
}

}  // namespace cli
