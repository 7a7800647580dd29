// onnx.Model(like=...): conversions that give the answers of another engine.
#include <cmath>
#include <random>
#include <unistd.h>

#include <doctest/doctest.h>

#include <tenon/module.hpp>
#include <tenon/runtime.hpp>
#include <tenon/tenon.hpp>

#include "../compare.hpp"
#include "model_writer.hpp"

namespace {

using namespace model_writer;
using compare::refusal;
using model_writer::Folder;
using tenon::arg, tenon::Module, tenon::Op, tenon::Tensor, tenon::tensor;

constexpr float kNan = NAN;

Module load(const std::string& path, const char* like) {
  return Module::create("onnx.Model", arg("path") = path, arg("like") = like);
}
std::vector<std::string> changes(const std::string& path, const char* like) {
  return Op("onnx.changes").call<std::vector<std::string>>(path, arg("like") = like);
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The place that ONNX Runtime finds in a row: a later element where it compares greater.
int64_t place_in(const std::vector<float>& row) {
  size_t place = 0;
  for (size_t i = 1; i < row.size(); ++i) {
    if (row[i] > row[place]) place = i;
  }
  return static_cast<int64_t>(place);
}

}  // namespace

TEST_CASE("a model that is like an engine has its answers, and names the nodes that may differ") {
  const Folder folder;
  const Graph graph{
      {node("Neg", {"x"}, {"a"}, {}, "", "first"),
       node("ArgMax", {"a"}, {"y"},
            {attribute("axis", int64_t{1}), attribute("keepdims", int64_t{0})}, "", "largest")},
      {"x"},
      {"y"}};
  const std::string path = folder.write("model.onnx", model(graph));
  const Tensor x = tensor({{-1.f, kNan, -3.f}, {kNan, -1.f, -3.f}});
  const Module own = Module::create("onnx.Model", arg("path") = path);
  CHECK(own(x).to_vector<int64_t>() == std::vector<int64_t>{1, 0});
  CHECK(load(path, "onnxruntime")(x).to_vector<int64_t>() == std::vector<int64_t>{2, 0});
  CHECK(changes(path, "onnxruntime") ==
        std::vector<std::string>{"'largest' (ArgMax): onnx._runtime.arg_extremum"});
}

TEST_CASE("an engine without conversions is refused with those that there are") {
  const Folder folder;
  const std::string path =
      folder.write("model.onnx", model({{node("Relu", {"x"}, {"y"})}, {"x"}, {"y"}}));
  CHECK(has(refusal([&] { load(path, "tensorrt"); }),
            "no plugin has conversions like 'tensorrt'; there are conversions like: "));
  CHECK(has(refusal([&] { load(path, "tensorrt"); }), "onnxruntime"));
}

TEST_CASE("a plugin has conversions for an engine of its choice") {
  tenon::add_plugin_path(TENON_CONVERSIONS_FIXTURE);
  const Folder folder;
  const Tensor x = tensor({-2.f, 3.f});
  const std::string relu =
      folder.write("relu.onnx", model({{node("Relu", {"x"}, {"y"})}, {"x"}, {"y"}}));
  CHECK(load(relu, "acme")(x).to_vector<float>() == std::vector<float>{2, -3});
  CHECK(load(relu, "onnxruntime")(x).to_vector<float>() == std::vector<float>{0, 3});
  const std::string own =
      folder.write("own.onnx", model({{node("Own", {"x"}, {"y"}, {}, "acme")}, {"x"}, {"y"}}));
  CHECK(load(own, "acme")(x).to_vector<float>() == std::vector<float>{2, 3});
  CHECK(has(refusal([&] { Module::create("onnx.Model", arg("path") = own); }), "Own of acme 1"));
}

TEST_CASE("a conversion for an engine holds up to the next version of the standard's") {
  tenon::add_plugin_path(TENON_CONVERSIONS_FIXTURE);
  const Folder folder;
  const Graph clip{{node("Clip", {"x"}, {"y"})}, {"x"}, {"y"}};
  const Tensor x = tensor({-2.f, 3.f});
  CHECK(load(folder.write("old.onnx", model(clip, 10)), "acme")(x).to_vector<float>() ==
        std::vector<float>{2, -3});
  CHECK(load(folder.write("new.onnx", model(clip, 11)), "acme")(x).to_vector<float>() ==
        std::vector<float>{-2, 3});
}

TEST_CASE("NaN in rows is the largest where it is first, as ONNX Runtime compares") {
  std::mt19937 draw(41);
  const Op arg_extremum("onnx._runtime.arg_extremum"), reduce("onnx._runtime.reduce"),
      topk("onnx._runtime.topk");
  for (int round = 0; round < 50; ++round) {
    std::vector<float> row(1 + draw() % 12);
    for (float& one : row)
      one = draw() % 4 == 0 ? kNan : static_cast<float>(static_cast<int>(draw() % 9) - 4);
    const int64_t expected = place_in(row);
    const Tensor line = tenon::from_range(row.begin(), row.end());
    const Tensor x = line.unsqueeze(0);
    CHECK(arg_extremum.call<Tensor>(x, arg("axis") = 1).item<int64_t>() == expected);
    const float most = row[static_cast<size_t>(expected)];
    const auto largest =
        reduce.call<Tensor>(line, arg("kind") = "max", arg("keepdims") = false).item<float>();
    CHECK((largest == most || (std::isnan(largest) && std::isnan(most))));
    CHECK(std::get<1>(topk.call<std::tuple<Tensor, Tensor>>(x, 1)).item<int64_t>() == expected);
  }
}
