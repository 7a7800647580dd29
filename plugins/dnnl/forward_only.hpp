// Of ops that have neither a gradient nor a tangent here.
#pragma once

#include <initializer_list>

#include <tenon/plugin.hpp>

namespace onednn {

// Null, or why a provider with derivatives should compute a call with these operands, which may be
// undefined.
inline const char* declined_derivatives(std::initializer_list<const tenon::Tensor*> operands) {
  const bool records = tenon::GradMode::enabled();
  for (const tenon::Tensor* operand : operands) {
    if (!operand->defined()) continue;
    const uint32_t flags = operand->view_record().flags;
    if (records && (flags & TENON_TENSOR_REQUIRES_GRAD) != 0) return "a gradient is needed";
    if ((flags & TENON_TENSOR_HAS_TANGENT) != 0) return "an operand has a tangent";
  }
  return nullptr;
}

}  // namespace onednn
