// Declarations of two builds of a plugin held against each other.
#include <algorithm>
#include <array>
#include <unordered_map>

#include <tenon/listing/compatibility.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

namespace {

using lib::format_text, lib::quote;

struct Change {
  bool breaks;
  std::string kind, name, what;
};

// Collects the changes of one item.
class Changes {
 public:
  Changes(std::vector<Change>& list, std::string kind, std::string name)
      : list_(list), kind_(std::move(kind)), name_(std::move(name)) {}

  void breaks(std::string what) { list_.push_back({true, kind_, name_, std::move(what)}); }
  void adds(std::string what) { list_.push_back({false, kind_, name_, std::move(what)}); }
  void breaks_if(bool broken, const char* what) {
    if (broken) breaks(what);
  }

 private:
  std::vector<Change>& list_;
  std::string kind_, name_;
};

// ---- schemas ----

// A value of a kind that another takes as well, with the same meaning.
bool takes_kind(const std::string& now, const std::string& before) {
  static constexpr std::array<std::array<std::string_view, 2>, 9> wider = {
      {{"Tensor", "Tensor|Scalar"},
       {"Scalar", "Tensor|Scalar"},
       {"int", "Scalar"},
       {"int", "float"},
       {"float", "Scalar"},
       {"bool", "Scalar"},
       {"int", "Tensor|Scalar"},
       {"float", "Tensor|Scalar"},
       {"bool", "Tensor|Scalar"}}};
  return now == before || now == "any" ||
         std::any_of(wider.begin(), wider.end(),
                     [&](const auto& pair) { return pair[0] == before && pair[1] == now; });
}

// Whether everything that could be passed before can be passed now.
bool takes_all(const Json& now, const Json& before) {
  return takes_kind(now["kind"].text(), before["kind"].text()) &&
         now["list"].as_bool() == before["list"].as_bool() &&
         now["dictionary"].as_bool() == before["dictionary"].as_bool() &&
         now["length"].integer() == before["length"].integer() &&
         (now["optional"].as_bool() || !before["optional"].as_bool());
}

// Without what aliasing adds, which is compared by parameter: "Tensor?" of "Tensor(a!)?".
std::string plain_type_text(const Json& type) {
  std::string text = type["type"].text();
  if (const size_t open = text.find('('); open != std::string::npos)
    text.erase(open, text.find(')') - open + 1);
  return text;
}

int64_t find_parameter(const Json& parameters, const std::string& name) {
  for (int64_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i]["name"].text() == name) return i;
  }
  return -1;
}

// The place of the first parameter with the result's letter; -1: the result is fresh.
int64_t aliased_place(const Json& parameters, const Json& result) {
  const std::string letter = result["alias"].text();
  for (int64_t i = 0; i < parameters.size() && !letter.empty(); ++i) {
    if (parameters[i]["alias"].text() == letter) return i;
  }
  return -1;
}

std::string default_text(const Json& parameter) { return parameter["default"].text("no default"); }
bool has_default(const Json& parameter) { return parameter["default"].defined(); }
bool is_keyword(const Json& parameter) { return parameter["keyword_only"].as_bool(); }

void compare_parameter(Changes& changes, const Json& before, const Json& now) {
  const std::string name = quote(before["name"].text());
  const bool mutates = now["mutates"].as_bool();
  if (!takes_all(now, before)) {
    changes.breaks(format_text("its parameter {} takes {} instead of {}", name,
                               plain_type_text(now), plain_type_text(before)));
  }
  if (mutates != before["mutates"].as_bool()) {
    changes.breaks(format_text("it {} its argument {} in place now",
                               mutates ? "changes" : "does not change", name));
  }
  if (has_default(before) && default_text(before) != default_text(now)) {
    changes.breaks(has_default(now)
                       ? format_text("the default of its parameter {} is {} instead of {}", name,
                                     default_text(now), default_text(before))
                       : format_text("its parameter {} has no default now; it was {}", name,
                                     default_text(before)));
  }
  if (!is_keyword(before) && is_keyword(now))
    changes.breaks(format_text("its parameter {} is taken by name only now", name));
}

// A parameter that has no other of its name now: renamed, or gone. Returns whether it was renamed.
bool compare_missing(Changes& changes, const Json& all_before, const Json& all_now, int64_t place) {
  const Json before = all_before[place], now = all_now[place];
  const std::string name = quote(before["name"].text());
  const bool renamed = now.defined() && find_parameter(all_before, now["name"].text()) < 0 &&
                       is_keyword(now) == is_keyword(before) && takes_all(now, before);
  changes.breaks(
      renamed ? format_text("its parameter {} is called {} now", name, quote(now["name"].text()))
              : format_text("it has no parameter {} now", name));
  if (renamed && has_default(before) && !has_default(now))
    changes.breaks(format_text("its parameter {} has no default", quote(now["name"].text())));
  return renamed;
}

void compare_parameters(Changes& changes, const Json& before, const Json& now) {
  std::vector<bool> known(static_cast<size_t>(now.size()));
  for (int64_t i = 0; i < before.size(); ++i) {
    const Json parameter = before[i];
    const int64_t place = find_parameter(now, parameter["name"].text());
    if (place < 0) {
      if (compare_missing(changes, before, now, i)) known[static_cast<size_t>(i)] = true;
      continue;
    }
    known[static_cast<size_t>(place)] = true;
    compare_parameter(changes, parameter, now[place]);
    if (!is_keyword(parameter) && !is_keyword(now[place]) && place != i) {
      changes.breaks(format_text("its parameter {} has moved from place {} to {}",
                                 quote(parameter["name"].text()), i + 1, place + 1));
    }
  }
  for (int64_t i = 0; i < now.size(); ++i) {
    if (known[static_cast<size_t>(i)]) continue;
    const std::string name = quote(now[i]["name"].text());
    if (has_default(now[i]))
      changes.adds(
          format_text("it has a parameter {} with the default {}", name, default_text(now[i])));
    else
      changes.breaks(format_text("it requires a parameter {}, which was not there", name));
  }
}

void compare_alias(Changes& changes, const Json& before, const Json& now, int64_t place) {
  const auto base_name = [](const Json& schema, int64_t base) {
    return quote(schema["parameters"][base]["name"].text());
  };
  const int64_t old_base = aliased_place(before["parameters"], before["returns"][place]);
  const int64_t new_base = aliased_place(now["parameters"], now["returns"][place]);
  if (old_base == new_base) return;
  if (old_base >= 0) {
    changes.breaks(format_text("its result {} does not share memory with its argument {} now",
                               place + 1, base_name(before, old_base)));
  }
  if (new_base >= 0) {
    changes.breaks(format_text("its result {} shares memory with its argument {} now", place + 1,
                               base_name(now, new_base)));
  }
}

void compare_returns(Changes& changes, const Json& before, const Json& now) {
  const Json old_results = before["returns"], new_results = now["returns"];
  if (old_results.size() != new_results.size()) {
    changes.breaks(format_text("it returns {} instead of {}", counted(new_results.size(), "result"),
                               old_results.size()));
    return;
  }
  for (int64_t i = 0; i < old_results.size(); ++i) {
    const std::string old_type = plain_type_text(old_results[i]);
    const std::string new_type = plain_type_text(new_results[i]);
    if (old_type != new_type)
      changes.breaks(format_text("its result {} is {} instead of {}", i + 1, new_type, old_type));
    compare_alias(changes, before, now, i);
    const std::string old_name = old_results[i]["name"].text();
    const std::string new_name = new_results[i]["name"].text();
    if (!old_name.empty() && old_name != new_name) {
      changes.breaks(format_text(
          "its result {} is {}; it was called {}", i + 1,
          new_name.empty() ? "without a name" : format_text("called {}", quote(new_name)),
          quote(old_name)));
    }
  }
}

void compare_schemas(Changes& changes, const Json& before, const Json& now) {
  if (before.text() == now.text()) return;
  const Json old_schema = parse_schema(before.text()), new_schema = parse_schema(now.text());
  compare_parameters(changes, old_schema["parameters"], new_schema["parameters"]);
  compare_returns(changes, old_schema, new_schema);
}

// ---- items ----

bool has_flag(const Json& item, int64_t flag) { return (item["flags"].integer() & flag) != 0; }
bool gains(const Json& before, const Json& now, int64_t flag) {
  return !has_flag(before, flag) && has_flag(now, flag);
}
bool lacks(const Json& item, const char* rule) { return item[rule].text() == "none"; }

void compare_gradients(Changes& changes, const Json& before, const Json& now) {
  const bool had = !lacks(before, "differentiable"), has = !lacks(now, "differentiable");
  const bool zero = has_flag(now, TENON_OP_ZERO_GRADIENT);
  if (had && !has) {
    changes.breaks(zero ? "its gradient is zero now" : "it has no gradient now");
  } else if (!had && !has && !zero && has_flag(before, TENON_OP_ZERO_GRADIENT)) {
    changes.breaks("a call that is recorded is an error now; its gradient was zero");
  } else if (!had && has) {
    changes.adds("it has a gradient");
  }
  changes.breaks_if(has && gains(before, now, TENON_OP_ONCE_DIFFERENTIABLE),
                    "differentiating its backward is an error now");
}

void compare_op(Changes& changes, const Json& before, const Json& now) {
  compare_schemas(changes, before["schema"], now["schema"]);
  compare_gradients(changes, before, now);
  changes.breaks_if(!lacks(before, "jvp") && lacks(now, "jvp"), "it has no jvp now");
  changes.breaks_if(!lacks(now, "jvp") && gains(before, now, TENON_OP_JVP_ONCE),
                    "differentiating its jvp is an error now");
  changes.breaks_if(gains(before, now, TENON_OP_NOT_OVERRIDABLE), "it cannot be overridden now");
  changes.breaks_if(gains(before, now, TENON_OP_MAY_COPY), "its result may be a copy now");
  if (lacks(before, "jvp") && !lacks(now, "jvp")) changes.adds("it has a jvp");
}

void compare_module(Changes& changes, const Json& before, const Json& now) {
  const Json old_forward = before["forward"], new_forward = now["forward"];
  compare_schemas(changes, before["schema"], now["schema"]);
  if (old_forward.defined() && new_forward.defined())
    compare_schemas(changes, old_forward, new_forward);
  changes.breaks_if(old_forward.defined() && !new_forward.defined(),
                    "how it is called is not declared now");
  changes.breaks_if(before["mode"].as_bool() && !now["mode"].as_bool(),
                    "it cannot be entered as a mode now");
}

void compare_type(Changes& changes, const Json& before, const Json& now) {
  const std::string old_parent = before["parent"].text("no type");
  const std::string new_parent = now["parent"].text("no type");
  const auto differs = [&](const char* key) { return before[key].dump() != now[key].dump(); };
  if (old_parent != new_parent)
    changes.breaks(format_text("it derives from {} instead of {}", new_parent, old_parent));
  changes.breaks_if(differs("payload"),
                    "its payload is laid out otherwise: what reads it has to be built again");
  changes.breaks_if(before["handler"].as_bool() && !now["handler"].as_bool(),
                    "it has no handler now");
  changes.breaks_if(differs("fallback"), "ops that it does not handle are treated otherwise");
  changes.breaks_if(differs("metadata"), "payloads of results are made in another way");
  changes.breaks_if(gains(before, now, TENON_TYPE_NEVER_OPERAND),
                    "no op accepts an operand of it now");
}

void compare_override(Changes& changes, const Json& before, const Json& now) {
  changes.breaks_if(before["accepts"].text() != now["accepts"].text(), "it accepts other operands");
}

// Items of a kind that both facts have under `list`, by the member `key`.
struct ItemList {
  const char *list, *kind, *key;
  void (*compare)(Changes& changes, const Json& before, const Json& now);
};
constexpr std::array<ItemList, 4> kItemLists = {
    {{"ops", "op", "name", compare_op},
     {"modules", "module", "name", compare_module},
     {"types", "type", "name", compare_type},
     {"overrides", "override", "key", compare_override}}};

void compare_items(std::vector<Change>& list, const ItemList& items, const Json& before,
                   const Json& now) {
  std::unordered_map<std::string, Json> added;
  for (int64_t i = 0; i < now.size(); ++i) added.emplace(now[i][items.key].text(), now[i]);
  for (int64_t i = 0; i < before.size(); ++i) {
    const std::string name = before[i][items.key].text();
    Changes changes(list, items.kind, name);
    const auto found = added.find(name);
    if (found == added.end()) {
      changes.breaks("it is not there now");
      continue;
    }
    items.compare(changes, before[i], found->second);
    added.erase(found);
  }
  for (int64_t i = 0; i < now.size(); ++i) {
    const std::string name = now[i][items.key].text();
    if (added.count(name) > 0) Changes(list, items.kind, name).adds("it is new");
  }
}

// The three numbers of a semantic version, and whether it is a prerelease.
struct Version {
  std::array<int64_t, 3> numbers{};
  bool prerelease = false;
};
Version version_of(const std::string& text) {
  Version version;
  const char* at = text.c_str();
  for (int64_t& number : version.numbers) {
    char* end = nullptr;
    number = std::strtoll(at, &end, 10);
    at = *end == '.' ? end + 1 : end;
  }
  version.prerelease = *at == '-';
  return version;
}

}  // namespace

bool version_may_break(const std::string& old_version, const std::string& new_version) {
  const Version before = version_of(old_version), now = version_of(new_version);
  if (now.numbers < before.numbers || now.numbers[0] != before.numbers[0]) return true;
  if (now.numbers == before.numbers && now.prerelease && !before.prerelease) return true;
  return now.numbers[0] == 0 && now.numbers[1] != before.numbers[1];
}

Json changes_between(const Json& old_facts, const Json& new_facts) {
  std::vector<Change> list;
  Changes changes(list, "plugin", old_facts["id"].text());
  if (old_facts["id"].text() != new_facts["id"].text())
    changes.breaks(format_text("its id is {} now", quote(new_facts["id"].text())));
  const int64_t old_abi = old_facts["abi"][int64_t{0}].integer();
  const int64_t new_abi = new_facts["abi"][int64_t{0}].integer();
  if (old_abi != new_abi)
    changes.breaks(format_text("it needs a host of ABI {} instead of {}", new_abi, old_abi));
  for (const ItemList& items : kItemLists)
    compare_items(list, items, old_facts[items.list], new_facts[items.list]);
  std::stable_partition(list.begin(), list.end(), [](const Change& one) { return one.breaks; });
  JsonArray document;
  for (const Change& one : list) {
    document.add(JsonObject()
                     .set("breaks", one.breaks)
                     .set("kind", one.kind)
                     .set("name", one.name)
                     .set("what", one.what)
                     .json());
  }
  return document.json();
}

Json compatibility(const std::string& old_plugin, const std::string& new_plugin) {
  const Json before = plugin_facts(old_plugin), now = plugin_facts(new_plugin);
  const Json changes = changes_between(before, now);
  const auto side = [](const Json& facts) {
    return JsonObject()
        .set("id", facts["id"])
        .set("version", facts["version"])
        .set("path", facts["path"])
        .json();
  };
  return JsonObject()
      .set("old", side(before))
      .set("new", side(now))
      .set("breaks", changes[int64_t{0}]["breaks"].as_bool())
      .set("version_allows", version_may_break(before["version"].text(), now["version"].text()))
      .set("changes", changes)
      .json();
}

}  // namespace listing

TENON_NAMESPACE_END
