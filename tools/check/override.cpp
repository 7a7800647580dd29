// Checks of one override, stage by stage.
#include <algorithm>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>

#include "format.hpp"
#include "override_check.hpp"
#include "text.hpp"

namespace cli {

using tenon::Tensor;

OverrideCheck::OverrideCheck(const std::string& key_of, const CheckSettings& settings_of,
                             CheckListener& listener_of)
    : ItemCheck(settings_of, listener_of), key(key_of) {
  const size_t open = key.find('[');
  op = checked_op(tenon::listing::op(key.substr(0, open)));
  for (size_t at = open + 1; at < key.size();) {
    const size_t end = std::min(key.find(", ", at), key.size() - 1);
    types.push_back(key.substr(at, end - at));
    at = end + 2;
  }
}

std::vector<Tensor> OverrideCheck::operands_of(const AnsweredCall& answered,
                                               const SampleCall& call) const {
  std::vector<Tensor> operands;
  for (size_t t = 0; t < call.tensors.size(); ++t) {
    const ObjectSource* source =
        answered.source_of(answered.sample.values[call.places[t].value].name);
    operands.push_back(source == nullptr ? copied(call.tensors[t])
                                         : source->make(settings.seed + t));
  }
  return operands;
}

bool OverrideCheck::mutates(const std::string& parameter) const {
  return std::any_of(op.parameters.begin(), op.parameters.end(), [&](const DeclaredType& type) {
    return type.name == parameter && type.mutates;
  });
}

std::vector<Tensor> converted_operands(const std::vector<Tensor>& operands) {
  std::vector<Tensor> converted;
  for (const Tensor& operand : operands) {
    converted.push_back(plain_of(operand));
    if (!converted.back().defined()) return {};
  }
  return converted;
}

const ObjectSource* AnsweredCall::source_of(const std::string& parameter) const {
  for (const Operand& operand : operands) {
    if (operand.parameter == parameter) return operand.source;
  }
  return nullptr;
}
Sample AnsweredCall::report() const {
  Sample result = sample;
  for (SampleValue& value : result.values) {
    if (const ObjectSource* source = source_of(value.name)) value = source->argument(value.name);
  }
  return result;
}

std::string order_text(const std::vector<Operand>& operands) {
  std::vector<std::string> types;
  types.reserve(operands.size());
  for (const Operand& operand : operands) types.push_back(operand.type);
  return format_text("({})", join(types, ", "));
}

void check_override(const std::string& key, const CheckSettings& settings,
                    CheckListener& listener) {
  if (key.ends_with("[Tensor]"))
    return listener.skip(
        "it replaces rules of an op for plain tensors: differences from the op's own are intended");
  try {
    OverrideCheck check(key, settings, listener);
    check.run_stage("operands", [&] {
      try {
        find_answers(check);
      } catch (const tenon::Error& error) {
        listener.skip(error.what());
      }
    });
    if (check.calls.empty()) return;
    check.run_stage("results", [&] { check_override_results(check); });
    if (check.found.empty()) check.run_stage("gradient", [&] { check_override_gradients(check); });
    if (check.found.empty()) check.run_stage("threads", [&] { check_override_threads(check); });
    if (check.found.empty()) check.run_stage("leaks", [&] { check_override_leaks(check); });
    listener.samples(static_cast<int64_t>(check.calls.size()));
  } catch (const tenon::Error& error) {
    listener.skip(error.what());
  }
}

}  // namespace cli
