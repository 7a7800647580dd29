// Preferences of configs: which provider of an op is tried first for some of its calls.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/dispatch/schema/schema.hpp"
#include "core/dispatch/table/shape_class.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

// Condition: an operand of the call is of a class.
struct ShapeCondition {
  std::string parameter;
  ShapeClass shape;
};

struct ProviderPreference {
  std::string provider;              // id
  std::vector<ShapeCondition> when;  // all of them hold; none: it is for every call
  std::string source;                // of the preference: "config 'a.json'"

  // "config 'a.json' prefers 'blas' where input is f32[64..127, 784]"
  std::string text() const;
};

// The preferences of one op.
class ProviderPreferences {
 public:
  // A preference about a parameter that the op does not have never holds.
  ProviderPreferences(const Schema& schema, std::vector<ProviderPreference> preferences);

  // The first that holds for bound arguments, with its text, which is there as long as this; null:
  // none.
  struct Found {
    const ProviderPreference* preference = nullptr;
    const char* text = nullptr;
  };
  Found find(const tenon_value* arguments) const noexcept;

 private:
  struct Placed {
    ProviderPreference preference;
    std::string text;
    std::vector<size_t> places;  // places of the parameters
  };
  std::vector<Placed> preferences_;
};

}  // namespace tenon::core
