// Modules against PyTorch: states that it wrote load, and give its results and gradients.
// make_torch_states.py has made the file.
#include <algorithm>
#include <cmath>
#include <map>

#include <doctest/doctest.h>

#include <tenon/state/module_state.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

namespace {

constexpr auto path = TENON_TORCH_STATES;

// The file's tensors by module, then by what is behind the first slash.
std::map<std::string, std::map<std::string, Tensor>> read_file() {
  std::map<std::string, std::map<std::string, Tensor>> modules;
  for (const auto& [name, tensor] : state::load_tensors(path)) {
    const size_t slash = name.find('/');
    modules[name.substr(0, slash)][name.substr(slash + 1)] = tensor;
  }
  return modules;
}
// The metadata: the header is JSON behind eight bytes of its length.
Json descriptions() {
  std::FILE* file = std::fopen(path, "rb");
  REQUIRE(file != nullptr);
  uint64_t length = 0;
  REQUIRE(std::fread(&length, 8, 1, file) == 1);
  std::string header(length, ' ');
  REQUIRE(std::fread(header.data(), 1, length, file) == length);
  std::fclose(file);
  return Json::parse(header)["__metadata__"];
}

double largest_difference(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return INFINITY;
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double difference = std::abs(x[i] - y[i]) / std::max(1.0, std::abs(y[i]));
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

std::vector<Tensor> call(const Module& module, const std::vector<Tensor>& inputs) {
  std::vector<tenon_value> values;
  for (const Tensor& input : inputs) values.push_back(Argument(input).value());
  tenon_value results[8]{};
  detail::check(service::modules().call, module.handle(), values.data(),
                static_cast<int64_t>(values.size()), static_cast<const tenon_string*>(nullptr),
                static_cast<const tenon_value*>(nullptr), int64_t{0}, results, int64_t{-1});
  std::vector<Tensor> tensors;
  for (tenon_value& result : results) {
    Value value(result);
    if (value.is_tensor()) tensors.push_back(value.tensor());
  }
  return tensors;
}

// cos(0), cos(1), ... in the shape of the result.
Tensor weights_like(const Tensor& result) {
  std::vector<float> values(static_cast<size_t>(result.numel()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::cos(static_cast<float>(i));
  return from_range(values.begin(), values.end()).reshape(result.sizes());
}

void check_module(const std::string& name, const Json& description,
                  const std::map<std::string, Tensor>& saved) {
  CAPTURE(name);
  const Module module = create_module(Json::parse(description.text()));
  std::vector<std::pair<std::string, Tensor>> state;
  std::vector<Tensor> inputs, expected;
  for (const auto& [key, tensor] : saved) {
    if (key.rfind("state/", 0) == 0) state.emplace_back(key.substr(6), tensor);
    if (key.rfind("input/", 0) == 0) inputs.push_back(tensor);
    if (key.rfind("result/", 0) == 0) expected.push_back(tensor);
  }
  state::load_state(module, state);  // every key and shape is PyTorch's
  const std::vector<Tensor> results = call(module, inputs);
  REQUIRE(results.size() == expected.size());
  Tensor loss = zeros({});
  for (size_t i = 0; i < results.size(); ++i) {
    CHECK(largest_difference(results[i], expected[i]) < 1e-5);
    loss = loss + (results[i] * weights_like(results[i])).sum();
  }
  if (loss.requires_grad()) loss.backward();
  for (const auto& entry : module.named_parameters()) {
    const auto& key = entry.first;
    const auto& parameter = entry.second;
    CAPTURE(key);
    const auto gradient = saved.find("grad/" + key);
    REQUIRE(gradient != saved.end());
    CHECK(largest_difference(parameter.grad(), gradient->second) < 2e-5);
  }
  for (const auto& entry : module.named_buffers()) {
    const auto& key = entry.first;
    const auto& buffer = entry.second;
    CAPTURE(key);
    const auto after = saved.find("after/" + key);
    REQUIRE(after != saved.end());
    CHECK(largest_difference(buffer, after->second) < 1e-5);
  }
}

}  // namespace

TEST_SUITE("nn/torch_states") {
  TEST_CASE("states that PyTorch wrote load, and give its results, gradients and buffers") {
    const auto modules = read_file();
    const Json described = descriptions();
    CHECK(modules.size() == static_cast<size_t>(described.size()));
    for (int64_t i = 0; i < described.size(); ++i)
      check_module(described.key(i), described[i], modules.at(described.key(i)));
  }
}
