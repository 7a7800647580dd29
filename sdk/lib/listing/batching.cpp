// How vmap runs ops: the batch rules of all plugins, functions for batches, generated rules, ops that are made of ops, from
// facts; for an op without any, whether it runs in loops over elements, from its plugin, which is loaded.
#include "batching.hpp"

#include <charconv>
#include <deque>

#include <tenon/kernel/shape.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/op.hpp>
#include <tenon/runtime.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

using transforms::BatchRule;

namespace {

const char* way_of(const BatchRule& rule) {
  if (rule.family == "refuse") return "refused";
  if (rule.family == "random") return "random";
  return rule.family == "loop" ? "loop" : "rule";
}

// The value that a parameter has where it is omitted; false where it is none of the plain ones.
bool read_default(const std::string& text, tenon_value& value) {
  if (text == "None") return true;
  if (text == "True" || text == "False") {
    value = Argument(text == "True").value();
    return true;
  }
  const char* const end = text.data() + text.size();
  int64_t whole = 0;
  double number = 0;
  if (std::from_chars(text.data(), end, whole).ptr == end)
    value = Argument(whole).value();
  else if (std::from_chars(text.data(), end, number).ptr == end)
    value = Argument(number).value();
  else
    return false;
  return true;
}

// Whether the host runs the op in loops over elements, as the handler of batched tensors asks for a call.
bool runs_in_loops(const std::string& name) {
  const tenon_op* op = nullptr;
  if (service::ops().find(name.data(), static_cast<int64_t>(name.size()), &op, nullptr) != TENON_OK)
    return false;
  const Json parameters = parse_schema(Op(op).schema())["parameters"];
  std::vector<tenon_value> values(static_cast<size_t>(parameters.size()));
  std::deque<Tensor> operands;
  for (int64_t i = 0; i < parameters.size(); ++i) {
    const Json parameter = parameters[i];
    tenon_value& value = values[static_cast<size_t>(i)];
    const std::string kind = parameter["kind"].text();
    if (parameter["default"].defined()) {
      if (!read_default(parameter["default"].text(), value)) return false;
    } else if (kind == "Tensor" || kind == "Tensor|Scalar") {
      if (parameter["list"].as_bool()) return false;
      operands.push_back(empty_tensor({2, 2}, f32));
      value = Argument(operands.back()).value();
    } else if (kind == "Scalar" || kind == "float") {
      value = Argument(1.0).value();
    } else {
      return false;
    }
  }
  tenon_prepared_call* prepared = nullptr;
  if (service::calls().prepare(op, values.data(), static_cast<int64_t>(values.size()), &prepared,
                               nullptr) != TENON_OK)
    return false;
  const bool loops = service::calls().writes_into(prepared) != 0;
  service::calls().release(prepared);
  return loops;
}

}  // namespace

BatchWays::BatchWays() : ops_(inventory_.provided_ops()) {
  for (const BatchRule& rule : transforms::read_batch_rules(inventory_.plugins()).rules) {
    for (const std::string& op : rule.ops) rules_[op].push_back(rule);
  }
  const Json plugins = inventory_.plugins();
  for (int64_t p = 0; p < plugins.size(); ++p) {
    if (!detail::is_usable(plugins[p])) continue;
    const Json overrides = plugins[p]["facts"]["overrides"];
    for (int64_t i = 0; i < overrides.size(); ++i) {
      const std::string key = overrides[i]["key"].text();
      const size_t open = key.find('[');
      if (open == std::string::npos) continue;
      const std::string types = key.substr(open);
      if (types == "[Batched]" || types == "[BatchedOperand]")
        (types == "[Batched]" ? functions_ : generated_)
            .emplace(key.substr(0, open), plugins[p]["id"].text());
    }
  }
}

const Declared* BatchWays::declared(const std::string& op) const {
  for (const Declared& one : ops_) {
    if (one.name == op) return &one;
  }
  return nullptr;
}

std::vector<BatchWay> BatchWays::of(const Declared& op) const {
  if (const auto function = functions_.find(op.name); function != functions_.end())
    return {{"function", "", function->second, ""}};
  if (const auto generated = generated_.find(op.name); generated != generated_.end())
    return {{"ops", "", generated->second, ""}};
  std::vector<BatchWay> ways;
  const auto found = rules_.find(op.name);
  if (found != rules_.end()) {
    for (const BatchRule& rule : found->second) {
      ways.push_back({rule.family == "elementwise" ? "elementwise" : way_of(rule), rule.text,
                      rule.provider, rule.reason});
      if (rule.conditions.empty() && rule.family != "dims") return ways;
    }
  }
  // As the handler has it, where no rule holds.
  if (op.facts["differentiable"].text() == "composite") {
    ways.push_back({"ops", "", op.plugin, ""});
    return ways;
  }
  if (!ways.empty()) return ways;
  const bool in_place = op.name.back() == '_';
  const std::string form = in_place ? op.name.substr(0, op.name.size() - 1) : op.name;
  if (in_place) {
    if (const auto rule = rules_.find(form);
        rule != rules_.end() && rule->second.front().family == "elementwise")
      return {{"elementwise", rule->second.front().text, rule->second.front().provider, ""}};
  }
  const bool pointwise = op.facts["jvp"].text() == "pointwise";
  return {{pointwise || runs_in_loops(form) ? "elementwise" : "loop", "", "", ""}};
}

Json batching_of(const std::string& op) {
  const BatchWays all;
  Writer list;
  list.begin_array();
  const Declared* const declared = all.declared(op);
  if (declared != nullptr) {
    for (const BatchWay& way : all.of(*declared)) put_way(list, way);
  }
  return list.end().json();
}

void put_way(Writer& document, const BatchWay& way) {
  document.begin_object().set("how", way.how);
  if (!way.provider.empty()) document.set("provider", way.provider);
  if (!way.rule.empty()) document.set("rule", way.rule);
  if (!way.reason.empty()) document.set("reason", way.reason);
  document.end();
}

Json transform_coverage(const std::string& transform) {
  if (transform != "vmap")
    throw ValueError(lib::format_text("no transform is named '{}': expected vmap", transform));
  const BatchWays all;
  std::map<std::string, int64_t> counts;
  Writer document;
  document.begin_object().set("transform", transform).begin_array("ops");
  for (const Declared& op : all.ops()) {
    if (!detail::ignored_reason(op.facts).empty()) continue;
    const std::vector<BatchWay> ways = all.of(op);
    ++counts[ways.front().how];
    document.begin_object()
        .set("name", op.name)
        .set("how", ways.front().how)
        .set("plugin", op.plugin)
        .begin_array("ways");
    for (const BatchWay& way : ways) put_way(document, way);
    document.end().end();
  }
  document.end().begin_object("counts");
  for (const char* how : {"rule", "function", "ops", "elementwise", "loop", "random", "refused"})
    document.set(how, counts[how]);
  return document.end().end().json();
}

}  // namespace listing

TENON_NAMESPACE_END
