// Tensor files in parts: an index names the part of each tensor, and only the needed parts are opened.
#include <filesystem>
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

class Parts {
 public:
  Parts() {
    state::save_tensors(folder_ / "one.safetensors", {{"weight", full({1, 2}, 3).to(f32)}});
    state::save_tensors(folder_ / "two.safetensors",
                        {{"bias", full({1}, 4).to(f32)}, {"other", zeros({5})}});
    write(R"({"metadata": {"total_size": 12}, "weight_map":
              {"weight": "one.safetensors", "bias": "two.safetensors"}})");
  }
  std::string index() const { return folder_ / "model.safetensors.index.json"; }
  void write(const std::string& text) const { tenon_test::put_bytes(index(), text); }
  void remove(const std::string& part) const { std::filesystem::remove(folder_ / part); }
  std::string fault() const {
    try {
      state::load_tensors(index());
    } catch (const ValueError& error) {
      return error.what();
    }
    return "";
  }

 private:
  TemporaryFolder folder_;
};
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("state/sharded_file") {
  TEST_CASE("the tensors that the index names come from all parts") {
    const Parts parts;
    for (const auto& read : {state::load_tensors, state::map_tensors}) {
      const state::NamedTensors tensors = read(parts.index(), {});
      REQUIRE(tensors.size() == 2);
      CHECK(tensors[0].first == "weight");
      CHECK(tensors[1].second.to_vector<float>() == std::vector<float>{4});
    }
    CHECK(state::metadata(parts.index())["total_size"].integer() == 12);
    const Module linear = Module::create("Linear", arg("in_features") = 2, arg("out_features") = 1);
    state::load(linear, parts.index());
    CHECK(linear.tensor("bias").detach().to_vector<float>() == std::vector<float>{4});
  }

  TEST_CASE("a part without a tensor that is asked for is not opened") {
    const Parts parts;
    parts.remove("two.safetensors");
    CHECK(state::map_tensors(parts.index(), {"weight"})[0].second.numel() == 2);
    CHECK_THROWS_AS(state::map_tensors(parts.index(), {"bias"}), IOError);
  }

  TEST_CASE("an index that is a part of itself is refused, not read without end") {
    const Parts parts;
    parts.write(R"({"weight_map": {"weight": "model.safetensors.index.json"}})");
    CHECK(has(parts.fault(), "is an index as well; name the file that has the tensors"));
  }

  TEST_CASE("an index that names what is not there, or another folder, is refused") {
    const Parts parts;
    parts.write(R"({"weight_map": {"gone": "one.safetensors"}})");
    CHECK(has(parts.fault(), "has no tensor 'gone', which the index"));
    for (const char* part : {"../one.safetensors", "/etc/passwd", "..", ""}) {
      parts.write(std::string(R"({"weight_map": {"weight": ")") + part + "\"}}");
      CHECK(has(parts.fault(), "is not the name of a file beside it"));
    }
    parts.write(R"({"weight_map": {"weight": 7}})");
    CHECK(has(parts.fault(), "the part of 'weight' is 7, not a text"));
    parts.write(R"({"weights": {}})");
    CHECK(has(parts.fault(), "it has no object \"weight_map\" of names and parts"));
    parts.write(R"({"weight_map": )");
    CHECK(has(parts.fault(), "is not a valid index of tensor files"));
  }
}
