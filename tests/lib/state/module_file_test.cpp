// States of modules in files: what comes back, and what is said of files that do not fit.
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/state/module_file.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/tenon.hpp>

#include "tests/support/temporary_folder.hpp"

using namespace tenon;
using tenon_test::TemporaryFolder;

namespace {

using Floats = std::vector<float>;

Module linear(int64_t in) {
  return Module::create("Linear", arg("in_features") = in, arg("out_features") = 1,
                        arg("bias") = false);
}
Floats values(const Module& module, const char* name) {
  return module.tensor(name).detach().to_vector<float>();
}
template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// A file with weight, of four bytes, and after it a tensor of a dtype that Tenon does not have.
void write_with_unknown(const std::string& path, const std::string& name) {
  const std::string header = R"({"weight":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},")" +
                             name + R"(":{"dtype":"Q4","shape":[2],"data_offsets":[4,5]}})";
  const uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header << std::string("\0\0\x80?x", 5);
}

}  // namespace

TEST_SUITE("state/module_file") {
  TEST_CASE("a tensor that cannot be read is one more unexpected name, unless the module has it") {
    const TemporaryFolder folder;
    const std::string path = folder / "x.safetensors";
    write_with_unknown(path, "scale");
    Module module = linear(1);
    CHECK(refusal([&] {
            state::load(module, path);
          }).find("tensor 'scale': dtype 'Q4' cannot be") != std::string::npos);
    const state::LoadReport report = state::load(module, path, false);
    CHECK(report.unexpected == std::vector<std::string>{"scale"});
    CHECK(values(module, "weight") == Floats{1});
    module.register_buffer("scale", zeros({2}));
    CHECK(refusal([&] { state::load(module, path, false); }).find("tensor 'scale': dtype 'Q4'") !=
          std::string::npos);
  }

  TEST_CASE("every parameter and persistent buffer comes back into the same handles") {
    const TemporaryFolder folder;
    const std::string path = folder / "x.safetensors";
    const auto tree = [](float value) {
      Module root = linear(2);
      root.register_child("child", linear(3));
      root.register_buffer("mean", full({1}, value));
      root.register_buffer("cache", full({1}, value), false);
      for (const Tensor& parameter : root.parameters())
        fill_elements(parameter.detach(), Scalar(value));
      return root;
    };
    const Module saved = tree(4), loaded = tree(9);
    state::save(saved, path);
    const Tensor weight = loaded.tensor("child.weight");
    const state::LoadReport report = state::load(loaded, path);
    CHECK(report.missing.empty());
    CHECK(report.unexpected.empty());
    CHECK(loaded.tensor("child.weight").is_same(weight));
    CHECK(values(loaded, "child.weight") == Floats{4, 4, 4});
    CHECK(weight.requires_grad());
    CHECK(values(loaded, "mean") == Floats{4});
    CHECK(values(loaded, "cache") == Floats{9});
  }

  TEST_CASE("missing and unexpected keys are named together, and nothing is loaded then") {
    const TemporaryFolder folder;
    const std::string path = folder / "x.safetensors";
    Module saved = linear(2), other = linear(2);
    saved.register_buffer("old", full({1}, 1));
    other.register_buffer("new", full({1}, 2));
    state::save(saved, path);
    const Floats before = values(other, "weight");
    for (const bool assign : {false, true}) {
      CHECK(
          refusal([&] { state::load(other, path, true, assign); }) ==
          "Error(s) in loading state_dict for Linear:\n\tMissing key(s) in state_dict: \"new\".\n\t"
          "Unexpected key(s) in state_dict: \"old\".\n\tThe file is '" +
              path + "'.");
    }
    CHECK(values(other, "weight") == before);
    const state::LoadReport report = state::load(other, path, false);
    CHECK(report.missing == std::vector<std::string>{"new"});
    CHECK(report.unexpected == std::vector<std::string>{"old"});
    CHECK(values(other, "weight") == values(saved, "weight"));
    CHECK(values(other, "new") == Floats{2});
  }

  TEST_CASE("a size that differs is refused, strict or not") {
    const TemporaryFolder folder;
    state::save(linear(3), folder / "x.safetensors");
    for (const bool strict : {true, false}) {
      CHECK(
          refusal([&] { state::load(linear(2), folder / "x.safetensors", strict); })
              .find("size mismatch for weight: copying a param with shape [1, 3] from checkpoint, "
                    "the shape in current model is [1, 2].") != std::string::npos);
    }
  }

  TEST_CASE("a shared tensor is stored under each of its names, beside the caller's metadata") {
    const TemporaryFolder folder;
    const std::string path = folder / "x.safetensors";
    Module root = linear(2);
    root.register_parameter("tied", root.tensor("weight"));
    state::save(root, path, JsonObject().set("epoch", "3").json());
    CHECK(state::load_tensors(path).size() == 2);
    CHECK(state::metadata(path)["epoch"].text() == "3");
    Module again = linear(2);
    again.register_parameter("tied", again.tensor("weight"));
    state::load(again, path);
    CHECK(again.tensor("tied").is_same(again.tensor("weight")));
    CHECK(values(again, "tied") == values(root, "tied"));
  }

  TEST_CASE("of a file what begins with a prefix is loaded, under the rest of its names") {
    const TemporaryFolder folder;
    const std::string path = folder / "x.safetensors";
    state::save_tensors(path, {{"a.weight", full({1, 2}, 3)}, {"b.weight", full({1, 5}, 4)}});
    const Module module = linear(2);
    state::load(module, path, true, false, "a.");
    CHECK(values(module, "weight") == Floats{3, 3});
    CHECK(refusal([&] { state::load(module, path, true, false, "c."); }) ==
          "no tensor of '" + path + "' has a name that begins with 'c.'");
  }

  TEST_CASE("names that do not fit are explained by a prefix, or by what may be meant") {
    const Module module = linear(2);
    const auto fault = [&](const state::NamedTensors& tensors) {
      return refusal([&] { state::load_state(module, tensors); });
    };
    const Tensor weight = ones({1, 2});
    CHECK(
        fault({{"module.weight", weight}})
            .find("\n\tEach missing key is there behind 'module.': load with it as the prefix.") !=
        std::string::npos);
    CHECK(fault({{"wieght", weight}}).find("\n\t'weight' (did you mean 'wieght'?)") !=
          std::string::npos);
    CHECK(fault({}).find("prefix") == std::string::npos);
  }
}
