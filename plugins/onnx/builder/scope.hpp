// Names of a graph's values.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "program.hpp"

namespace onnx {

// A name of the file in an error.
std::string quoted(std::string_view text);

// Names of a graph; inner graphs see those around them.
struct Scope {
  const Scope* outer = nullptr;
  std::map<std::string_view, Source> values;

  const Source* find(std::string_view name) const;
  // An empty name is that of a value that is not read. ValueError for a name that is there already.
  void define(std::string_view name, Source source);
  // ValueError, which says `what` reads it, for a name that is not there.
  const Source& read(std::string_view name, const char* what) const;
};

}  // namespace onnx
