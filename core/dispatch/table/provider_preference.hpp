// Preferences of configs: which provider of an op is tried first for calls with operands of some
// classes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/dispatch/schema/schema.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/value.h"

namespace tenon::core {

// A class of operands by dtype and sizes, as configs write it: "f32[64..127, 784]".
//
// DTYPE[SIZE, SIZE, ...], with a size for each dimension; without a dtype any will do. A size is a
// number, a range with both ends in it (64..127), one with an end (64.., ..127), or any (*).
class ShapeClass {
 public:
  struct Sizes {
    int64_t low = 0, high = INT64_MAX;
  };
  // Throws ValueError, which says what is expected.
  explicit ShapeClass(std::string_view text);

  bool contains(const Tensor& tensor) const noexcept;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  tenon_dtype dtype_ = TENON_DTYPE_NONE;
  std::vector<Sizes> sizes_;
};

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
