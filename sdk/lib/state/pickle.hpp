// Pickles as data: the values that a pickle describes, without running any code that it names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/abi/dtype.h>

#include "file_fault.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

// A storage that torch.save wrote beside its pickle.
struct PickledStorage {
  std::string key;                       // the member `data/KEY` holds its bytes
  tenon_dtype dtype = TENON_DTYPE_NONE;  // none: bytes without a type
  int64_t count = 0;                     // elements
};

// A view of a storage; sizes and strides in elements of `dtype`.
struct PickledTensor {
  size_t storage = 0;  // position among the storages
  tenon_dtype dtype = TENON_DTYPE_NONE;
  int64_t offset = 0;
  std::vector<int64_t> shape, strides;
};

// A node of the tree: values are positions among the nodes, so that one that is named several times is
// kept once.
struct PickledValue {
  enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    number,
    text,
    sequence,
    dictionary,
    tensor,
    storage,
    global  // a class or function of the allowed ones
  };
  Kind kind = Kind::none;
  int64_t integer = 0;  // its value, of a boolean too; else a position in the list of its kind
  double number = 0;
};

struct Pickle {
  std::vector<PickledValue> values;
  size_t root = 0;
  std::vector<std::string> texts;
  std::vector<std::vector<size_t>> sequences;  // lists and tuples
  std::vector<std::vector<std::pair<size_t, size_t>>> dictionaries;
  std::vector<PickledStorage> storages;
  std::vector<PickledTensor> tensors;
};

// Reads a pickle of protocol 2 to 5. It may hold None, bools, integers, floats, texts, lists, tuples,
// dictionaries, OrderedDicts, torch.Size, and the tensors and storages of torch.save. Throws Fault that
// names the opcode or the global for anything else.
Pickle read_pickle(std::string_view bytes);

}  // namespace state

TENON_NAMESPACE_END
