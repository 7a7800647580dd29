// The operators that plugins have conversions for, by the facts of all plugins that can be used.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rule.hpp"

namespace onnx {

// The rules of one operator from one version on, tried in order: the standard's, or those of an engine.
class OperatorRules {
 public:
  OperatorRules(int64_t since, std::string plugin, std::string like)
      : since_(since), plugin_(std::move(plugin)), like_(std::move(like)) {}

  int64_t since() const { return since_; }
  const std::string& plugin() const { return plugin_; }
  const std::string& like() const { return like_; }
  const std::vector<std::string>& lines() const { return lines_; }
  void add(std::string_view line) { lines_.emplace_back(line); }
  // Parses the lines when it is called first. ValueError for one that cannot be read. Any thread.
  const std::vector<Rule>& rules() const;

 private:
  int64_t since_;
  std::string plugin_;
  std::string like_;
  std::vector<std::string> lines_;
  mutable std::mutex mutex_;
  mutable std::vector<Rule> rules_;
};

// By domain and type, the rules of all plugins.
using OperatorTable =
    std::map<std::pair<std::string, std::string>, std::vector<std::unique_ptr<OperatorRules>>>;

class Operators {
 public:
  // Reads the facts where plugins have changed since it was called last. `prefer`: plugins whose rules
  // precede those of others, the first one most. `like`: the engine whose rules precede the standard's;
  // empty: none. ValueError for an engine that no plugin has rules for.
  explicit Operators(const std::vector<std::string_view>& prefer, std::string_view like = {});

  // The rules for a version of the operator's domain; empty where there are none. ValueError for rules of
  // two plugins that are for the same version, and for a rule that cannot be read.
  const std::vector<Rule>& find(std::string_view domain, std::string_view type,
                                int64_t version) const;
  // The engine's rules for it, up to the next version of which there are rules of the standard.
  const std::vector<Rule>& find_like(std::string_view domain, std::string_view type,
                                     int64_t version) const;
  // The lines of the engine's rules.
  std::vector<std::string> lines_of_engine() const;
  // The first version of an operator that has rules; 0 where none has.
  int64_t first_version(std::string_view domain, std::string_view type) const;
  // Operators of the domain, for suggestions.
  std::vector<std::string> names(std::string_view domain) const;
  // Domain and type of each operator.
  std::vector<std::pair<std::string, std::string>> keys() const;
  // The last version of a domain that rules are for.
  int64_t last_version(std::string_view domain) const;

 private:
  size_t rank(const std::string& plugin) const;
  const OperatorRules* best(std::string_view domain, std::string_view type, int64_t version,
                            std::string_view like) const;

  std::vector<std::string> prefer_;
  std::string like_;
  std::shared_ptr<const OperatorTable> table_;
};

}  // namespace onnx
