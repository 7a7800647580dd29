// Memory of the tensors that a model keeps for its backward.
#include <tenon/state/module_file.hpp>

#include "support.hpp"

namespace {

// Four layers of Linear, tanh and GELU, 8 wide; those of `recomputed` are computed again.
tenon::Module layers_of(const std::vector<bool>& recomputed) {
  std::string layers;
  for (const bool again : recomputed)
    layers +=
        std::string(layers.empty() ? "" : ", ") +
        R"({"type": "Sequential", "layers": [{"type": "Linear", "in_features": 8, "out_features": 8},
                 "Tanh", "GELU"])" +
        (again ? R"(, "recompute": true})" : "}");
  return tenon::state::create_module(
      Json::parse(R"({"type": "Sequential", "layers": [)" + layers + "]}"));
}
constexpr int64_t kTensor = 16 * 8 * 4;  // bytes of a batch of 16

training::BackwardMemory memory_of(const tenon::Module& model) {
  return training::backward_memory(model, {tenon::randn({16, 8})});
}

}  // namespace

TEST_SUITE("backward memory") {
  TEST_CASE("without recompute all saved tensors are there at once, each counted once") {
    const training::BackwardMemory memory = memory_of(layers_of({false, false, false, false}));
    // The input of each op, but for the batch itself.
    CHECK(memory.kept_bytes == 11 * kTensor);
    CHECK(memory.peak_bytes == memory.kept_bytes);
    CHECK(memory.recomputed.empty());
  }

  TEST_CASE("of layers that are computed again one is there, and the inputs of the others") {
    const training::BackwardMemory memory = memory_of(layers_of({true, true, true, true}));
    CHECK(memory.kept_bytes == 11 * kTensor);
    CHECK(memory.peak_bytes == (3 + 2) * kTensor);
    CHECK(memory.recomputed == std::vector<std::string>{"0", "1", "2", "3"});
  }

  TEST_CASE("what is kept outside of a layer that is computed again counts beside it") {
    const training::BackwardMemory memory = memory_of(layers_of({false, true, false, false}));
    CHECK(memory.kept_bytes == 11 * kTensor);
    CHECK(memory.peak_bytes == 11 * kTensor);
    CHECK(memory.recomputed == std::vector<std::string>{"1"});
  }

  TEST_CASE("buffers and the generator are as before, and the model can be trained after it") {
    const tenon::Module model = tenon::state::create_module(Json::parse(
        R"({"type": "Sequential", "layers": [{"type": "BatchNorm1d", "num_features": 8},
            {"type": "Dropout", "p": 0.5}], "recompute": true})"));
    const int64_t offset = tenon::generator_state().offset;
    const Tensor input = tenon::randn({16, 8});
    const int64_t drawn = tenon::generator_state().offset - offset;
    training::backward_memory(model, {input});
    CHECK(tenon::generator_state().offset == offset + drawn);
    CHECK(tenon::sum(tenon::abs(model.buffers()[0])).item() == 0);
    tenon::sum(model(input)).backward();
    CHECK(model.parameters()[0].grad().defined());
  }
}
