// Modules that are one op: each is a line of a table.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>

#include <tenon/module_definition.hpp>

#include "common.hpp"

namespace nn {

using tenon::Module, tenon::ModuleOf;

// The names of a schema's parameters, in their order.
template <size_t Count>
std::array<tenon_string, Count + 1> parameter_names(std::string_view schema) {
  std::array<tenon_string, Count + 1> names{};
  tenon::detail::each_item(schema, schema.find('('),
                           [&](int i, std::string_view, std::string_view name) {
                             names[static_cast<size_t>(i)] = tenon::detail::string_of(name);
                           });
  return names;
}

// A tensor that is converted with the module, in the place of an attribute.
struct Converted {
  std::string_view name;
  const Tensor& tensor;
};

// Calls Definition::op with the inputs, and with the attributes as keywords of the same names.
template <class Definition, class... Inputs>
Tensor apply_op_with(const ModuleOf<Definition>& self, std::initializer_list<Converted> converted,
                     const Inputs&... inputs) {
  constexpr auto count =
      static_cast<size_t>(tenon::detail::count_schema(Definition::schema, false).parameters);
  static const tenon::Op op(Definition::op);
  static const std::array<tenon_string, count + 1> names =
      parameter_names<count>(Definition::schema);
  const std::array<tenon_value, sizeof...(Inputs)> given{tenon::Argument(inputs).value()...};
  tenon_value results[tenon::detail::max_results]{};
  if constexpr (count == 0) {
    tenon::detail::check(tenon::service::ops().call, op.handle(), given.data(),
                         static_cast<int64_t>(given.size()), results);
  } else {
    const tenon_value* attributes = tenon::service::modules().attributes(self.handle());
    std::array<tenon_value, count> values;
    if (converted.size() > 0) {
      std::copy_n(attributes, count, values.begin());
      for (size_t i = 0; i < count; ++i) {
        for (const Converted& other : converted) {
          if (other.tensor.defined() &&
              std::string_view(names[i].data, static_cast<size_t>(names[i].length)) == other.name)
            values[i] = tenon::Argument(other.tensor).value();
        }
      }
      attributes = values.data();
    }
    tenon::detail::check(tenon::service::ops().call_keywords, op.handle(), given.data(),
                         static_cast<int64_t>(given.size()), names.data(), attributes,
                         static_cast<int64_t>(count), results);
  }
  return tenon::Value(results[0]).tensor();
}
template <class Definition, class... Inputs>
Tensor apply_op(const ModuleOf<Definition>& self, const Inputs&... inputs) {
  return apply_op_with(self, {}, inputs...);
}

}  // namespace nn

// NN_OP_MODULE(Softmax, "(int dim)", "softmax", "sample or empty", "a sentence"): `op_name` is of
// nn.functional or, with a dot in front, of the root: ".tanh".
#define NN_OP_MODULE(Name, attributes, op_name, samples_text, doc_text)                      \
  namespace {                                                                                \
  struct Name : nn::ModuleOf<Name> {                                                         \
    static constexpr auto schema = #Name attributes;                                         \
    static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";                \
    static constexpr auto op = op_name;                                                      \
    static constexpr auto samples = samples_text;                                            \
    static constexpr auto doc = doc_text;                                                    \
    nn::Tensor forward(const nn::Tensor& input) const { return nn::apply_op(*this, input); } \
  };                                                                                         \
  }                                                                                          \
  TENON_MODULE(Name)
