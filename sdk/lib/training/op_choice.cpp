// Ops that a config names: looked up by role, checked against their schemas, called by name.
#include <algorithm>

#include <tenon/json_tensor.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>
#include <tenon/training/op_choice.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

// ---- roles ----

const OpRole& loss_role() {
  static const OpRole role{"loss", {"nn.functional.{}"}, 2, {}, {"type"}};
  return role;
}
const OpRole& metric_role() {
  static const OpRole role{"metric", {"metric.{}"}, 2, {}, {"type", "name"}};
  return role;
}
const OpRole& optimizer_role() {
  static const OpRole role{"optimizer", {"optim.{}_step_", "{}_step_"}, 2, {"step"}, {"type"}};
  return role;
}
const OpRole& schedule_role() {
  static const OpRole role{"schedule",
                           {"schedule.{}"},
                           0,
                           {"step", "steps", "epoch", "epochs", "steps_per_epoch"},
                           {"type"}};
  return role;
}
const OpRole& clip_role() {
  static const OpRole role{"clip", {"optim.clip_{}_", "{}_"}, 1, {}, {"type"}};
  return role;
}
const OpRole& transform_role() {
  static const OpRole role{"transform", {"data.random_{}", "data.{}"}, 1, {"seed"}, {"type"}};
  return role;
}
const OpRole& sampler_role() {
  static const OpRole role{"sampler", {"data.sample_{}"}, 1, {"epoch"}, {"type"}};
  return role;
}
const OpRole& weights_role() {
  static const OpRole role{
      "op of weights", {"data.{}_weights"}, 1, {"classes", "ignore_index"}, {"type"}};
  return role;
}
const OpRole& reader_role() {
  static const OpRole role{
      "data reader", {"data.{}"}, 0, {}, {"type", "scale", "shape", "normalize"}};
  return role;
}

// ---- looking up ----

std::string short_name(const std::string& form, const std::string& op) {
  const size_t at = form.find("{}");
  const std::string before = form.substr(0, at), after = form.substr(at + 2);
  if (op.size() <= before.size() + after.size()) return "";
  if (op.compare(0, before.size(), before) != 0) return "";
  if (op.compare(op.size() - after.size(), after.size(), after) != 0) return "";
  return op.substr(before.size(), op.size() - before.size() - after.size());
}

namespace {

std::string filled(const std::string& form, const std::string& name) {
  return lib::format_text(form, name);
}

std::vector<std::string> candidates(const OpRole& role, const std::string& name) {
  std::vector<std::string> list;
  for (const std::string& form : role.forms) list.push_back(filled(form, name));
  const bool dotted = name.find('.') != std::string::npos;
  list.insert(dotted ? list.begin() : list.end(), name);
  return list;
}

[[noreturn]] void throw_unknown(const OpRole& role, const std::string& name, const Json& node) {
  const Json ops = listing::ops();
  std::vector<std::string> names, full;
  for (int64_t i = 0; i < ops.size(); ++i) {
    full.push_back(ops[i]["name"].text());
    const std::string known = short_name(role.forms.front(), full.back());
    if (!known.empty() && known.find('.') == std::string::npos) names.push_back(known);
  }
  std::string hint = suggestion(name, names);
  if (hint.empty()) hint = suggestion(name, full);
  std::sort(names.begin(), names.end());
  throw ConfigError(lib::format_text(
      "{}: no {} is named '{}'{}{}", node.place(), role.what, name, hint,
      names.empty() ? "" : lib::format_text("; expected an op, or one of {}", join(names, ", "))));
}

}  // namespace

bool FoundOp::has(const std::string& parameter) const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](const DeclaredType& one) { return one.name == parameter; });
}

std::optional<FoundOp> find_op(const std::string& name) {
  try {
    FoundOp found{name, listing::op(name), {}};
    if (found.listing["name"].text() != name) return std::nullopt;
    found.parameters = declared_types(found.listing["parameters"]);
    return found;
  } catch (const Error&) {
    return std::nullopt;
  }
}

FoundOp find_op(const OpRole& role, const std::string& name, const Json& node) {
  for (const std::string& candidate : candidates(role, name))
    if (std::optional<FoundOp> found = find_op(candidate)) return *std::move(found);
  throw_unknown(role, name, node);
}

// ---- checking ----

namespace {

// Whether an argument is a tensor, which the section gives as text or object: an op computes it.
bool is_computed(const FoundOp& op, const std::string& name, const Json& value) {
  return names_op(value) &&
         std::any_of(op.parameters.begin(), op.parameters.end(), [&](const DeclaredType& one) {
           return one.name == name && one.is_tensor() && !one.list;
         });
}
// Whether an argument is a tensor that the section writes as numbers; a number stays one where the
// parameter takes it.
bool is_tensor(const FoundOp& op, const std::string& name, const Json& value) {
  return (value.is_number() || value.is_array()) &&
         std::any_of(op.parameters.begin(), op.parameters.end(), [&](const DeclaredType& one) {
           return one.name == name && !one.list &&
                  (one.base == "Tensor" || (one.is_tensor() && value.is_array()));
         });
}
// Whether an argument is a list of such tensors.
bool is_tensor_list(const FoundOp& op, const std::string& name, const Json& value) {
  return value.is_array() &&
         std::any_of(op.parameters.begin(), op.parameters.end(), [&](const DeclaredType& one) {
           return one.name == name && one.is_tensor() && one.list && !one.dictionary;
         });
}
Tensor written_tensor(const Json& value) {
  return at_place(value, [&] { return json_tensor(value); });
}
std::string computing_op(const Json& value) {
  return value.is_text() ? value.text() : value["type"].text();
}
// The keywords of the op: none beside a bare name.
Json computing_section(const Json& value) { return value.is_text() ? JsonObject().json() : value; }

void add_computed_faults(const Json& value, std::vector<std::string>& faults) {
  try {
    const FoundOp op =
        find_op(weights_role(), computing_op(value), value.is_text() ? value : value["type"]);
    const std::vector<std::string> found = op_faults(weights_role(), op, computing_section(value));
    faults.insert(faults.end(), found.begin(), found.end());
  } catch (const Error& error) {
    faults.emplace_back(error.what());
  }
}

// The dtype of the first operand that has fractions; none: the call has no such operand.
std::optional<DType> operand_dtype(const std::vector<Argument>& operands) {
  for (const Argument& operand : operands) {
    const tenon_value value = operand.value();
    if (value.tag != TENON_VALUE_TENSOR || value.as.tensor == nullptr) continue;
    const DType dtype = Tensor::borrow(value.as.tensor).dtype();
    if (is_floating(dtype)) return dtype;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> op_faults(const OpRole& role, const FoundOp& op, const Json& section) {
  std::vector<std::string> faults;
  const Json type = section["type"];
  const std::string place = (type.defined() ? type : section).place();
  static const char* const tensors[] = {"the output", "the target"};
  const bool scored = role.operands == 2 && &role != &optimizer_role();
  std::vector<std::string> given = role.supplied;
  for (size_t i = 0; i < static_cast<size_t>(role.operands); ++i) {
    const std::string what = scored ? tensors[i] : &role == &clip_role() ? "the gradients" : "it";
    if (i >= op.parameters.size()) {
      faults.push_back(lib::format_text("{}: {} takes no argument for {}", place, op.name, what));
      continue;
    }
    const DeclaredType& parameter = op.parameters[i];
    given.push_back(parameter.name);
    if (&role == &optimizer_role()) continue;
    if (!parameter.is_tensor() || parameter.list != (&role == &clip_role()))
      faults.push_back(lib::format_text("{}: {} takes '{} {}' in the place of {}", place, op.name,
                                        parameter.text, parameter.name, what));
  }
  if (&role == &optimizer_role()) {
    for (const DeclaredType& parameter : op.parameters) {
      if (!parameter.keyword_only) given.push_back(parameter.name);
    }
  }
  if (&role == &reader_role() && op.listing["returns"].size() < 2)
    faults.push_back(lib::format_text("{}: {} is not a data reader, which gives inputs and targets",
                                      place, op.name));
  const std::vector<std::string> found =
      argument_faults(section, op.name, op.parameters, given, role.others, TensorForms::written);
  faults.insert(faults.end(), found.begin(), found.end());
  for (int64_t i = 0; i < section.size() && found.empty(); ++i) {
    if (is_computed(op, section.key(i), section[i])) add_computed_faults(section[i], faults);
  }
  return faults;
}

// ---- calling ----

OpChoice::OwnTensors::OwnTensors(std::vector<Tensor> own, bool is_list)
    : tensors(std::move(own)), list(is_list) {
  for (const Tensor& tensor : tensors) handles.push_back(tensor.handle());
}
tenon_value OpChoice::OwnTensors::value() const {
  if (!list) return Argument(tensors.front()).value();
  tenon_value value{};
  value.tag = TENON_VALUE_TENSOR_LIST;
  value.length = static_cast<uint32_t>(handles.size());
  value.as.tensors = handles.data();
  return value;
}
void OpChoice::put_tensors(size_t at, std::vector<Tensor> tensors, bool list) {
  tensors_.emplace_back(at, std::make_shared<const OwnTensors>(std::move(tensors), list));
  values_.resize(std::max(values_.size(), at + 1));
  values_[at] = tensors_.back().second->value();
}

OpChoice::OpChoice(const OpRole& role, const Json& section, const std::string& name)
    : section_(section),
      found_(find_op(role, name.empty() ? section["type"].text() : name,
                     section["type"].defined() ? section["type"] : section)),
      op_(at_place(section, [&] { return Op(found_.name); })) {
  const std::vector<std::string> faults = op_faults(role, found_, section);
  if (!faults.empty()) throw ConfigError(join(faults, "\n"));
  for (int64_t i = 0; i < section.size(); ++i) {
    const std::string key = section.key(i);
    if (std::find(role.others.begin(), role.others.end(), key) != role.others.end()) continue;
    names_.push_back(key);
    if (is_computed(found_, key, section[i])) {
      computed_.push_back({values_.size(), section[i], {}});
      computed_.back().op.emplace_back(weights_role(), computing_section(section[i]),
                                       computing_op(section[i]));
      values_.push_back({});
      continue;
    }
    if (is_tensor(found_, key, section[i])) {
      put_tensors(values_.size(), {written_tensor(section[i])}, false);
      continue;
    }
    if (is_tensor_list(found_, key, section[i])) {
      std::vector<Tensor> list;
      for (int64_t k = 0; k < section[i].size(); ++k) list.push_back(written_tensor(section[i][k]));
      put_tensors(values_.size(), std::move(list), true);
      continue;
    }
    documents_.push_back(section[i]);
    // Numbers and texts as they are; the host converts lists as the parameters expect them.
    values_.push_back(service::documents().value(documents_.back().handle()));
  }
}

std::vector<Value> OpChoice::call(const std::vector<Argument>& operands,
                                  const std::vector<Keyword>& supplied) const {
  for (const Computed& one : computed_) {
    throw ValueError(
        lib::format_text("{}: {} has not been computed from labels; call compute_arguments before",
                         one.section.place(), one.op.front().found().name));
  }
  std::vector<OwnTensors> converted;
  std::vector<tenon_value> arguments, values, own = values_;
  if (!tensors_.empty()) {
    const std::optional<DType> dtype = operand_dtype(operands);
    converted.reserve(tensors_.size());
    for (const auto& [at, written] : tensors_) {
      std::vector<Tensor> list;
      for (const Tensor& tensor : written->tensors)
        list.push_back(dtype ? contiguous_as(tensor, *dtype) : tensor);
      own[at] = converted.emplace_back(std::move(list), written->list).value();
    }
  }
  std::vector<tenon_string> names;
  for (const Argument& operand : operands) arguments.push_back(operand.value());
  const auto is_supplied = [&](const std::string& name) {
    return std::any_of(supplied.begin(), supplied.end(),
                       [&](const Keyword& keyword) { return keyword.name == name; });
  };
  for (const Keyword& keyword : supplied) {
    if (!found_.has(std::string(keyword.name))) continue;
    names.push_back(detail::string_of(keyword.name));
    values.push_back(keyword.value.value());
  }
  for (size_t i = 0; i < names_.size(); ++i) {
    if (is_supplied(names_[i])) continue;
    names.push_back(detail::string_of(names_[i]));
    values.push_back(own[i]);
  }
  const auto count = static_cast<size_t>(service::ops().result_count(op_.handle()));
  tenon_value results[detail::max_results]{};
  at_place(section_, [&] {
    detail::check(service::ops().call_keywords, op_.handle(),
                  static_cast<const tenon_value*>(arguments.data()),
                  static_cast<int64_t>(arguments.size()),
                  static_cast<const tenon_string*>(names.data()),
                  static_cast<const tenon_value*>(values.data()),
                  static_cast<int64_t>(names.size()), results);
  });
  std::vector<Value> list;
  for (size_t i = 0; i < count; ++i) list.emplace_back(results[i]);
  return list;
}

void OpChoice::compute_arguments(const Tensor& labels, int64_t classes) {
  for (const Computed& one : computed_) {
    std::vector<Keyword> supplied;
    if (classes > 0) supplied.push_back(arg("classes") = classes);
    if (const Json ignored = section_["ignore_index"]; ignored.is_number())
      supplied.push_back(arg("ignore_index") = ignored.integer());
    const Tensor tensor = at_place(one.section, [&] {
      Tensor result = one.op.front().call_one({labels}, supplied).tensor();
      if (!result.defined())
        throw ValueError(lib::format_text("{} must give a tensor", one.op.front().found().name));
      return result;
    });
    put_tensors(one.at, {tensor}, false);
  }
  computed_.clear();
}

Value OpChoice::call_one(const std::vector<Argument>& operands,
                         const std::vector<Keyword>& supplied) const {
  std::vector<Value> results = call(operands, supplied);
  if (results.size() != 1)
    throw ValueError(lib::format_text("{}: {} must give one result, but gives {}", section_.place(),
                                      found_.name, results.size()));
  return std::move(results.front());
}

}  // namespace training

TENON_NAMESPACE_END
