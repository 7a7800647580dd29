#include "export/export_rules.hpp"

#include <algorithm>

#include <tenon/conversion_rules.hpp>
#include <tenon/op.hpp>

namespace onnx {

namespace {

using tenon::Json;

// A default value, as schemas write it: None, True, 'text', [1, 2], 0.5.
Json default_value(const std::string& text) {
  std::string json;
  for (const char c : text) json += c == '\'' ? '"' : c;
  if (json == "None") json = "null";
  if (json == "True") json = "true";
  if (json == "False") json = "false";
  return Json::parse(json);
}

OpSignature read_signature(const tenon::Op& op) {
  const Json schema = tenon::parse_schema(op.schema());
  OpSignature signature;
  const Json parameters = schema["parameters"];
  for (int64_t i = 0; i < parameters.size(); ++i) {
    const Json one = parameters[i];
    const std::string type = one["type"].text();
    OpParameter parameter;
    parameter.name = one["name"].text();
    parameter.kind = one["kind"].text();
    parameter.list = one["list"].as_bool();
    parameter.tensor = type.find("Tensor") != std::string::npos;
    parameter.scalar = parameter.tensor && type.find("Scalar") != std::string::npos;
    if (one["default"].defined()) parameter.fallback = default_value(one["default"].text());
    parameter.mutates = one["mutates"].as_bool();
    signature.parameters.push_back(std::move(parameter));
  }
  return signature;
}

}  // namespace

int64_t OpSignature::place_of(std::string_view name) const {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == name) return static_cast<int64_t>(i);
  }
  return -1;
}

ExportRules::ExportRules(int64_t opset) : opset_(opset), operators_({}) {
  for (const auto& [domain, type] : operators_.keys()) {
    const int64_t version = version_of(domain);
    for (const Rule& rule : operators_.find(domain, type, version)) {
      // Random results are not those of inference.
      if (!rule.random) inverses_[rule.op].push_back({&rule, version});
    }
  }
  for (auto& [op, list] : inverses_) {
    // Operators of ONNX itself precede those of other domains.
    std::stable_sort(list.begin(), list.end(), [](const Inverse& a, const Inverse& b) {
      return std::pair(!a.rule->domain.empty(), -a.rule->since) <
             std::pair(!b.rule->domain.empty(), -b.rule->since);
    });
  }
  tenon::for_each_conversion_rule("onnx.export", [&](const std::string&, std::string_view rule) {
    lines_[std::string(exported_op(rule))].emplace_back(rule);
  });
}

const std::vector<Inverse>& ExportRules::inverses(const std::string& op) const {
  static const std::vector<Inverse> none;
  const auto found = inverses_.find(op);
  return found == inverses_.end() ? none : found->second;
}

const std::vector<ExportRule>& ExportRules::rules(const std::string& op) {
  static const std::vector<ExportRule> none;
  const auto lines = lines_.find(op);
  if (lines == lines_.end()) return none;
  const auto [known, fresh] = rules_.try_emplace(op);
  if (fresh) {
    for (const std::string& line : lines->second) known->second.push_back(read_export_rule(line));
  }
  return known->second;
}

const OpSignature& ExportRules::signature(const tenon::Op& op) {
  const auto [known, fresh] = signatures_.try_emplace(op.name());
  if (fresh) known->second = read_signature(op);
  return known->second;
}

int64_t ExportRules::version_of(std::string_view domain) const {
  return domain.empty() ? opset_ : std::max<int64_t>(operators_.last_version(domain), 1);
}

}  // namespace onnx
