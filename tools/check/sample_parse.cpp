// Samples that an author gives: read from JSON.
#include <algorithm>
#include <cmath>
#include <memory>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "format.hpp"
#include "sample.hpp"
#include "sample_reading.hpp"
#include "text.hpp"

namespace cli {

using tenon::DType;
using tenon::Json;
using tenon::Scalar;
using Kind = SampleValue::Kind;

namespace {

DType dtype_named(const std::string& place, const std::string& name) {
#define TENON_CLI_DTYPE(constant, code, bytes, type, text, ...) \
  if (name == text) return static_cast<DType>(code);
  TENON_ALL_DTYPES(TENON_CLI_DTYPE)
#undef TENON_CLI_DTYPE
  refuse_sample(place, format_text("unknown dtype '{}', expected one such as f32", name));
}

std::vector<int64_t> read_integers(const Json& document) {
  std::vector<int64_t> list;
  for (int64_t i = 0; i < document.size(); ++i) list.push_back(document[i].integer());
  return list;
}
std::vector<double> read_numbers(const Json& document) {
  std::vector<double> list;
  for (int64_t i = 0; i < document.size(); ++i) list.push_back(document[i].number());
  return list;
}
bool is_list_of_numbers(const Json& document) {
  if (!document.is_container() || document.is_object()) return false;
  for (int64_t i = 0; i < document.size(); ++i) {
    if (!document[i].is_number()) return false;
  }
  return true;
}
bool is_integer(const Json& document) {
  return document.is_number() && document.dump().find_first_of(".eE") == std::string::npos;
}

constexpr int64_t kMostElements = 1 << 20;

// Nested lists of numbers: their sizes become the shape.
void read_nested(const std::string& place, const Json& list, size_t depth, TensorSpec& spec) {
  if (depth == TENON_MAX_RANK || list.is_object() || !list.is_container())
    refuse_kind(place, list, "a list of numbers, or of such lists of one length");
  const int64_t size = list.size();
  if (depth == spec.shape.size()) spec.shape.push_back(size);
  if (size != spec.shape[depth])
    refuse_sample(
        place, format_text("{} here and {} in the list before; lists of one length make a tensor",
                           size, spec.shape[depth]));
  for (int64_t i = 0; i < size; ++i) {
    const std::string at = format_text("{}/{}", place, i);
    if (!list[i].is_number()) {
      read_nested(at, list[i], depth + 1, spec);
    } else if (depth + 1 != spec.shape.size()) {
      refuse_kind(at, list[i], "a list, as beside it");
    } else {
      spec.values.push_back(list[i].number());
    }
  }
}

TensorSpec read_tensor(const std::string& place, const Json& document) {
  if (!document.is_object())
    refuse_kind(place, document, R"(a tensor, an object such as {"shape": [2, 3]})");
  const std::vector<std::string> known = {"shape", "dtype",  "low",
                                          "high",  "values", "requires_grad"};
  for (int64_t i = 0; i < document.size(); ++i) {
    if (std::find(known.begin(), known.end(), document.key(i)) == known.end()) {
      refuse_sample(place,
                    format_text("a tensor has no '{}'{}; it has {}", document.key(i),
                                tenon::suggestion(document.key(i), known), join(known, ", ")));
    }
  }
  TensorSpec spec;
  if (document["dtype"].defined()) spec.dtype = dtype_named(place, document["dtype"].text());
  if (const Json values = document["values"]; values.defined()) {
    read_nested(format_text("{}/values", place), values, 0, spec);
    if (spec.values.empty())
      refuse_kind(format_text("{}/values", place), values, "at least one number");
  }
  if (!document["shape"].defined()) {
    if (spec.values.empty()) refuse_kind(place, document, R"(a tensor with a "shape" or "values")");
  } else {
    if (!is_list_of_numbers(document["shape"]))
      refuse_kind(format_text("{}/shape", place), document["shape"], "a list of sizes");
    const std::vector<int64_t> shape = read_integers(document["shape"]);
    if (spec.shape.size() > 1 && spec.shape != shape)
      refuse_kind(format_text("{}/shape", place), document["shape"],
                  R"(the shape of the nested "values")");
    spec.shape = shape;
  }
  const std::string source = document["shape"].defined() ? "shape" : "values";
  int64_t count = 1;
  for (const int64_t size : spec.shape) {
    if (size < 0 || size > kMostElements)
      refuse_kind(format_text("{}/{}", place, source), document[source],
                  format_text("sizes of 0 to {}", grouped(kMostElements)));
    count = std::min(kMostElements + 1, count * size);
  }
  if (count > kMostElements || spec.shape.size() > TENON_MAX_RANK)
    refuse_kind(format_text("{}/{}", place, source), document[source],
                format_text("at most {} elements of at most {} dimensions", grouped(kMostElements),
                            TENON_MAX_RANK));
  // Integers count from 0, so that they can be indices.
  spec.low = document["low"].number(tenon::is_differentiable(spec.dtype) ? -1 : 0);
  spec.high = document["high"].number(tenon::is_differentiable(spec.dtype) ? 1 : 2);
  if (!(spec.low <= spec.high))
    refuse_sample(place,
                  format_text(R"("low" is {}, above "high", which is {})", spec.low, spec.high));
  spec.requires_grad = document["requires_grad"].as_bool(true);
  return spec;
}

// ---- values, files, calls of other ops ----

std::string read_file_name(const std::string& place, const Json& document) {
  const std::string name = document.text();
  if (const std::string fault = file_name_fault(name); !fault.empty())
    refuse_sample(format_text("{}/file", place), fault);
  return name;
}

TextSpec read_text(const std::string& place, const Json& document) {
  if (document.is_text()) return {document.text(), false};
  if (!document.is_object() || document.size() != 1 || !document["file"].is_text())
    refuse_kind(place, document, R"(a text, or a file such as {"file": "table.csv"})");
  return {read_file_name(place, document["file"]), true};
}

bool is_list(const Json& document) { return document.is_container() && !document.is_object(); }
// Beside others: an object may be a tensor, or a document.
bool is_texts(const Json& document) {
  return is_list(document) && document.size() > 0 &&
         (document[0].is_text() || document[0].is_object());
}

SampleStep read_call(const std::string& place, const Json& document, int depth);

SampleValue read_value(const std::string& place, const Json& document, const DeclaredType& type,
                       int depth) {
  SampleValue value;
  value.name = type.name;
  if (document.is_null()) {
    if (!type.optional && type.base != "any")
      refuse_kind(place, document,
                  format_text("a value for '{}', which is not optional", type.name));
    return value;
  }
  const bool is_document = type.base == "Module" || type.base == "json";
  if (is_document) {
    value.kind = Kind::document;
    value.document = document;
  } else if (document.is_object() && document["op"].defined()) {
    value.kind = Kind::result;
    value.call = std::make_shared<const SampleStep>(read_call(place, document, depth + 1));
  } else if (type.is_tensor() && type.list) {
    value.kind = Kind::tensors;
    if (!is_list(document)) refuse_kind(place, document, "a list of tensors");
    for (int64_t i = 0; i < document.size(); ++i)
      value.tensors.push_back(read_tensor(format_text("{}/{}", place, i), document[i]));
  } else if (type.base == "Tensor" || (type.is_tensor() && document.is_object())) {
    value.kind = Kind::tensor;
    value.tensors.push_back(read_tensor(place, document));
  } else if (type.base == "dtype") {
    value.kind = Kind::dtype;
    value.dtype = dtype_named(place, document.text());
  } else if (document.is_text() || (document.is_object() && document["file"].defined())) {
    value.kind = Kind::text;
    value.texts.push_back(read_text(place, document));
  } else if (is_texts(document) || (type.base == "str" && type.list && is_list(document))) {
    value.kind = Kind::texts;
    for (int64_t i = 0; i < document.size(); ++i)
      value.texts.push_back(read_text(format_text("{}/{}", place, i), document[i]));
  } else if (is_truth_value(document)) {
    value.kind = Kind::scalar;
    value.scalar = Scalar(document.as_bool());
  } else if (document.is_number()) {
    value.kind = Kind::scalar;
    value.scalar = is_integer(document) ? Scalar(document.integer()) : Scalar(document.number());
  } else if (is_list_of_numbers(document) && type.base == "float") {
    value.kind = Kind::numbers;
    value.numbers = read_numbers(document);
  } else if (is_list_of_numbers(document)) {
    value.kind = Kind::integers;
    value.integers = read_integers(document);
  } else {
    refuse_kind(place, document, format_text("a value for '{}'", type.name));
  }
  return value;
}

// Reads a member of an object that is not an argument; false for other keys.
using ReadOther = std::function<bool(const std::string& key, const std::string& place,
                                     const Json& document, Sample& sample)>;

Sample read_sample(const std::string& place, const Json& object,
                   const std::vector<DeclaredType>& parameters, int depth, const ReadOther& other) {
  std::vector<std::string> names;
  names.reserve(parameters.size());
  for (const DeclaredType& parameter : parameters) names.push_back(parameter.name);
  Sample sample;
  for (int64_t k = 0; k < object.size(); ++k) {
    const std::string key = object.key(k);
    const std::string at = format_text("{}/{}", place, key);
    const auto found = std::find(names.begin(), names.end(), key);
    if (found == names.end()) {
      if (other(key, at, object[k], sample)) continue;
      refuse_sample(at,
                    format_text("unknown parameter '{}'{}", key, tenon::suggestion(key, names)));
    }
    sample.values.push_back(
        read_value(at, object[k], parameters[static_cast<size_t>(found - names.begin())], depth));
  }
  return sample;
}

// {"op": "data.read_npy", "path": {"file": "a.npy"}, "result": 0}
SampleStep read_call(const std::string& place, const Json& document, int depth) {
  constexpr int deepest = 8;
  if (depth > deepest)
    refuse_sample(place,
                  format_text("more than {} calls are inside each other; make some of them in "
                              "\"prepare\"",
                              deepest));
  SampleStep step;
  Json op;
  try {
    op = tenon::listing::op(document["op"].text());
  } catch (const tenon::Error& error) {
    refuse_sample(format_text("{}/op", place), error.what());
  }
  step.op = op["name"].text();
  step.json = document.dump();
  const auto other = [&](const std::string& key, const std::string& at, const Json& value,
                         Sample&) {
    if (key != "result") return key == "op";
    step.result = is_integer(value) ? value.integer() : -1;
    if (step.result < 0 || step.result >= op["returns"].size())
      refuse_kind(at, value,
                  format_text("a result of '{}', 0 to {}", step.op, op["returns"].size() - 1));
    return true;
  };
  step.arguments = std::make_shared<const Sample>(
      read_sample(place, document, declared_types(op["parameters"]), depth, other));
  return step;
}

std::string read_hex(const std::string& place, const std::string& text) {
  std::string bytes;
  const std::string digits = "0123456789abcdef";
  if (text.size() % 2 != 0)
    refuse_sample(place, format_text("found {} digits, expected two for each byte", text.size()));
  for (size_t i = 0; i < text.size(); i += 2) {
    const size_t high = digits.find(text[i]), low = digits.find(text[i + 1]);
    if (high == std::string::npos || low == std::string::npos)
      refuse_sample(place,
                    format_text("found '{}', expected two digits of 0-9 and a-f for each byte",
                                text.substr(i, 2)));
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

// A file to write, or a call.
SampleStep read_step(const std::string& place, const Json& document) {
  if (document.is_object() && document["op"].defined()) return read_call(place, document, 0);
  SampleStep step;
  const bool text = document["text"].is_text(), hex = document["hex"].is_text();
  if (!document.is_object() || document.size() != 2 || !document["file"].is_text() || text == hex)
    refuse_kind(place, document,
                "a step: a call, {\"op\": ...}, or a file with its content, {\"file\": "
                "\"table.csv\", \"text\": ...}, or \"hex\"");
  step.file = read_file_name(place, document["file"]);
  step.content = text ? document["text"].text()
                      : read_hex(format_text("{}/hex", place), document["hex"].text());
  step.json = document.dump();
  return step;
}

bool read_other(const std::string& key, const std::string& place, const Json& document,
                Sample& sample) {
  if (key == "check") {
    read_sample_options(place, document, sample);
  } else if (key == "prepare") {
    if (!is_list(document)) refuse_kind(place, document, "a list of steps");
    for (int64_t i = 0; i < document.size(); ++i)
      sample.prepare.push_back(read_step(format_text("{}/{}", place, i), document[i]));
  } else if (key == "then") {
    if (!document.is_object() || !document["op"].defined())
      refuse_kind(place, document, "a call, {\"op\": ...}");
    sample.then = std::make_shared<const SampleStep>(read_call(place, document, 0));
  } else {
    return false;
  }
  return true;
}

}  // namespace

// Not parsed: what is not JSON is reported where the samples are read, and a text that only looks
// like the key costs an empty folder.
bool name_files(const std::string& json) { return json.find("\"file\"") != std::string::npos; }

namespace {

std::vector<Sample> parse_list(const std::string& json, const std::vector<DeclaredType>& parameters,
                               const ReadOther& other) {
  const Json list = Json::parse(json);
  if (!is_list(list)) refuse_kind("", list, "a list of objects");
  std::vector<Sample> samples;
  for (int64_t i = 0; i < list.size(); ++i) {
    const std::string place = format_text("/{}", i);
    if (!list[i].is_object()) refuse_kind(place, list[i], "an object of arguments by name");
    samples.push_back(read_sample(place, list[i], parameters, 0, other));
  }
  return samples;
}

}  // namespace

std::vector<Sample> parse_samples(const std::string& json,
                                  const std::vector<DeclaredType>& parameters) {
  return parse_list(json, parameters, read_other);
}

std::vector<Sample> parse_module_samples(const std::string& json,
                                         const std::vector<DeclaredType>& attributes) {
  return parse_list(
      json, attributes,
      [](const std::string& key, const std::string& place, const Json& document, Sample& sample) {
        if (key != "inputs") return key != "then" && read_other(key, place, document, sample);
        if (!document.is_object()) refuse_kind(place, document, "an object of inputs by name");
        sample.inputs = document;
        return true;
      });
}

}  // namespace cli
