// Modules as functions of their parameters, which is what derivatives of models are taken of.
//
//   const auto loss = [&](const Parameters& parameters, const Tensor& x, const Tensor& y) {
//     return mse_loss(functional_call<Tensor>(model, parameters, x), y);
//   };
//   const Parameters gradients = grad(loss)(parameters_of(model), x, y);
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN
namespace transforms {

// Tensors by dotted name: "0.weight".
using Parameters = std::map<std::string, Tensor>;

// The parameters, without their history: on the memory of the module's own. A shared one is there once,
// under its first name.
Parameters parameters_of(const Module& module);
Parameters buffers_of(const Module& module);  // by name

// A scope in which a module has other tensors in the places of parameters and buffers, computed ones
// too. One that the module has under several names is replaced under all of them.
class ReplacedParameters {
 public:
  // ValueError where the module has no such name, or has a tensor of another shape there.
  ReplacedParameters(const Module& module, const Parameters& parameters);
  ~ReplacedParameters();
  ReplacedParameters(const ReplacedParameters&) = delete;
  ReplacedParameters& operator=(const ReplacedParameters&) = delete;

 private:
  struct Place {
    Module owner;
    std::string name;
    Tensor before;
  };
  void put(const std::string& dotted, const Tensor& tensor);
  void put_back() noexcept;
  Module module_;
  std::vector<Place> places_;
};

// Calls the module with these tensors in the places of its parameters and buffers; others stay. The
// module has its own again when the call returns or throws. The result type is named as in Module::call.
// Not while another thread uses the module.
template <class Result = Tensor, class... Arguments>
Result functional_call(const Module& module, const Parameters& parameters,
                       const Arguments&... arguments) {
  const ReplacedParameters replaced(module, parameters);
  return module.call<Result>(arguments...);
}

}  // namespace transforms
TENON_NAMESPACE_END
