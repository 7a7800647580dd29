// Cases of differences.json: a node, its inputs and what others say of it.
#pragma once

#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <tenon/json.hpp>

#include "model_writer.hpp"
#include "outputs.hpp"

namespace difference_cases {

using model_writer::Fields, model_writer::Message;
using tenon::DType, tenon::Json, tenon::Tensor;

struct Type {
  DType dtype;
  int64_t number;  // TensorProto.DataType
};
inline Type type_of(const std::string& name) {
  static const std::map<std::string, Type> types{
      {"f32", {tenon::f32, 1}}, {"u8", {tenon::u8, 2}},        {"i32", {tenon::i32, 6}},
      {"i64", {tenon::i64, 7}}, {"bool", {tenon::boolean, 9}},
  };
  return types.at(name);
}

inline std::string text_of(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char text[32];
  const bool whole = number == std::floor(number) && std::abs(number) < 1e7;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.5g", number == 0 ? 0.0 : number);
  return text;
}

// Numbers as nested lists.
class Array {
 public:
  std::vector<int64_t> dims;
  std::vector<std::string> numbers;

  std::string text() const {
    size_t at = 0;
    return text(0, at);
  }
  static Array of(const Json& value) {
    Array array;
    for (Json inner = value; inner.is_array(); inner = inner[0]) array.dims.push_back(inner.size());
    array.add(value);
    return array;
  }
  std::vector<double> values() const {
    std::vector<double> list;
    for (const std::string& one : numbers) list.push_back(std::strtod(one.c_str(), nullptr));
    return list;
  }

 private:
  void add(const Json& value) {
    if (!value.is_array()) return numbers.push_back(value.is_text() ? value.text() : value.dump());
    for (int64_t i = 0; i < value.size(); ++i) add(value[i]);
  }
  std::string text(size_t dim, size_t& at) const {
    if (dim == dims.size()) return number_text(numbers[at++]);
    std::string list;
    for (int64_t i = 0; i < dims[dim]; ++i) list += (i > 0 ? ", " : "") + text(dim + 1, at);
    return "[" + list + "]";
  }
  // Integers have all of their digits.
  static std::string number_text(const std::string& number) {
    const bool integer =
        number != "-0" && number.find_first_not_of("-0123456789") == std::string::npos;
    return integer ? number : text_of(std::strtod(number.c_str(), nullptr));
  }
};

inline Array array_of(const Tensor& tensor) {
  Array array;
  for (const int64_t size : tensor.sizes()) array.dims.push_back(size);
  if (tenon::is_floating(tensor.dtype())) {
    for (const double number : tensor.to_vector<double>()) {
      char text[64];
      std::snprintf(text, sizeof text, "%.17g", number);
      array.numbers.emplace_back(text);
    }
    return array;
  }
  for (const int64_t number : tensor.to_vector<int64_t>())
    array.numbers.push_back(std::to_string(number));
  return array;
}

struct Case {
  Json data;

  size_t outputs() const { return static_cast<size_t>(data["outputs"].integer(1)); }
  std::string excuse() const { return data["not_reproduced"].text(); }

  std::string title() const {
    std::string text = data["type"].text() + " ", attributes;
    for (int64_t i = 0; i < data["attributes"].size(); ++i) {
      const Json value = data["attributes"][data["attributes"].key(i)];
      attributes += (i > 0 ? ", " : "") + data["attributes"].key(i) + "=";
      attributes += value.is_text() ? value.text() : Array::of(value).text();
    }
    if (!attributes.empty()) text += "(" + attributes + ") ";
    bool first = true;
    for (int64_t i = 0; i < data["inputs"].size(); ++i) {
      const Json input = data["inputs"][i];
      if (input.is_null()) continue;
      const std::string type = input.key(0);
      text += (first ? "of " : ", ") + (type == "f32" ? "" : type + " ");
      text += Array::of(input[type]).text();
      first = false;
    }
    return text;
  }

  std::vector<Tensor> inputs() const {
    std::vector<Tensor> list;
    for (int64_t i = 0; i < data["inputs"].size(); ++i) {
      const Json input = data["inputs"][i];
      if (input.is_null()) continue;
      const Array array = Array::of(input[input.key(0)]);
      const std::vector<double> values = array.values();
      const tenon::IntList dims(array.dims.data(), static_cast<int64_t>(array.dims.size()));
      const DType dtype = type_of(input.key(0)).dtype;
      list.push_back(values.empty()
                         ? tenon::zeros(dims, dtype)
                         : tenon::from_range(values.begin(), values.end()).reshape(dims).to(dtype));
    }
    return list;
  }

  Message model() const {
    std::vector<std::string> names, results;
    Fields graph;
    for (int64_t i = 0; i < data["inputs"].size(); ++i) {
      const bool given = !data["inputs"][i].is_null();
      names.push_back(given ? "x" + std::to_string(i) : "");
    }
    for (size_t i = 0; i < outputs(); ++i) results.push_back("y" + std::to_string(i));
    std::vector<Message> attributes;
    for (int64_t i = 0; i < data["attributes"].size(); ++i) {
      const std::string name = data["attributes"].key(i);
      attributes.push_back(attribute(name, data["attributes"][name]));
    }
    graph.text(1, model_writer::node(data["type"].text(), names, results, attributes));
    for (int64_t i = 0; i < data["inputs"].size(); ++i) {
      const Json input = data["inputs"][i];
      if (input.is_null()) continue;
      const Message type = Fields().text(1, Fields().number(1, type_of(input.key(0)).number));
      graph.text(11, Fields().text(1, names[static_cast<size_t>(i)]).text(2, type));
    }
    for (const std::string& one : results) graph.text(12, Fields().text(1, one));
    const Message set = Fields().number(2, data["opset"].integer());
    return Fields().number(1, 10).text(7, graph.text(2, "g")).text(8, set);
  }

 private:
  static Message attribute(const std::string& name, const Json& value) {
    if (value.is_integer()) return model_writer::attribute(name, value.integer());
    if (value.is_text()) return Fields().text(1, name).text(4, value.text()).number(20, 3);
    if (value.is_number()) return model_writer::attribute(name, static_cast<float>(value.number()));
    std::vector<int64_t> list;
    for (int64_t i = 0; i < value.size(); ++i) list.push_back(value[i].integer());
    return model_writer::integers_attribute(name, list);
  }
};

}  // namespace difference_cases
