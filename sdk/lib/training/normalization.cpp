// Fitting and applying normalisation, and its text.
#include "normalization.hpp"

#include <vector>

#include <tenon/op.hpp>
#include <tenon/ops.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

Json numbers_json(const Tensor& tensor) {
  JsonArray numbers;
  for (const double number : tensor.to_vector<double>()) numbers.add(number);
  return numbers.json();
}

Tensor numbers_tensor(const Json& numbers, const std::vector<int64_t>& shape) {
  std::vector<float> values;
  for (int64_t i = 0; i < numbers.size(); ++i)
    values.push_back(static_cast<float>(numbers[i].number()));
  return from_range(values.begin(), values.end()).reshape(shape);
}

}  // namespace

Normalization Normalization::fit(const Tensor& inputs) {
  std::vector<int64_t> reduced = {0};
  for (int64_t d = 2; d < inputs.dim(); ++d) reduced.push_back(d);
  const Op fit_normalize("data.fit_normalize");
  Normalization result;
  std::tie(result.mean, result.deviation) =
      fit_normalize.call<std::tuple<Tensor, Tensor>>(inputs, arg("dim") = reduced);
  return result;
}

Tensor Normalization::apply(const Tensor& inputs) const {
  if (!active() || !inputs.defined()) return inputs;
  return Op("data.normalize").call<Tensor>(inputs, mean, deviation, arg("fill_missing") = true);
}

Fitted Fitted::parse(const std::string& text) {
  Fitted fitted;
  if (text.empty()) return fitted;
  const Json json = Json::parse(text);
  fitted.reader = json["reader"].text();
  if (const Json normalize = json["normalize"]; normalize.defined()) {
    std::vector<int64_t> shape;
    for (int64_t i = 0; i < normalize["shape"].size(); ++i)
      shape.push_back(normalize["shape"][i].integer());
    fitted.normalization = {numbers_tensor(normalize["mean"], shape),
                            numbers_tensor(normalize["std"], shape)};
  }
  return fitted;
}

std::string Fitted::text() const {
  if (reader.empty() && !normalization.active()) return "";
  JsonObject json;
  json.set("reader", reader);
  if (normalization.active()) {
    JsonArray shape;
    for (const int64_t size : normalization.mean.shape()) shape.add(size);
    json.set("normalize", JsonObject()
                              .set("shape", shape.json())
                              .set("mean", numbers_json(normalization.mean))
                              .set("std", numbers_json(normalization.deviation))
                              .json());
  }
  return json.json().dump();
}

}  // namespace training

TENON_NAMESPACE_END
