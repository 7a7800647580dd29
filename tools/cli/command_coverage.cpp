// tenon coverage: which ops a type that stands in for Tensor handles, and how; which operators of another
// format plugins convert; how vmap runs each op.
#include <charconv>
#include <map>
#include <utility>

#include <tenon/config/config.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/training/files.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

namespace {

struct CoverageOptions {
  std::string type;      // or FORMAT:VERSION, or transform:vmap
  std::string config;    // its settings of the type narrow the list
  std::string baseline;  // JSON of an earlier coverage: what it lost since is a fault
  bool all = false;      // internal ops, too; documents have them in any case
  bool json = false;
};

// The type, the transform or the format that a coverage is of.
std::string subject_of(const Json& coverage) {
  for (const char* kind : {"type", "transform"}) {
    if (coverage[kind].defined()) return coverage[kind].text();
  }
  return coverage["format"].text();
}

// Ops that were covered when the baseline was written and are missing now.
std::vector<std::string> lost_since(const std::string& file, const Json& coverage) {
  const Json before = Json::parse(tenon::training::read_file(file));
  const std::string subject = subject_of(coverage);
  if (subject_of(before) != subject) {
    throw tenon::ValueError(format_text(
        "the baseline '{}' is not one of '{}': write it with `tenon coverage {} --json`", file,
        subject, subject));
  }
  std::map<std::string, std::string> now;
  for (int64_t i = 0; i < coverage["ops"].size(); ++i)
    now[coverage["ops"][i]["name"].text()] = coverage["ops"][i]["how"].text();
  std::vector<std::string> lost;
  for (int64_t i = 0; i < before["ops"].size(); ++i) {
    const std::string name = before["ops"][i]["name"].text();
    const auto found = now.find(name);
    const bool covered = found != now.end() && found->second != "missing";
    if (before["ops"][i]["how"].text() != "missing" && !covered) lost.push_back(name);
  }
  return lost;
}

std::string names_of(const Json& ops, const std::string& how) {
  std::string names;
  for (int64_t i = 0; i < ops.size(); ++i) {
    if (ops[i]["how"].text() == how)
      names += format_text("{}{}", names.empty() ? "" : ", ", ops[i]["name"].text());
  }
  return names;
}

void print_way(const Json& coverage, const char* how, const char* meaning) {
  const int64_t count = coverage["counts"][how].integer();
  print_fitted(
      format_text("\n{} {}{}\n", paint(stdout, Style::bold, how), count,
                  count == 0 ? "" : paint(stdout, Style::dim, format_text("  {}", meaning))));
}

void print_type_coverage(const Json& coverage) {
  const Json ops = coverage["ops"];
  print_fitted(format_text(
      "{} (plugin {}), {} overridable ops{}", coverage["type"].text(), coverage["provider"].text(),
      ops.size(),
      coverage["covers"].defined() ? ", those that the config says it covers\n" : "\n"));
  const std::pair<const char*, const char*> ways[] = {
      {"handled", "by its own overrides"},
      {"handler", "asked of its handler, which may decline"},
      {"inherited", "by an ancestor, or the default handler"},
      {"fallback", "converted to Tensor"},
      {"missing", "TypeError"}};
  for (const auto& [how, meaning] : ways) {
    print_way(coverage, how, meaning);
    if (const std::string names = names_of(ops, how); !names.empty())
      print(wrapped(names, 2, line_width(98)));
  }
}

// Operators without a conversion, behind each reason that the complete list has for them.
void print_missing(const Json& ops) {
  std::map<std::string, std::string> names;
  for (int64_t i = 0; i < ops.size(); ++i) {
    if (ops[i]["how"].text() != "missing") continue;
    std::string& list = names[ops[i]["reason"].text("")];
    list += format_text("{}{}", list.empty() ? "" : ", ", ops[i]["name"].text());
  }
  for (const auto& [reason, list] : names) {
    const std::string text = reason.empty() ? list : format_text("{}: {}", list, reason);
    print(wrapped(text, 2, line_width(98)));
  }
}

void print_format_coverage(const Json& coverage) {
  const Json ops = coverage["ops"];
  print_fitted(format_text("{} {}, {} operators\n", coverage["format"].text(),
                           coverage["version"].integer(), ops.size()));
  print_way(coverage, "converted", "to calls of ops");
  Table table({{"OPERATOR"},
               {"VERSION", Align::right},
               {"CALLS", Align::left, true},
               {"PLUGIN"},
               {"SINCE", Align::right},
               {"LIKE"}},
              2);
  for (int64_t i = 0; i < ops.size(); ++i) {
    const Json conversions = ops[i]["conversions"];
    for (int64_t k = 0; k < conversions.size(); ++k) {
      table.add({k == 0 ? ops[i]["name"].text() : "",
                 k == 0 ? std::to_string(ops[i]["version"].integer()) : "",
                 conversions[k]["calls"].text(), conversions[k]["plugin"].text(),
                 std::to_string(conversions[k]["since"].integer()),
                 conversions[k]["like"].text("")});
    }
  }
  if (!table.empty()) print(table.text());
  print_way(coverage, "missing", "no plugin has a conversion");
  print_missing(ops);
}

void print_transform_coverage(const Json& coverage) {
  const Json ops = coverage["ops"];
  print_fitted(format_text("{}, {} overridable ops\n", coverage["transform"].text(), ops.size()));
  const std::pair<const char*, const char*> ways[] = {
      {"rule", "by lines of TENON_BATCH_RULES"},
      {"function", "by functions of plugins"},
      {"ops", "through the ops that they are made of"},
      {"elementwise", "as loops over elements, the batch in front"},
      {"loop", "once for each sample: no plugin has a rule, or the rule says so"},
      {"random", "by the policy of the vmap"},
      {"refused", "for the reason of the rule"}};
  for (const auto& [how, meaning] : ways) {
    print_way(coverage, how, meaning);
    // Behind the plugin of the rule, where one has it, and the reason that it gives.
    std::map<std::string, std::string> names;
    for (int64_t i = 0; i < ops.size(); ++i) {
      if (ops[i]["how"].text() != how) continue;
      const Json way = ops[i]["ways"][int64_t{0}];
      const bool given = !way["rule"].is_null() || std::string(how) == "function";
      const std::string reason = way["reason"].text("");
      std::string& list =
          names[!given           ? ""
                : reason.empty() ? way["provider"].text("")
                                 : format_text("{}, {}", way["provider"].text(""), reason)];
      list += format_text("{}{}", list.empty() ? "" : ", ", ops[i]["name"].text());
    }
    for (const auto& [plugin, list] : names)
      print(
          wrapped(plugin.empty() ? list : format_text("{}: {}", plugin, list), 2, line_width(98)));
  }
}

// The coverage without internal ops; operators of formats have none.
Json without_internal(const Json& coverage) {
  if (coverage["format"].defined()) return coverage;
  const Json ops = coverage["ops"], ways = coverage["counts"];
  tenon::JsonArray shown;
  std::map<std::string, int64_t> counts;
  for (int64_t i = 0; i < ops.size(); ++i) {
    if (tenon::listing::is_internal(ops[i]["name"].text())) continue;
    shown.add(ops[i]);
    ++counts[ops[i]["how"].text()];
  }
  tenon::JsonObject count_of;
  for (int64_t i = 0; i < ways.size(); ++i) count_of.set(ways.key(i), counts[ways.key(i)]);
  tenon::JsonObject made;
  for (int64_t i = 0; i < coverage.size(); ++i) {
    const std::string key = coverage.key(i);
    if (key == "ops")
      made.set(key, shown.json());
    else if (key == "counts")
      made.set(key, count_of.json());
    else
      made.set(key, coverage[key]);
  }
  return made.json();
}

// "onnx:17", or "onnx" where no type has that name.
Json coverage_of(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    const Json types = tenon::listing::types();
    for (int64_t i = 0; i < types.size(); ++i) {
      if (types[i]["name"].text() == text) return tenon::listing::coverage(text);
    }
    try {
      return tenon::listing::format_coverage(text);
    } catch (const tenon::ValueError&) {
      return tenon::listing::coverage(text);  // whose error names types
    }
  }
  if (text.substr(0, colon) == "transform")
    return tenon::listing::transform_coverage(text.substr(colon + 1));
  int64_t version = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data() + colon + 1, end, version);
  if (fault != std::errc() || stop != end || version < 1)
    throw UsageError(format_text(
        "found '{}', expected a type, or a format with a version such as onnx:17", text));
  return tenon::listing::format_coverage(text.substr(0, colon), version);
}

int print_coverage(const CoverageOptions& options) {
  if (!options.config.empty()) tenon::config::apply(tenon::config::read(options.config));
  const Json coverage = coverage_of(options.type);
  const std::vector<std::string> lost = options.baseline.empty()
                                            ? std::vector<std::string>()
                                            : lost_since(options.baseline, coverage);
  if (options.json)
    print_json(coverage);
  else
    (coverage["type"].defined() ? print_type_coverage
     : coverage["transform"].defined()
         ? print_transform_coverage
         : print_format_coverage)(options.all ? coverage : without_internal(coverage));
  if (lost.empty()) return kFine;
  if (!options.json)
    print_fitted(format_text(
        "{}\n", paint(stdout, Style::red,
                      format_text("\nlost since '{}': {}", options.baseline, join(lost, ", ")))));
  return kFault;
}

}  // namespace

void define_coverage(Commands& commands) {
  auto [command, options] = commands.add(
      print_coverage, "coverage",
      "List which overridable ops a type handles, is asked for, inherits, converts for, misses; or "
      "which operators of a format plugins convert; or how vmap runs each op",
      "  tenon coverage ScalarTensor\n"
      "  tenon coverage ScalarTensor --json > baseline.json\n"
      "  tenon coverage ScalarTensor --baseline baseline.json\n"
      "  tenon coverage ScalarTensor --config digits.json\n"
      "  tenon coverage onnx:17\n"
      "  tenon coverage transform:vmap\n"
      "Ends with 1 when something that the baseline covers is missing now.");
  command.argument(
      options.type, "TYPE",
      "The type; or FORMAT:VERSION, the newest version where it is omitted; or transform:vmap");
  command.existing_file("--baseline", options.baseline, "FILE", "JSON of an earlier coverage");
  command.flag("--all", options.all, "Internal ops, too, which --json has in any case");
  command.with_config(options.config);
  command.json(options.json);
}

}  // namespace cli
