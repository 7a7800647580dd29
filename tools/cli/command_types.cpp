// tenon types and tenon coverage: the types that stand in for Tensor, and what they handle.
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

int list_types(const ListOptions& options) {
  const Json types = tenon::listing::types();
  if (options.json) {
    print_json(types);
    return kFine;
  }
  Table table(
      {{"TYPE"}, {"PARENT"}, {"HANDLER"}, {"FALLBACK"}, {"OVERRIDES", Align::right}, {"PLUGIN"}});
  for (int64_t i = 0; i < types.size(); ++i) {
    const Json type = types[i];
    table.add({type["name"].text(), type["parent"].text("-"),
               type["handler"].as_bool() ? "yes" : "no", type["fallback"].text(),
               std::to_string(type["overrides"].integer()), type["provider"].text()});
  }
  print(table.empty() ? "no plugin declares a tensor type; see `tenon plugins`\n" : table.text());
  return kFine;
}

namespace {

// Ops that were covered when the baseline was written and are missing now.
std::vector<std::string> lost_since(const std::string& file, const Json& coverage) {
  const Json before = Json::parse(tenon::training::read_file(file));
  if (before["type"].text() != coverage["type"].text()) {
    throw tenon::ValueError(format_text(
        "the baseline '{}' is not one of '{}': write it with `tenon coverage {} --json`", file,
        coverage["type"].text(), coverage["type"].text()));
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

}  // namespace

int print_coverage(const CoverageOptions& options) {
  if (!options.config.empty()) tenon::config::apply(tenon::config::read(options.config));
  const Json coverage = tenon::listing::coverage(options.type);
  const std::vector<std::string> lost = options.baseline.empty()
                                            ? std::vector<std::string>()
                                            : lost_since(options.baseline, coverage);
  if (options.json) {
    print_json(coverage);
  } else {
    const Json ops = coverage["ops"];
    print(format_text(
        "{} (plugin {}), {} overridable ops{}", coverage["type"].text(),
        coverage["provider"].text(), ops.size(),
        coverage["covers"].defined() ? ", those that the config says it covers\n" : "\n"));
    const std::pair<const char*, const char*> ways[] = {
        {"handled", "by its own overrides"},
        {"handler", "asked of its handler, which may decline"},
        {"inherited", "by an ancestor, or the default handler"},
        {"fallback", "converted to Tensor"},
        {"missing", "TypeError"}};
    for (const auto& [how, meaning] : ways) {
      std::string names;
      for (int64_t i = 0; i < ops.size(); ++i) {
        if (ops[i]["how"].text() == how)
          names += format_text("{}{}", names.empty() ? "" : ", ", ops[i]["name"].text());
      }
      const int64_t count = coverage["counts"][how].integer();
      print(format_text("\n{} {}{}\n", paint(stdout, Style::bold, how), count,
                        count == 0 ? "" : paint(stdout, Style::dim, format_text("  {}", meaning))));
      if (count > 0) print(wrapped(names, 2, 98));
    }
  }
  if (lost.empty()) return kFine;
  if (!options.json)
    print(format_text(
        "{}\n", paint(stdout, Style::red,
                      format_text("\nlost since '{}': {}", options.baseline, join(lost, ", ")))));
  return kFault;
}

}  // namespace cli
