// One tensor type under check: what its stages share. Each stage is a function in a file named
// after it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "item_check.hpp"
#include "objects.hpp"
#include "tensors.hpp"

namespace cli {

class TypeCheck : public ItemCheck {
 public:
  TypeCheck(const std::string& type_of, const CheckSettings& settings_of,
            CheckListener& listener_of)
      : ItemCheck(settings_of, listener_of), type(type_of) {}

  const std::string& type;
  std::vector<ObjectSource> sources;

  // An object, of which the listener hears. Throws what its op throws.
  tenon::Tensor make(const ObjectSource& source) const {
    listener.trying(sample_of(source));
    return source.make(settings.seed);
  }
  void find(const std::string& kind, const std::string& message, const ObjectSource& source) {
    const Sample sample = sample_of(source);
    ItemCheck::find(kind, message, &sample);
  }
};

// Stages. Each looks at an object from one source; what its maker throws they let through.
void check_conversion(TypeCheck& check, const ObjectSource& source);
void check_object_calls(TypeCheck& check, const ObjectSource& source);
void check_object_gradients(TypeCheck& check, const ObjectSource& source);
void check_object_files(TypeCheck& check, const ObjectSource& source);
void check_object_threads(TypeCheck& check, const ObjectSource& source);
void check_object_leaks(TypeCheck& check, const ObjectSource& source);
void check_empty_objects(TypeCheck& check, const ObjectSource& source);

}  // namespace cli
