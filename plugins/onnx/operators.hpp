// The operators that plugins have conversions for, by the facts of all plugins that can be used.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rule.hpp"

namespace onnx {

// The rules of one operator from one version on, tried in order.
struct OperatorRules {
  int64_t since = 0;
  std::string plugin;
  std::vector<std::string> lines;
};

class Operators {
 public:
  // Reads the facts. `prefer`: plugins whose rules precede those of others, the first one most.
  explicit Operators(const std::vector<std::string_view>& prefer);

  // The rules for a version of the operator's domain; empty where there are none. ValueError for rules of
  // two plugins that are for the same version, and for a rule that cannot be read.
  const std::vector<Rule>& find(std::string_view domain, std::string_view type, int64_t version);
  // The first version of an operator that has rules; 0 where none has.
  int64_t first_version(std::string_view domain, std::string_view type) const;
  // Operators of the domain, for suggestions.
  std::vector<std::string> names(std::string_view domain) const;

 private:
  using Key = std::pair<std::string, std::string>;
  void add(const std::string& plugin, std::string_view line);
  size_t rank(const std::string& plugin) const;

  std::vector<std::string> prefer_;
  std::map<Key, std::vector<OperatorRules>> operators_;
  std::map<const OperatorRules*, std::vector<Rule>> read_;
};

}  // namespace onnx
