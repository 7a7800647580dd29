// Which types an override accepts, and how an op's arguments become its own.
#include "core/dispatch/types/override.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/types/specificity.hpp"

namespace tenon::core {

namespace {

constexpr int kAnyDistance = 1 << 16;

}  // namespace

std::string Override::key() const { return schema.name + type_names_text(types); }

int Override::distance(const TensorType& type) const {
  int nearest = accepts_any ? kAnyDistance : -1;
  for (const auto* list : {&types, &accepts}) {
    for (const TensorType* accepted : *list) {
      const int steps = type.distance(*accepted);
      if (steps >= 0 && (nearest < 0 || steps < nearest)) nearest = steps;
    }
  }
  return nearest;
}

int Override::distance_of_plain() const {
  for (const auto* list : {&types, &accepts}) {
    for (const TensorType* accepted : *list) {
      if (accepted->is_plain()) return 0;
    }
  }
  return accepts_any ? kAnyDistance : -1;
}

bool Override::for_type(const TensorType& type) const {
  return std::find(types.begin(), types.end(), &type) != types.end();
}

OverrideBinding bind_override(const Schema& own, const Schema& op) {
  const auto fail = [&](const std::string& what) {
    throw Error(TENON_ERROR_VALUE, "override of '{}': {}; the op is {}{}, the override {}{}",
                op.name, what, op.name, signature_text(op), own.name, signature_text(own));
  };
  OverrideBinding binding;
  std::vector<bool> taken(op.parameters.size());
  for (size_t i = 0; i < own.parameters.size(); ++i) {
    const Parameter& parameter = own.parameters[i];
    int64_t source = -1;
    // By position, as Python would pass it; by name where it is passed by name.
    if (!parameter.keyword_only && i < static_cast<size_t>(op.positional_count)) {
      source = static_cast<int64_t>(i);
    } else {
      source = op.find(parameter.name);
      if (source >= 0 && taken[static_cast<size_t>(source)]) source = -1;
    }
    if (source < 0 && !parameter.has_default) {
      fail(format_text("its parameter '{}' is not one of the op's and has no default",
                       parameter.name));
    }
    if (source >= 0) taken[static_cast<size_t>(source)] = true;
    binding.source.push_back(static_cast<int8_t>(source));
  }
  for (size_t i = 0; i < op.parameters.size(); ++i) {
    if (taken[i]) continue;
    if (!op.parameters[i].has_default)
      fail(format_text("it does not take '{}', which every call passes", op.parameters[i].name));
    binding.untaken.push_back(static_cast<uint8_t>(i));
  }
  return binding;
}

std::vector<std::string> signature_differences(const Schema& own, const Schema& op,
                                               const OverrideBinding& binding) {
  std::vector<std::string> differences;
  Words lacking, added;
  for (const uint8_t parameter : binding.untaken) lacking.push_back(op.parameters[parameter].name);
  for (size_t i = 0; i < own.parameters.size(); ++i) {
    if (binding.source[i] < 0) added.push_back(own.parameters[i].name);
  }
  if (!lacking.empty()) differences.push_back(format_text("lacks {}", join(lacking, ", ")));
  if (!added.empty()) differences.push_back(format_text("adds {}", join(added, ", ")));
  return differences;
}

}  // namespace tenon::core
