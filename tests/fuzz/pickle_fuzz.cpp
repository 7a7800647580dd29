// Fuzzes the reader of pickles: what it returns names values, texts and storages that are there, takes
// memory in proportion to its bytes, and its faults can be printed.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <tenon/abi/tensor.h>

#include "sdk/lib/state/pickle.hpp"

using namespace tenon;

namespace {

using Kind = state::PickledValue::Kind;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const state::Pickle& pickle) {
  const size_t count = pickle.values.size();
  require(pickle.root < count);
  for (const state::PickledValue& value : pickle.values) {
    const auto place = static_cast<size_t>(value.integer);
    if (value.kind == Kind::text) require(place < pickle.texts.size());
    if (value.kind == Kind::sequence) require(place < pickle.sequences.size());
    if (value.kind == Kind::dictionary) require(place < pickle.dictionaries.size());
    if (value.kind == Kind::storage) require(place < pickle.storages.size());
    if (value.kind == Kind::tensor) require(place < pickle.tensors.size());
  }
  for (const auto& sequence : pickle.sequences) {
    for (const size_t entry : sequence) require(entry < count);
  }
  for (const auto& dictionary : pickle.dictionaries) {
    for (const auto& [key, entry] : dictionary) require(key < count && entry < count);
  }
  for (const state::PickledStorage& storage : pickle.storages) require(storage.count >= 0);
  for (const state::PickledTensor& tensor : pickle.tensors) {
    require(tensor.storage < pickle.storages.size() && tensor.dtype != TENON_DTYPE_NONE);
    require(tensor.shape.size() == tensor.strides.size());
    require(tensor.shape.size() <= TENON_MAX_RANK);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  try {
    check(state::read_pickle({reinterpret_cast<const char*>(bytes), size}));
  } catch (const state::Fault& fault) {
    for (const char c : std::string_view(fault.what())) require(c >= ' ' && c < 0x7f);
  }
  return 0;
}
