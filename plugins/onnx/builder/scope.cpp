#include "scope.hpp"

#include <tenon/text.hpp>

namespace onnx {

std::string quoted(std::string_view text) { return "'" + tenon::printable(text) + "'"; }

const Source* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    const auto found = scope->values.find(name);
    if (found != scope->values.end()) return &found->second;
  }
  return nullptr;
}

void Scope::define(std::string_view name, Source source) {
  if (name.empty()) return;
  if (!values.emplace(name, source).second)
    throw tenon::ValueError("the value " + quoted(name) + " is there twice");
}

const Source& Scope::read(std::string_view name, const char* what) const {
  const Source* source = find(name);
  if (source == nullptr) {
    throw tenon::ValueError(std::string(what) + " " + quoted(name) +
                            " is not an input, an initializer or the output of an earlier node");
  }
  return *source;
}

}  // namespace onnx
