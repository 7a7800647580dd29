#include "constants.hpp"

#include <algorithm>

#include <tenon/detail/parameters.hpp>

#include "attributes.hpp"
#include "tensor_data.hpp"

namespace onnx {

using tenon::Tensor, tenon::Value;

Source Constants::add(Value value) {
  built_.program.constants.push_back(std::move(value));
  built_.program.members.push_back(-1);
  return {Source::Kind::constant, static_cast<uint32_t>(built_.program.constants.size() - 1)};
}

Source Constants::add_weight(Value value, std::string_view name) {
  const Source source = add(std::move(value));
  if (built_.program.constants[source.index].is_tensor()) weights_[source.index] = name;
  return source;
}

Source Constants::add(const Tensor& tensor, std::string_view name) {
  tenon_value value{};
  tenon::detail::give_result(Tensor(tensor), &value);
  return add_weight(Value(value), name);
}

Source Constants::initializer(const TensorData& data) {
  const auto [known, fresh] = known_.try_emplace({&data, ""});
  if (fresh) {
    known->second = add(file_.tensor(data), data.name);
    if (is_integer_of_4_bits(data.type)) four_bits_.insert(known->second.index);
  }
  return known->second;
}

Source Constants::constant(const Attribute& attribute, std::string_view name) {
  const auto [known, fresh] = known_.try_emplace({&attribute, ""});
  if (fresh) {
    known->second = add(constant_tensor(file_, attribute), name);
    if (attribute.tensor && is_integer_of_4_bits(attribute.tensor->type))
      four_bits_.insert(known->second.index);
  }
  return known->second;
}

Source Constants::attribute(const Attribute& attribute, const Parameter& parameter) {
  const auto [known, fresh] = known_.try_emplace({&attribute, parameter.kind});
  if (fresh) known->second = add(attribute_value(file_, attribute, parameter));
  return known->second;
}

std::string Constants::unique_name(std::string_view name) {
  std::string unique(name.empty() ? "value" : name);
  const std::string base = unique;
  int& last = names_[base];
  while (++last > 1) {
    unique = base + "_" + std::to_string(last);
    if (names_.try_emplace(unique, 1).second) break;
  }
  return unique;
}

Source Constants::as_member(Source source, const std::string& parameter, bool layer) {
  if (source.kind != Source::Kind::constant) return source;
  if (const auto known = members_.find(source.index); known != members_.end()) return known->second;
  const Value& value = built_.program.constants[source.index];
  if (!value.is_tensor()) return source;
  const Tensor tensor = value.tensor();
  const auto weight = weights_.find(source.index);
  const int64_t least = layer && tensor.dim() > 0 ? 1 : 2;
  if (weight == weights_.end() || !tenon::is_floating(tensor.dtype()) || tensor.numel() < least) {
    follow(source.index, weight == weights_.end() ? "" : weight->second);
    return source;
  }
  const bool buffer = parameter.compare(0, 8, "running_") == 0;
  std::vector<NamedTensor>& list = buffer ? built_.buffers : built_.parameters;
  list.push_back({unique_name(weight->second), tensor, weight->second});
  return members_[source.index] = {buffer ? Source::Kind::buffer : Source::Kind::parameter,
                                   static_cast<uint32_t>(list.size() - 1)};
}

void Constants::follow(uint32_t constant, std::string_view name) {
  const Tensor tensor = built_.program.constants[constant].tensor();
  int64_t& member = built_.program.members[constant];
  if (member >= 0 || tensor.dim() == 0) return;
  member = static_cast<int64_t>(built_.constants.size());
  // Parts of its name are not children.
  std::string path(name.empty() ? "constant" : name);
  std::replace(path.begin(), path.end(), '.', '_');
  built_.constants.push_back({path, tensor.detach(), name});
}

}  // namespace onnx
