// tenon coverage: which ops a type that stands in for Tensor handles, and how.
#include <map>
#include <utility>

#include <tenon/config/config.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/training/files.hpp>

#include "commands.hpp"
#include "format.hpp"
#include "json.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

namespace {

struct CoverageOptions {
  std::string type;
  std::string config;    // its settings of the type narrow the list
  std::string baseline;  // JSON of an earlier coverage: what it lost since is a fault
  bool json = false;
};

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

}  // namespace

void define_coverage(Commands& commands) {
  auto [command, options] = commands.add(
      print_coverage, "coverage",
      "List which overridable ops a type handles, is asked for, inherits, converts for, misses",
      "  tenon coverage ScalarTensor\n"
      "  tenon coverage ScalarTensor --json > baseline.json\n"
      "  tenon coverage ScalarTensor --baseline baseline.json\n"
      "  tenon coverage ScalarTensor --config digits.json\n"
      "Ends with 1 when something that the baseline covers is missing now.");
  command.argument(options.type, "TYPE", "The type");
  command.existing_file("--baseline", options.baseline, "FILE", "JSON of an earlier coverage");
  command.with_config(options.config);
  command.json(options.json);
}

}  // namespace cli
