// Containers of modules: Residual, Parallel, ModuleList, ModuleDict.
#include <tenon/module_definition.hpp>

#include "common.hpp"

namespace {

using namespace nn;
using tenon::Module, tenon::ModuleDict, tenon::ModuleOf;

struct Residual : ModuleOf<Residual> {
  static constexpr auto schema = "Residual(Module body)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{"body": "Tanh"}])";
  static constexpr auto doc = "input + body(input) (He et al., 2015).";

  Child body{*this, "body"};

  explicit Residual(const Module& given) { body = given; }
  Tensor forward(const Tensor& input) const { return input + body(input); }
};

struct Parallel : ModuleOf<Parallel> {
  static constexpr auto schema = "Parallel(Module{} branches, str reduce='concat', int dim=1)";
  static constexpr auto forward_schema = "forward(Tensor input) -> Tensor";
  static constexpr auto samples = R"([{"branches": ["Tanh", "ReLU"]},
                                      {"branches": {"a": "Tanh", "b": "ReLU"}, "reduce": "sum"}])";
  static constexpr auto doc =
      "Runs each branch on the input; reduce 'concat' joins the results along dim, 'sum' adds "
      "them.";

  Parallel(const ModuleDict& branches, std::string_view reduce, int64_t) {
    if (reduce != "concat" && reduce != "sum") {
      throw tenon::ValueError("Parallel: reduce must be 'concat' or 'sum', got '" +
                              std::string(reduce) + "'");
    }
    if (branches.size() == 0)
      throw tenon::ValueError("Parallel(): it has no branches to run, expected at least one");
    for (const auto& [name, module] : branches) register_child(name, module);
  }
  Tensor forward(const Tensor& input) const {
    std::vector<Tensor> results;
    for (const Module& branch : module().children(false)) results.push_back(branch(input));
    if ((*this)["reduce"_arg] == "concat") return tenon::cat(results, (*this)["dim"_arg]);
    Tensor sum = results.front();
    for (size_t i = 1; i < results.size(); ++i) sum = sum + results[i];
    return sum;
  }
};

// Members of other modules; they do not say in which order they run.
struct ModuleListModule : ModuleOf<ModuleListModule> {
  static constexpr auto schema = "ModuleList(Module[] modules=[])";
  static constexpr bool own_forward_schema = true;
  static constexpr auto doc =
      "Keeps modules under the names 0, 1, ...; the module around it runs them.";

  explicit ModuleListModule(const std::vector<Module>& modules) {
    for (size_t i = 0; i < modules.size(); ++i) register_child(std::to_string(i), modules[i]);
  }
  std::vector<tenon::Value> forward(const tenon_value*) const { return {}; }
};

struct ModuleDictModule : ModuleOf<ModuleDictModule> {
  static constexpr auto schema = "ModuleDict(Module{} modules)";
  static constexpr auto samples = R"([{"modules": {"a": "Tanh"}}])";
  static constexpr bool own_forward_schema = true;
  static constexpr auto doc = "Keeps modules under their names; the module around it runs them.";

  explicit ModuleDictModule(const ModuleDict& modules) {
    for (const auto& [name, module] : modules) register_child(name, module);
  }
  std::vector<tenon::Value> forward(const tenon_value*) const { return {}; }
};

}  // namespace
TENON_MODULE(Residual)
TENON_MODULE(Parallel)
TENON_MODULE(ModuleListModule)
TENON_MODULE(ModuleDictModule)
