// Every shipped module, prepared: the bits of the module as it is.
#include <map>

#include "tests/lib/prepare/support.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace preparing;

namespace {

// Inputs that modules may take, in the order in which they are tried.
std::vector<std::vector<Tensor>> candidates() {
  seed_generator(3);
  const auto shaped = [](std::vector<int64_t> shape) { return randn(shape); };
  std::vector<std::vector<Tensor>> list;
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 3},
                                            {2, 2, 4, 4},
                                            {2, 2, 5},
                                            {2, 1, 4, 4},
                                            {2, 2, 4, 4, 4},
                                            {2, 1, 4, 4, 4},
                                            {2, 4, 4, 4},
                                            {1, 2, 3},
                                            {2, 4},
                                            {4},
                                            {2, 2},
                                            {2, 1, 5},
                                            {2, 6},
                                            {3, 2, 3}})
    list.push_back({shaped(shape)});
  list.push_back({randn({2, 8, 12})});
  list.push_back({full({2, 2}, 1, i64)});
  list.push_back({randn({2, 3}), randn({2, 3})});
  list.push_back({rand({2, 3}), rand({2, 3})});
  list.push_back({randn({2, 3}), full({2}, 1, i64)});
  list.push_back({randn({2, 3}), randn({2, 3}), randn({2, 3})});
  list.push_back({randn({2, 2}), randn({2, 2})});
  list.push_back({randn({3, 2, 2}), randn({3, 2, 2})});
  return list;
}

bool takes(const Module& module, const std::vector<Tensor>& inputs) {
  const NoGrad no_grad;
  return outcome([&] { return call(module, result_count(module), copies(inputs)); }).error.empty();
}

}  // namespace

TEST_SUITE("lib/prepare/modules") {
  TEST_CASE("each shipped module gives the same bits when it is prepared, and opened again") {
    const Json modules = plugin_facts("nn")["modules"];
    const std::vector<std::vector<Tensor>> inputs = candidates();
    std::string as_is, unchecked;
    for (int64_t m = 0; m < modules.size(); ++m) {
      const std::string schema = modules[m]["schema"].text();
      const std::string name = schema.substr(0, schema.find('('));
      if (modules[m]["mode"].as_bool()) continue;
      CAPTURE(name);
      const Json samples = Json::parse(modules[m]["samples"].text("[{}]"));
      const Json attributes = samples[0];
      std::string document = R"({"type": ")" + name + "\"";
      for (int64_t a = 0; a < attributes.size() && attributes.key(a) != "inputs"; ++a)
        document += ", \"" + attributes.key(a) + "\": " + attributes[a].dump();
      if (name == "Linear") document += R"(, "in_features": 3, "out_features": 2)";
      if (name == "LayerNorm") document += R"(, "normalized_shape": [3])";
      bool checked = false;
      outcome([&] {
        const Module module = model_of(document + "}");
        const size_t results = result_count(module);
        if (results == 0 || results > 3) return std::vector<Tensor>();
        for (const std::vector<Tensor>& input : inputs) {
          if (!takes(module, input)) continue;
          const Prepared prepared = prepare(module);
          const NoGrad no_grad;
          const std::vector<Tensor> expected = call(module, results, copies(input));
          for (int i = 0; i < 2; ++i) {
            const std::vector<Tensor> found = call(prepared, results, copies(input));
            for (size_t r = 0; r < results; ++r) CHECK(same_bits(found[r], expected[r]));
          }
          const tenon_test::TemporaryFolder folder;
          prepared.save(folder / "module.tenon");
          const Prepared opened = open_prepared(folder / "module.tenon");
          for (int i = 0; i < 2; ++i) {
            const std::vector<Tensor> found = call(opened, results, copies(input));
            for (size_t r = 0; r < results; ++r) CHECK(same_bits(found[r], expected[r]));
          }
          checked = true;
          if (prepared.listed_runs() != 2) as_is += name + " ";
          break;
        }
        return std::vector<Tensor>();
      });
      if (!checked) unchecked += name + " ";
    }
    CHECK(as_is == "");
    // These two are not called.
    CHECK(unchecked == "ModuleDict ModuleList ");
  }
}
