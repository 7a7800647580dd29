// Every shipped module, prepared: the bits of the module as it is, and what rewrites may change of them.
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

// The module of a sample of its attributes.
std::string document_of(const std::string& name, const Json& sample) {
  std::string document = R"({"type": ")" + name + "\"";
  for (int64_t a = 0; a < sample.size() && sample.key(a) != "inputs"; ++a)
    document += ", \"" + sample.key(a) + "\": " + sample[a].dump();
  if (name == "Linear") document += R"(, "in_features": 3, "out_features": 2)";
  if (name == "LayerNorm") document += R"(, "normalized_shape": [3])";
  return document + "}";
}

// Runs by lists, prepared and opened again, each compared with the module: the same bits, or those of `rewritten` calls within
// the bounds of the rewrites that were used.
int64_t compare_runs(const Module& module, const std::vector<Tensor>& input, bool rewritten) {
  const NoGrad no_grad;
  const size_t results = result_count(module);
  PrepareOptions options;
  options.rewrites.enabled = rewritten;
  const Prepared prepared = prepare(module, {}, options);
  const std::vector<Tensor> expected = call(module, results, copies(input));
  const tenon_test::TemporaryFolder folder;
  const auto compare = [&](const Prepared& model) {
    for (int i = 0; i < 2; ++i) {
      const std::vector<Tensor> found = call(model, results, copies(input));
      for (size_t r = 0; r < results; ++r) {
        if (rewritten)
          CHECK(is_near(expected[r], found[r], allowed(prepared)));
        else
          CHECK(same_bits(expected[r], found[r]));
      }
    }
  };
  compare(prepared);
  prepared.save(folder / "module.tenon");
  compare(open_prepared(folder / "module.tenon"));
  return prepared.listed_runs();
}

}  // namespace

TEST_SUITE("lib/prepare/modules") {
  TEST_CASE(
      "each shipped module, prepared and opened again, gives the same bits without rewrites, and "
      "stays within their bounds with them") {
    constexpr int most = 3;  // inputs for each module
    const Json modules = plugin_facts("nn")["modules"];
    const std::vector<std::vector<Tensor>> inputs = candidates();
    std::string as_is, unchecked;
    for (int64_t m = 0; m < modules.size(); ++m) {
      const std::string schema = modules[m]["schema"].text();
      const std::string name = schema.substr(0, schema.find('('));
      if (modules[m]["mode"].as_bool()) continue;
      bool checked = false;
      const Json samples = Json::parse(modules[m]["samples"].text("[{}]"));
      for (int64_t s = 0; s < samples.size(); ++s) {
        const std::string document = document_of(name, samples[s]);
        CAPTURE(document);
        outcome([&] {
          const Module module = model_of(document);
          const size_t results = result_count(module);
          int count = 0;
          for (size_t i = 0; results > 0 && results <= 3 && i < inputs.size() && count < most;
               ++i) {
            if (!takes(module, inputs[i])) continue;
            CAPTURE(i);
            for (const bool rewritten : {false, true}) {
              CAPTURE(rewritten);
              if (compare_runs(module, inputs[i], rewritten) != 2) as_is += name + " ";
            }
            ++count;
            checked = true;
          }
          return std::vector<Tensor>();
        });
      }
      if (!checked) unchecked += name + " ";
    }
    CHECK(as_is == "");
    // These two are not called.
    CHECK(unchecked == "ModuleDict ModuleList ");
  }
}
