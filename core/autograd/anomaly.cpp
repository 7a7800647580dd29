// Call sites of recorded calls, and the search for nan.
#include "core/autograd/anomaly.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <memory>

#include "core/base/error.hpp"
#include "core/tensor/copy.hpp"

namespace tenon::core {

namespace {

// How many frames of the caller are told: a composite op's own plugin may be the innermost.
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

template <class Element>
bool holds_nan(const Tensor& tensor) {
  const auto* data = static_cast<const Element*>(tensor.view.data);
  for (int64_t i = 0; i < tensor.view.count; ++i) {
    if (std::isnan(data[i])) return true;
  }
  return false;
}

bool holds_nan(Tensor& tensor) {
  if (tensor.storage == nullptr || tensor.view.count == 0) return false;
  const TensorRef dense = tensor.contiguous() ? TensorRef(&tensor) : contiguous_copy(tensor);
  return tensor.view.dtype == TENON_F32   ? holds_nan<float>(*dense)
         : tensor.view.dtype == TENON_F64 ? holds_nan<double>(*dense)
                                          : false;
}

Error told(const Node& node, Error error) {
  error.message += "\n  Its forward call: " + origin_text(node) + ".";
  return error;
}

}  // namespace

void remember_origin(Node& node) {
  auto origin = std::make_unique<CallOrigin>();
  origin->count = backtrace(origin->frames, CallOrigin::kFrames);
  node.extra().origin = std::move(origin);
}

std::string origin_text(const Node& node) {
  std::string text = std::string("the engine's own ") + node.name();
  if (const Implementation* implementation = node.implementation()) {
    text = "op '" + implementation->schema.name + "' of plugin '" + implementation->provider + "'";
  }
  const NodeExtra* extra = node.extra_if_any();
  if (extra == nullptr || extra->origin == nullptr)
    return text + " (where is not known: anomaly mode was off when it was recorded)";
  Dl_info own{};
  dladdr(reinterpret_cast<const void*>(&remember_origin), &own);
  int told_frames = 0;
  for (int i = 0; i < extra->origin->count && told_frames < kToldFrames; ++i) {
    auto* address = static_cast<char*>(extra->origin->frames[i]) - 1;  // inside the call
    Dl_info place{};
    if (dladdr(address, &place) == 0 || place.dli_fbase == own.dli_fbase) continue;
    const std::string symbol =
        place.dli_sname == nullptr ? std::string() : symbol_text(place.dli_sname);
    // The inline skin stands between the caller and the host.
    if (symbol.find("tenon::v1::") != std::string::npos && symbol.find("tenon::v1::") < 16)
      continue;
    text += told_frames++ == 0 ? ", called from " : ", from ";
    if (!symbol.empty())
      text +=
          symbol + hex(static_cast<uintptr_t>(address - static_cast<char*>(place.dli_saddr))) + " ";
    text += std::string("(") + place.dli_fname +
            hex(static_cast<uintptr_t>(address - static_cast<char*>(place.dli_fbase))) + ")";
  }
  return told_frames == 0 ? text + ", called from within the runtime" : text;
}

void apply_watched(Node& node, std::span<Tensor* const> gradients, std::vector<TensorRef>& answer,
                   const BackwardCall& call, bool search) {
  try {
    node.apply(gradients, answer, call);
  } catch (const Error& error) {
    throw told(node, error);
  }
  if (!search) return;
  for (size_t i = 0; i < answer.size(); ++i) {
    if (!answer[i] || !holds_nan(*answer[i])) continue;
    Error error(TENON_ERROR_RUNTIME, std::string("Function '") + node.name() +
                                         "' returned nan values in its " + std::to_string(i) +
                                         "th output.");
    if (const Implementation* implementation = node.implementation()) {
      error.op = implementation->schema.name;
      error.provider = implementation->provider;
    }
    throw told(node, std::move(error));
  }
}

}  // namespace tenon::core
