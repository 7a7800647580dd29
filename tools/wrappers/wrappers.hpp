// Typed C++ functions for the ops of a plugin, written from its facts: nothing of it runs.
#pragma once

#include <string>

namespace wrappers {

struct Files {
  std::string functions;  // a header: one function for each op, in the namespace of its name
  std::string methods;    // declarations for class Tensor, which only the SDK includes
};

// Files for the plugin with this id or path; ValueError when one of its schemas cannot be parsed.
// With `methods` the header defines the methods as well.
Files write(const std::string& plugin, bool methods);

// A file that has this text already stays as it is, so that what includes it is not built again.
void save(const std::string& path, const std::string& text);

}  // namespace wrappers
