#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <tenon/device/failure.hpp>

TENON_NAMESPACE_BEGIN
namespace device {

namespace {

constexpr int kShown = 3;  // frames

std::string tensor_text(const tenon_tensor* tensor) {
  if (tensor == nullptr) return "None";
  const tenon_tensor_view& view = *tenon_tensor_get_view(tensor);
  return shape_text(static_cast<DType>(view.dtype), {view.shape, view.rank});
}

std::string argument_text(const tenon_value& value) {
  if (value.tag == TENON_VALUE_TENSOR) return tensor_text(value.as.tensor);
  if (value.tag != TENON_VALUE_TENSOR_LIST) return text_of(Argument(value));
  std::string text = "[";
  for (uint32_t i = 0; i < value.length; ++i)
    text += (i > 0 ? ", " : "") + tensor_text(value.as.tensors[i]);
  return text + "]";
}

std::string readable(const char* symbol) {
  int status = 0;
  char* const name = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string text = status == 0 ? name : symbol;
  std::free(name);
  return text;
}

std::string offset(const char* address, const void* base) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (auto rest = static_cast<uint64_t>(address - static_cast<const char*>(base));
       rest > 0 || text.empty(); rest >>= 4)
    text.insert(text.begin(), kDigits[rest & 15]);
  return "+0x" + text;
}

// The begin in memory of the file that has the address; null where none has.
const void* base_of(const void* address) {
  Dl_info file{};
  return ::dladdr(address, &file) == 0 ? nullptr : file.dli_fbase;
}

}  // namespace

std::string shape_text(DType dtype, IntList shape) {
  std::string text = dtype_text(dtype);
  text += "[";
  for (int64_t d = 0; d < shape.size(); ++d) text += (d > 0 ? ", " : "") + std::to_string(shape[d]);
  return text + "]";
}

CallRecord::CallRecord(const Call& call) : text_(call.short_name() + "(") {
  int64_t count = call.size();  // up to the last one that is given
  while (count > 0 && call.argument(count - 1).value().tag == TENON_VALUE_NONE) --count;
  for (int64_t i = 0; i < count; ++i)
    text_ += (i > 0 ? ", " : "") + argument_text(call.argument(i).value());
  text_ += ")";
  count_ = ::backtrace(frames_, kFrames);
}

std::string CallRecord::place() const {
  const void* const runtime = base_of(reinterpret_cast<const void*>(service::ops().call));
  const void* const plugin = base_of(reinterpret_cast<const void*>(&argument_text));
  std::string text;
  int shown = 0;
  for (int i = 0; i < count_ && shown < kShown; ++i) {
    auto* const address = static_cast<char*>(frames_[i]) - 1;  // inside the call
    Dl_info at{};
    if (::dladdr(address, &at) == 0 || at.dli_fbase == runtime || at.dli_fbase == plugin) continue;
    const std::string symbol = at.dli_sname == nullptr ? std::string() : readable(at.dli_sname);
    // The inline functions of the SDK are between the caller and the runtime.
    if (symbol.find("tenon::v1::") < 16) continue;
    text += shown++ == 0 ? "called from " : ", from ";
    if (!symbol.empty()) text += symbol + offset(address, at.dli_saddr) + " ";
    text += "(" + std::string(at.dli_fname) + offset(address, at.dli_fbase) + ")";
  }
  return text;
}

Failure::Failure(const CallRecord& call, const std::string& device, const Error& error)
    : kind_(error.kind()), text_(error.what()) {
  const std::string place = call.place();
  text_ += "\n  It arrived late, from " + call.text() + " on " + device +
           (place.empty() ? "" : ", " + place);
}

void Failure::raise() const {
  raised_ = true;
  detail::throw_message(kind_, {text_});
}

}  // namespace device
TENON_NAMESPACE_END
