// Models of ONNX files on a device, against the CPU.
#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/state/module_state.hpp>

#include "model_writer.hpp"
#include "outputs.hpp"

namespace {

using namespace model_writer;
using model_writer::Folder;
using outputs::Module, outputs::Tensor;
namespace device = tenon::device;

// Indices, a table of two numbers, sizes computed of the shape, and a branch that looks at elements.
Graph graph_with_constants() {
  const Graph then{{node("Neg", {"h"}, {"negative"})}, {}, {"negative"}};
  const Graph other{{node("Mul", {"h", "scale"}, {"scaled"})}, {}, {"scaled"}};
  return {{node("Gather", {"x", "places"}, {"g"}, {attribute("axis", int64_t{1})}),
           node("Add", {"g", "row"}, {"h"}),
           node("ReduceSum", {"h"}, {"sum"}, {attribute("keepdims", int64_t{0})}),
           node("Less", {"sum", "limits"}, {"below"}),
           node("If", {"below"}, {"b"},
                {graph_attribute("then_branch", then.message()),
                 graph_attribute("else_branch", other.message())}),
           node("Shape", {"b"}, {"shape"}), node("Gather", {"shape", "first"}, {"rows"}),
           node("Concat", {"rows", "one", "rest"}, {"sizes"}, {attribute("axis", int64_t{0})}),
           node("Reshape", {"b", "sizes"}, {"y"})},
          {"x"},
          {"y"},
          {integer_tensor("places", {2}, {2, 0}), model_writer::tensor("row", {1, 2}, {10, 20}),
           model_writer::tensor("scale", {1}, {3}), model_writer::tensor("limits", {1}, {0}),
           integer_tensor("first", {1}, {0}), integer_tensor("one", {1}, {1}),
           integer_tensor("rest", {1}, {-1})}};
}

}  // namespace

TEST_CASE("constants of a model follow it to a device and back") {
  const Folder folder;
  const Module model = Module::create(
      "onnx.Model",
      tenon::arg("path") = folder.write("model.onnx", model_writer::model(graph_with_constants())));
  const std::vector<Tensor> inputs{tenon::tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}),
                                   tenon::tensor({{-90.f, 2.f, 3.f}, {4.f, 5.f, 6.f}})};
  std::vector<std::vector<double>> expected;
  for (const Tensor& x : inputs) expected.push_back(model(x).to_vector<double>());
  CHECK(expected[0] == std::vector<double>{39, 63, 48, 72});
  const Module copy = model.clone();
  for (const Module& moved : {model, copy}) {
    device::move(moved, device::Device("sim:1"));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor found = moved(device::to(inputs[i], "sim:1"));
      CHECK(device::name_of(found) == "sim:1");
      CHECK(found.sizes() == std::vector<int64_t>{2, 1, 2});
      CHECK(found.to_vector<double>() == expected[i]);
    }
  }
  device::move(model, device::Device("cpu"));
  CHECK(model(inputs[1]).to_vector<double>() == expected[1]);
}

TEST_CASE("constants of a model are not part of its state") {
  const Folder folder;
  const Module model = Module::create(
      "onnx.Model",
      tenon::arg("path") = folder.write("model.onnx", model_writer::model(graph_with_constants())));
  CHECK(model.named_buffers().size() == 6);
  CHECK(tenon::state::state_of(model).size() == 1);
}
