#include "weight.hpp"

#include <algorithm>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/module_definition.hpp>

namespace onnx {

using tenon::Module, tenon::Tensor;

namespace {

// Paths of the modules around a path, outermost first.
std::vector<std::string> modules_around(const std::string& path) {
  std::vector<std::string> modules;
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1))
    modules.push_back(path.substr(0, dot));
  return modules;
}

// Module with weights that another one computes with.
struct Weights : tenon::ModuleOf<Weights> {
  static constexpr auto schema = "onnx.Weights()";
  static constexpr auto doc =
      "Weights of an onnx.Model whose names begin alike; the model around it computes with them.";
  static constexpr bool own_forward_schema = true;
  std::vector<tenon::Value> forward(const tenon_value*) const { return {}; }
};

// The path without its last part; empty where it has one.
std::string outer(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

// The module of a path; the model for an empty one.
Module module_at(const Module& model, const std::string& path) {
  if (path.empty()) return model;
  return module_at(model, outer(path)).child(path.substr(path.rfind('.') + 1).c_str());
}

}  // namespace

std::string WeightPaths::add(const std::string& name) {
  std::string path = name;
  if (!fits(path)) std::replace(path.begin(), path.end(), '.', '_');
  const std::string base = path;
  for (int i = 2; !fits(path); ++i) path = base + "_" + std::to_string(i);
  take(path);
  return path;
}

bool WeightPaths::fits(const std::string& path) const {
  if (path.empty() || path.front() == '.' || path.back() == '.' ||
      path.find("..") != std::string::npos)
    return false;
  if (tensors_.count(path) != 0 || modules_.count(path) != 0) return false;
  const std::vector<std::string> around = modules_around(path);
  return std::none_of(around.begin(), around.end(),
                      [&](const std::string& module) { return tensors_.count(module) != 0; });
}

void WeightPaths::take(const std::string& path) {
  tensors_.insert(path);
  for (std::string& module : modules_around(path)) modules_.insert(std::move(module));
}

Module WeightPaths::module(const Module& model, const std::string& path) {
  if (path.empty()) return model;
  Module& made = made_[path];
  if (!made.defined()) {
    made = Module::create("onnx.Weights");
    module(model, outer(path)).register_child(path.substr(path.rfind('.') + 1).c_str(), made);
  }
  return made;
}

Weight::Weight(const Module& model, WeightPaths& paths, const std::string& name, Kind kind,
               const Tensor& tensor)
    : path_(paths.add(name)) {
  Module owner = paths.module(model, outer(path_));
  const std::string last = path_.substr(path_.rfind('.') + 1);
  if (kind == Kind::parameter)
    owner.register_parameter(last.c_str(), tensor);
  else
    owner.register_buffer(last.c_str(), tensor, kind == Kind::buffer);
  bind(model, owner);
}

Weight::Weight(const Module& copy, const Weight& other) : path_(other.path_) {
  bind(copy, module_at(copy, outer(path_)));
}

void Weight::bind(const Module& model, const Module& owner) {
  name_ = path_.substr(path_.rfind('.') + 1);
  tenon::detail::check(tenon::service::modules().bind, owner.handle(), name_.data(),
                       static_cast<int64_t>(name_.size()), &tensor_);
  owner_handle_ = owner.handle();
  if (owner.handle() != model.handle()) owner_ = owner;
}

Weight::~Weight() {
  if (owner_handle_ == nullptr) return;
  tenon::service::modules().unbind(owner_handle_, name_.data(), static_cast<int64_t>(name_.size()));
  if (tensor_ != nullptr) tenon::service::tensors().release(handle());
}

}  // namespace onnx
using onnx::Weights;
TENON_MODULE(Weights)
