#include "operators.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <tenon/conversion_rules.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

namespace onnx {

namespace {

using tenon::Json;

void add_rule(OperatorTable& table, const std::string& plugin, std::string_view line) {
  const RuleHead head = read_rule_head(line);
  auto& versions = table[{std::string(head.domain), std::string(head.type)}];
  for (const std::unique_ptr<OperatorRules>& one : versions) {
    if (one->since() != head.since || one->plugin() != plugin || one->like() != head.like) continue;
    one->add(line);
    return;
  }
  versions.push_back(std::make_unique<OperatorRules>(head.since, plugin, std::string(head.like)));
  versions.back()->add(line);
}

std::shared_ptr<const OperatorTable> read_table() {
  const auto table = std::make_shared<OperatorTable>();
  tenon::for_each_conversion_rule("onnx", [&](const std::string& plugin, std::string_view rule) {
    add_rule(*table, plugin, rule);
  });
  return table;
}

// The plugins that can be used, and the state of their files, as a text that differs where a table would:
// the facts, which have all ops with their schemas, take far longer to list.
std::string plugin_set() {
  std::string text;
  const Json plugins = tenon::document(tenon::Document::plugins);
  for (int64_t i = 0; i < plugins.size(); ++i) {
    if (!tenon::detail::is_usable(plugins[i])) continue;
    const std::string path = plugins[i]["path"].text();
    std::error_code ignored;
    const auto written = std::filesystem::last_write_time(path, ignored).time_since_epoch().count();
    const auto size = std::filesystem::file_size(path, ignored);
    text += plugins[i]["id"].text() + '\n' + path + '\n' + std::to_string(written) + ' ' +
            std::to_string(size) + '\n';
  }
  return text;
}

std::shared_ptr<const OperatorTable> current_table() {
  static std::mutex mutex;
  static std::string known_set;
  static std::shared_ptr<const OperatorTable> known;
  std::string set = plugin_set();
  const std::lock_guard<std::mutex> lock(mutex);
  if (!known || set != known_set) {
    known = read_table();
    known_set = std::move(set);
  }
  return known;
}

}  // namespace

const std::vector<Rule>& OperatorRules::rules() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (rules_.empty()) {
    std::vector<Rule> rules;
    for (const std::string& line : lines_) rules.push_back(read_rule(line));
    rules_ = std::move(rules);
  }
  return rules_;
}

Operators::Operators(const std::vector<std::string_view>& prefer, std::string_view like)
    : prefer_(prefer.begin(), prefer.end()), like_(like), table_(current_table()) {
  if (like_.empty()) return;
  std::set<std::string> engines;
  for (const auto& [key, versions] : *table_) {
    for (const auto& one : versions) {
      if (!one->like().empty()) engines.insert(one->like());
    }
  }
  if (engines.count(like_) != 0) return;
  std::string text;
  for (const std::string& one : engines) text += (text.empty() ? "" : ", ") + one;
  throw tenon::ValueError("no plugin has conversions like '" + tenon::printable(like_) +
                          "'; there are conversions like: " + text);
}

size_t Operators::rank(const std::string& plugin) const {
  return static_cast<size_t>(std::find(prefer_.begin(), prefer_.end(), plugin) - prefer_.begin());
}

const OperatorRules* Operators::best(std::string_view domain, std::string_view type,
                                     int64_t version, std::string_view like) const {
  const auto found = table_->find({std::string(domain), std::string(type)});
  if (found == table_->end()) return nullptr;
  const OperatorRules* best = nullptr;
  const OperatorRules* other = nullptr;  // for the same version, of another plugin
  for (const std::unique_ptr<OperatorRules>& one : found->second) {
    if (one->since() > version || one->like() != like) continue;
    const auto order = [&](const OperatorRules& rules) {
      return std::pair(rules.since(), -static_cast<int64_t>(rank(rules.plugin())));
    };
    if (best == nullptr || order(*one) > order(*best)) {
      best = one.get();
      other = nullptr;
    } else if (order(*one) == order(*best)) {
      other = one.get();
    }
  }
  if (other == nullptr) return best;
  throw tenon::ValueError("the plugins '" + best->plugin() + "' and '" + other->plugin() +
                          "' both convert " + std::string(type) + " of version " +
                          std::to_string(best->since()) +
                          "; name the one to use in the attribute `prefer` of the model");
}

const std::vector<Rule>& Operators::find(std::string_view domain, std::string_view type,
                                         int64_t version) const {
  static const std::vector<Rule> none;
  const OperatorRules* rules = best(domain, type, version, {});
  return rules == nullptr ? none : rules->rules();
}

const std::vector<Rule>& Operators::find_like(std::string_view domain, std::string_view type,
                                              int64_t version) const {
  static const std::vector<Rule> none;
  if (like_.empty()) return none;
  const OperatorRules* rules = best(domain, type, version, like_);
  const OperatorRules* standard = best(domain, type, version, {});
  if (rules == nullptr || (standard != nullptr && standard->since() > rules->since())) return none;
  return rules->rules();
}

std::vector<std::string> Operators::lines_of_engine() const {
  std::vector<std::string> lines;
  for (const auto& [key, versions] : *table_) {
    for (const auto& one : versions) {
      if (!like_.empty() && one->like() == like_)
        lines.insert(lines.end(), one->lines().begin(), one->lines().end());
    }
  }
  return lines;
}

int64_t Operators::first_version(std::string_view domain, std::string_view type) const {
  const auto found = table_->find({std::string(domain), std::string(type)});
  if (found == table_->end()) return 0;
  int64_t first = found->second.front()->since();
  for (const auto& one : found->second) first = std::min(first, one->since());
  return first;
}

std::vector<std::pair<std::string, std::string>> Operators::keys() const {
  std::vector<std::pair<std::string, std::string>> keys;
  for (const auto& [key, rules] : *table_) keys.push_back(key);
  return keys;
}

int64_t Operators::last_version(std::string_view domain) const {
  int64_t last = 0;
  for (const auto& [key, rules] : *table_) {
    if (key.first != domain) continue;
    for (const auto& one : rules) last = std::max(last, one->since());
  }
  return last;
}

std::vector<std::string> Operators::names(std::string_view domain) const {
  std::vector<std::string> names;
  for (const auto& [key, rules] : *table_) {
    if (key.first == domain) names.push_back(key.second);
  }
  return names;
}

}  // namespace onnx
