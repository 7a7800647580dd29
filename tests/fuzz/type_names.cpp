// Definitions of the table of types, for targets that have no table: no value of theirs is an
// object of another type than Tensor.
#include <string>

#include "core/dispatch/binding/arguments.hpp"

namespace tenon::core {

const std::string& tensor_type_name(uint32_t) {
  static const std::string& name = *new std::string("Tensor");
  return name;
}

}  // namespace tenon::core
