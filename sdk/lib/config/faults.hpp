// Faults of a config, collected for one message.
#pragma once

#include <string>
#include <vector>

#include "document.hpp"

TENON_NAMESPACE_BEGIN

namespace config {

class Faults {
 public:
  explicit Faults(std::string file) : file_(std::move(file)) {}

  void add(tenon_json_place place, std::string pointer, std::string what) {
    list_.push_back({place, std::move(pointer), std::move(what)});
  }
  void add(ConfigNode node, const Path& path, std::string what) {
    add(node.place(), path.text(), std::move(what));
  }
  bool empty() const { return list_.empty(); }
  // ConfigError with the first 50, in the order of the file.
  [[noreturn]] void refuse() const;

 private:
  struct Fault {
    tenon_json_place place;
    std::string pointer, what;
  };
  std::string file_;
  std::vector<Fault> list_;
};

}  // namespace config

TENON_NAMESPACE_END
