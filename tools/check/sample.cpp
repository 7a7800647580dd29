// Samples as JSON, in reports.
#include "sample.hpp"

#include <cmath>

#include "format.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;
using Kind = SampleValue::Kind;

// Every try is reported before it is made, thousands for an op that takes few arguments: samples
// are written as text, without a document for each part.
namespace {

std::string json_number(double number) {
  return std::isfinite(number) ? short_number(number) : "null";
}
std::string json_text(const std::string& text) {
  return tenon::JsonArray().add(text).json()[0].dump();
}
template <class List, class Text>
std::string json_array(const List& list, Text&& text) {
  std::string out;
  for (const auto& item : list) out += format_text("{}{}", out.empty() ? "" : ",", text(item));
  return format_text("[{}]", out);
}
std::string json_integers(const std::vector<int64_t>& list) {
  return json_array(list, [](int64_t number) { return std::to_string(number); });
}

std::string spec_json(const TensorSpec& spec) {
  std::string out = format_text(R"({{"shape":{})", json_integers(spec.shape));
  if (spec.dtype != tenon::f64)
    out += format_text(R"(,"dtype":"{}")", tenon::dtype_text(spec.dtype));
  if (!spec.values.empty()) {
    out += format_text(R"(,"values":{})", json_array(spec.values, json_number));
  } else if (spec.low != -1 || spec.high != 1) {
    out += format_text(R"(,"low":{},"high":{})", json_number(spec.low), json_number(spec.high));
  }
  return out + (spec.requires_grad ? "}" : R"(,"requires_grad":false})");
}

std::string text_json(const TextSpec& spec) {
  return spec.file ? format_text("{{\"file\":{}}}", json_text(spec.text)) : json_text(spec.text);
}

std::string value_json(const SampleValue& value) {
  switch (value.kind) {
    case Kind::tensor:
      return spec_json(value.tensors[0]);
    case Kind::tensors:
      return json_array(value.tensors, spec_json);
    case Kind::scalar:
      return value.scalar.is_bool()       ? (value.scalar.to<bool>() ? "true" : "false")
             : value.scalar.is_floating() ? json_number(value.scalar.to<double>())
                                          : std::to_string(value.scalar.to<int64_t>());
    case Kind::text:
      return text_json(value.texts[0]);
    case Kind::texts:
      return json_array(value.texts, text_json);
    case Kind::dtype:
      return json_text(tenon::dtype_text(value.dtype));
    case Kind::integers:
      return json_integers(value.integers);
    case Kind::numbers:
      return json_array(value.numbers, json_number);
    case Kind::document:
      return value.document.dump();
    case Kind::result:
      return value.call->json;
    default:
      return "null";
  }
}

}  // namespace

Json SampleValue::json() const { return Json::parse(value_json(*this)); }

std::string Sample::dump() const {
  std::string out;
  const auto add = [&](const std::string& name, const std::string& json) {
    out += format_text("{}\"{}\":{}", out.empty() ? "" : ",", name, json);
  };
  for (const SampleValue& value : values) add(value.name, value_json(value));
  if (!prepare.empty())
    add("prepare", json_array(prepare, [](const SampleStep& step) { return step.json; }));
  if (then != nullptr) add("then", then->json);
  if (inputs.defined()) add("inputs", inputs.dump());
  return format_text("{{{}}}", out);
}

}  // namespace cli
