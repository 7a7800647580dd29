// tenon check against plugins that are right but for one subtle fault each.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "program.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENON_TEST_SANITIZED true
#else
#define TENON_TEST_SANITIZED false
#endif

namespace {

using tenon::Json;

Json planted() {
  std::ifstream file(TENON_PLANTED "/faults.json");
  return Json::parse(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
}

std::set<std::string> kinds_of(const Json& report, const std::string& name, bool& seen) {
  std::set<std::string> kinds;
  for (int64_t i = 0; i < report["items"].size(); ++i) {
    const Json item = report["items"][i];
    if (item["name"].text() != name) continue;
    seen = true;
    for (int64_t f = 0; f < item["findings"].size(); ++f) {
      kinds.insert(item["findings"][f]["kind"].text());
      CHECK_FALSE(item["findings"][f]["expected"].text().empty());
      CHECK_FALSE(item["findings"][f]["message"].text().empty());
      CHECK_FALSE(item["findings"][f]["remedy"].text().empty());
    }
    if (!item["skipped"].text().empty()) kinds.insert("skipped");
  }
  return kinds;
}

// The plugin whose faults are looked for; empty: all plugins, one after the other.
std::string chosen_plugin() {
  const char* const name = std::getenv("TENON_PLANTED_PLUGIN");
  return name == nullptr ? "" : name;
}

}  // namespace

TEST_SUITE("check") {
  TEST_CASE(
      "F-006 F-039 F-049 every planted fault is found under its name, and right ops have no "
      "finding") {
    // Sanitizers replace malloc, signals and exit codes, which many of these are about.
    if (TENON_TEST_SANITIZED) return;
    const Json rows = planted();
    const std::string chosen = chosen_plugin();
    std::map<std::string, Json> reports;
    int64_t faults = 0;
    for (int64_t i = 0; i < rows.size(); ++i) {
      const std::string plugin = rows[i]["plugin"].text(), name = rows[i]["item"].text();
      faults += rows[i]["kind"].is_null() ? 0 : 1;
      if (!chosen.empty() && plugin != chosen) continue;
      CAPTURE(name);
      const std::string against = rows[i]["against"].text("");  // other plugins, on a device
      if (reports.count(plugin) == 0)
        reports[plugin] =
            run_program("check " TENON_FIXTURES "/planted/" + plugin + ".so --json --timeout " +
                        std::to_string(rows[i]["timeout"].integer(30)) +
                        (against.empty() ? "" : " --against " + against))
                .json();
      bool seen = false;
      const std::set<std::string> kinds = kinds_of(reports[plugin], name, seen);
      CHECK(seen);
      std::string all;
      for (const std::string& kind : kinds) all += kind + " ";
      CAPTURE(all);
      if (rows[i]["kind"].is_null()) {
        CHECK(kinds.empty());
      } else {
        CHECK(kinds.count(rows[i]["kind"].text()) == 1);
      }
    }
    CHECK_FALSE(reports.empty());
    CHECK(faults >= 60);
  }
}
