// Call sites of recorded calls, and the search for nan.
#include "core/autograd/engine/anomaly.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <memory>

#include "core/autograd/engine/engine.hpp"
#include "core/autograd/typed/typed.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/types/conversion.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

// How many frames of the caller are reported: a composite op's own plugin may be the innermost.
constexpr int kToldFrames = 3;

std::string hex(uintptr_t offset) {
  char text[24];
  std::snprintf(text, sizeof text, "+0x%zx", static_cast<size_t>(offset));
  return text;
}

std::string symbol_text(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? readable.get() : name;
}

// A complex element counts as two.
template <class Element>
bool holds_nan(const Tensor& tensor) {
  const auto* data = static_cast<const Element*>(tensor.view.data);
  const int64_t count = tensor.view.count * (dtype_complex(tensor.view.dtype) ? 2 : 1);
  for (int64_t i = 0; i < count; ++i) {
    if (std::isnan(data[i])) return true;
  }
  return false;
}

bool holds_nan(Tensor& tensor) {
  if (tensor.storage == nullptr || tensor.view.count == 0) return false;
  if (!dtype_differentiable(tensor.view.dtype)) return false;
  if (memory_type(tensor.view.type) != 0) return holds_nan(*to_plain(tensor));
  const tenon_dtype dtype = compute_dtype(tensor.view.dtype);
  const TensorRef dense = tensor.contiguous() && dtype == tensor.view.dtype
                              ? TensorRef(&tensor)
                              : contiguous_copy(tensor, dtype);
  return real_dtype(dtype) == TENON_F32 ? holds_nan<float>(*dense) : holds_nan<double>(*dense);
}

std::shared_ptr<const CallOrigin> origin_of(const Node& node) {
  const NodeExtra* extra = node.extra_if_any();
  if (extra != nullptr && extra->origin != nullptr) return extra->origin;
  return std::make_shared<CallOrigin>(node);
}

std::string text_of(const CallOrigin& origin) {
  std::string text = format_text("the engine's own {}", origin.node);
  if (const Implementation* implementation = origin.implementation) {
    text = format_text("op '{}' of plugin '{}'", implementation->schema.name,
                       implementation->provider);
  }
  if (origin.count < 0)
    return format_text("{} (where is not known: anomaly mode was off when it was recorded)", text);
  Dl_info own{};
  dladdr(reinterpret_cast<const void*>(&remember_origin), &own);
  int printed_frames = 0;
  for (int i = 0; i < origin.count && printed_frames < kToldFrames; ++i) {
    auto* address = static_cast<char*>(origin.frames[i]) - 1;  // inside the call
    Dl_info place{};
    if (dladdr(address, &place) == 0 || place.dli_fbase == own.dli_fbase) continue;
    const std::string symbol =
        place.dli_sname == nullptr ? std::string() : symbol_text(place.dli_sname);
    // The inline skin is between the caller and the host.
    if (symbol.find("tenon::v1::") != std::string::npos && symbol.find("tenon::v1::") < 16)
      continue;
    text += printed_frames++ == 0 ? ", called from " : ", from ";
    if (!symbol.empty())
      text +=
          format_text("{}{} ", symbol,
                      hex(static_cast<uintptr_t>(address - static_cast<char*>(place.dli_saddr))));
    text += format_text("({}{})", place.dli_fname,
                        hex(static_cast<uintptr_t>(address - static_cast<char*>(place.dli_fbase))));
  }
  return printed_frames == 0 ? format_text("{}, called from within the runtime", text) : text;
}

Error with_origin(const Node& node, Error error) {
  const std::shared_ptr<const CallOrigin> origin = origin_of(node);
  error.message += format_text("\n  Its forward call: {}.", text_of(*origin));
  for (const CallOrigin* parent = origin->parent.get(); parent != nullptr;
       parent = parent->parent.get()) {
    error.message += format_text("\n  That calculation was induced by '{}'; its forward call: {}.",
                                 parent->node, text_of(*parent));
  }
  return error;
}

}  // namespace

std::string origin_text(const Node& node) { return text_of(*origin_of(node)); }

void remember_origin(Node& node) {
  auto origin = std::make_shared<CallOrigin>(node);
  origin->count = backtrace(origin->frames, CallOrigin::kFrames);
  if (thread_state.run != nullptr && thread_state.run->running() != nullptr)
    origin->parent = origin_of(*thread_state.run->running());
  node.extra().origin = std::move(origin);
}

void apply_watched(Node& node, std::span<Tensor* const> gradients, std::vector<TensorRef>& produced,
                   const BackwardCall& call, bool search) {
  try {
    node.apply(gradients, produced, call);
  } catch (const Error& error) {
    throw with_origin(node, error);
  }
  if (!search) return;
  for (size_t i = 0; i < produced.size(); ++i) {
    if (!produced[i] || !holds_nan(*produced[i])) continue;
    Error error(TENON_ERROR_RUNTIME, "Function '{}' returned nan values in its {}th output.",
                node.name(), i);
    if (const Implementation* implementation = node.implementation()) {
      error.op = implementation->schema.name;
      error.provider = implementation->provider;
    }
    throw with_origin(node, std::move(error));
  }
}

}  // namespace tenon::core
