// Fuzzes the documents of kept calls: any text is refused by its fault, or gives a call that can be printed, and
// whose arguments are made where they are small. No op is called.
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/record/failure.hpp>

#include "lib/record/call_document.hpp"

namespace {

using namespace tenon;

const record::NamedTensors& tensors() {
  static const record::NamedTensors saved = [] {
    record::NamedTensors list;
    for (const auto& [name, dtype] : {std::pair{"0", f32}, {"1", i64}, {"2", f64}}) {
      const Tensor tensor = empty_tensor({6}, dtype);
      fill_elements(tensor, 1);
      list.emplace_back(name, tensor);
    }
    return list;
  }();
  return saved;
}

// Elements that were not kept are made, as many as the document says.
bool makes_large_tensors(const Json& value) {
  for (int64_t i = 0; i < value.size(); ++i) {
    const Json inner = value.is_object() ? value[value.key(i)] : value[i];
    if (value.is_object() && value.key(i) == "elements" && inner.is_null()) return true;
    if (inner.is_container() && makes_large_tensors(inner)) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const Json document = Json::parse({reinterpret_cast<const char*>(data), size});
    const record::KeptCall call(document, tensors());
    (void)call.text();
    (void)call.gaps();
    if (!makes_large_tensors(document)) const record::KeptArguments arguments(document, tensors());
  } catch (const Error&) {
  }
  return 0;
}
