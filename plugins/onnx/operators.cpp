#include "operators.hpp"

#include <algorithm>

#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

namespace onnx {

Operators::Operators(const std::vector<std::string_view>& prefer)
    : prefer_(prefer.begin(), prefer.end()) {
  const tenon::Json plugins = tenon::document(tenon::Document::facts);
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const tenon::Json conversions = plugins[i]["facts"]["conversions"];
    const std::string id = plugins[i]["id"].text();
    for (int64_t j = 0; j < conversions.size(); ++j) {
      if (conversions[j]["format"].text() != "onnx") continue;
      const std::string rules = conversions[j]["rules"].text();
      for (size_t start = 0; start < rules.size();) {
        const size_t end = std::min(rules.find('\n', start), rules.size());
        const std::string_view line =
            tenon::detail::trim(std::string_view(rules).substr(start, end - start));
        if (!line.empty()) add(id, line);
        start = end + 1;
      }
    }
  }
}

size_t Operators::rank(const std::string& plugin) const {
  return static_cast<size_t>(std::find(prefer_.begin(), prefer_.end(), plugin) - prefer_.begin());
}

void Operators::add(const std::string& plugin, std::string_view line) {
  const RuleHead head = read_rule_head(line);
  auto& versions = operators_[{std::string(head.domain), std::string(head.type)}];
  for (OperatorRules& one : versions) {
    if (one.since != head.since || one.plugin != plugin) continue;
    one.lines.emplace_back(line);
    return;
  }
  versions.push_back({head.since, plugin, {std::string(line)}});
}

const std::vector<Rule>& Operators::find(std::string_view domain, std::string_view type,
                                         int64_t version) {
  static const std::vector<Rule> none;
  const auto found = operators_.find({std::string(domain), std::string(type)});
  if (found == operators_.end()) return none;
  const OperatorRules* best = nullptr;
  const OperatorRules* other = nullptr;  // for the same version, of another plugin
  for (const OperatorRules& one : found->second) {
    if (one.since > version) continue;
    const auto order = [&](const OperatorRules& rules) {
      return std::pair(rules.since, -static_cast<int64_t>(rank(rules.plugin)));
    };
    if (best == nullptr || order(one) > order(*best)) {
      best = &one;
      other = nullptr;
    } else if (order(one) == order(*best)) {
      other = &one;
    }
  }
  if (best == nullptr) return none;
  if (other != nullptr) {
    throw tenon::ValueError("the plugins '" + best->plugin + "' and '" + other->plugin +
                            "' both convert " + std::string(type) + " of version " +
                            std::to_string(best->since) +
                            "; name the one to use in the attribute `prefer` of the model");
  }
  std::vector<Rule>& rules = read_[best];
  if (rules.empty()) {
    for (const std::string& line : best->lines) rules.push_back(read_rule(line));
  }
  return rules;
}

int64_t Operators::first_version(std::string_view domain, std::string_view type) const {
  const auto found = operators_.find({std::string(domain), std::string(type)});
  if (found == operators_.end()) return 0;
  int64_t first = found->second.front().since;
  for (const OperatorRules& one : found->second) first = std::min(first, one.since);
  return first;
}

std::vector<std::string> Operators::names(std::string_view domain) const {
  std::vector<std::string> names;
  for (const auto& [key, rules] : operators_) {
    if (key.first == domain) names.push_back(key.second);
  }
  return names;
}

}  // namespace onnx
