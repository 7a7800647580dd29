// Weights of a model under the names of its file: "conv1.weight" is the parameter `weight` of the child
// `conv1`, so that the state of the module that was exported loads by name.
#pragma once

#include <map>
#include <set>
#include <string>

#include <tenon/module.hpp>

namespace onnx {

// Paths of weights in a module. Parts of a name that cannot be names of children stay together, with '_' for
// '.'; so does a name whose children another weight has the name of.
class WeightPaths {
 public:
  // A path that none was given before.
  std::string add(const std::string& name);
  // The module of a path below the model, which is made when it is asked for first.
  tenon::Module module(const tenon::Module& model, const std::string& path);

 private:
  bool fits(const std::string& path) const;
  void take(const std::string& path);

  std::set<std::string> tensors_, modules_;
  std::map<std::string, tenon::Module> made_;
};

// A parameter or buffer of a model, or of a module below it: follows what the host has under its path.
class Weight {
 public:
  enum class Kind { parameter, buffer, constant };  // a constant: a buffer outside of the state

  // Registers the tensor.
  Weight(const tenon::Module& model, WeightPaths& paths, const std::string& name, Kind kind,
         const tenon::Tensor& tensor);
  // The weight of a copy of the model, whose tensors and children are there already.
  Weight(const tenon::Module& copy, const Weight& other);
  Weight(const Weight&) = delete;
  Weight& operator=(const Weight&) = delete;
  ~Weight();

  tenon_tensor* handle() const { return static_cast<tenon_tensor*>(tensor_); }

 private:
  void bind(const tenon::Module& model, const tenon::Module& owner);

  std::string path_, name_;  // the name: the last part of the path
  tenon_module* owner_handle_ = nullptr;
  tenon::Module owner_;     // undefined: the model, which owns this object
  void* tensor_ = nullptr;  // a reference, which the host replaces
};

}  // namespace onnx
