// A tensor that a node keeps for its rule.
#pragma once

#include <cstdint>

#include "core/tensor/tensor.hpp"

namespace tenon::core {

class Node;
struct PackedTensor;

// A tensor kept by a node, with the version that it must still have.
struct SavedTensor {
  union {
    Tensor* tensor = nullptr;  // owned
    PackedTensor* packed;      // owned; when a scope of saved-tensor hooks was open
  };
  uint32_t version = 0;
  uint16_t index = 0;  // parameter or result
  enum class Kind : uint8_t {
    Argument,
    ShapeOnly,
    Result,
    Listed,
    ListedOwnResult,
    ListedIntermediate  // neither input nor output of its Function: its own gradient is not known
  } kind = Kind::Argument;
  enum : uint8_t { kPresent = 1, kPacked = 2 };
  uint8_t state = 0;

  bool packs() const { return (state & kPacked) != 0; }
  bool is_listed() const { return kind >= Kind::Listed; }
  // A result of the node itself, kept without its history.
  bool own_result() const { return kind == Kind::Result || kind == Kind::ListedOwnResult; }
  // Releases what it keeps; the entry is not read again.
  void release() {
    if (packs()) [[unlikely]]
      release_packed();
    else if (tensor != nullptr)
      tensor->release();
  }
  // Bytes of the data that a present one keeps.
  int64_t bytes() const;

 private:
  void release_packed();
};

// Elements times their size.
int64_t data_bytes(tenon_dtype dtype, Shape shape);
// The version of the tensor, or of one of its components, is not the saved one. Throws
// InplaceError.
[[noreturn, gnu::cold]] void fail_changed(const SavedTensor& saved, const Node& node);
[[noreturn, gnu::cold]] void fail_inference_saved();

}  // namespace tenon::core
