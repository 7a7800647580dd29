// Tensor types and the overrides registered for them.
//
// A typed object is an ordinary tensor handle whose view carries TENON_TENSOR_TYPED and the id of
// its type. A child of Tensor has data, and is a plain tensor wherever types are not looked at. Any
// other ("tensor-like") has shape and dtype only: whatever needs data refuses it. What a type keeps
// with its objects is their payload, constructed by the plugin in memory of the host.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/dispatch/op.hpp"
#include "tenon/abi/type.h"

namespace tenon::core {

// Published types never change, but for what a config decides; they live as long as the process.
struct TensorType {
  uint32_t id = 0;
  std::string name;
  std::string provider;
  std::string doc;
  const TensorType* parent = nullptr;         // null: Tensor itself, or unrelated to it
  bool is_tensor = false;                     // Tensor or a descendant
  const TensorType* payload_owner = nullptr;  // the nearest in its line that has a payload
  tenon_type_descriptor descriptor{};
  std::atomic<uint32_t> configured_fallback{TENON_FALLBACK_INHERIT};  // by the config
  std::atomic<bool> has_overrides{false};

  bool is(const TensorType& other) const {
    const TensorType* type = this;
    while (type != nullptr && type != &other) type = type->parent;
    return type != nullptr;
  }
  // Steps up to the ancestor; -1 when it is none.
  int distance(const TensorType& ancestor) const;
  uint32_t fallback() const;
  bool has_handler() const;  // of its own or inherited, that of Tensor not counted
  // Whether its payload holds one tensor that it stands for, so that conversions need no code.
  bool keeps_one_tensor() const { return !is_tensor && descriptor.component_count == 1; }
  bool has_gradients() const;  // whether tensors of it may require grad
  // Whether calls ask it at all; others are to ops what any foreign object is.
  bool dispatches() const;
};

// An implementation of one op for a set of types.
struct Override {
  std::string provider;
  std::string doc;
  Schema schema;  // its own signature
  std::vector<const TensorType*> types;
  std::vector<const TensorType*> accepts;
  bool accepts_any = false;
  tenon_override_descriptor descriptor{};
  std::unique_ptr<Implementation> rules;  // of one that is recorded like an op
  std::unique_ptr<tenon_op> handle;       // of `rules`
  std::vector<std::string> differences;   // "lacks alpha, out"

  std::string key() const;  // "add[ScalarTensor, Other]"
  // Rules for plain tensors: it answers no calls.
  bool rules_only() const {
    return descriptor.rules != nullptr && gives_rules_only(*descriptor.rules);
  }
  // Steps from the type to the nearest that is accepted; -1 when none is.
  int distance(const TensorType& type) const;
  bool for_type(const TensorType& type) const;
};

// How the arguments of an op become those of an override's own signature.
struct OverrideBinding {
  std::vector<int8_t> source;    // for each own parameter: the op's, or -1: its own default
  std::vector<uint8_t> untaken;  // the op's parameters that must have their defaults
};
// Throws ValueError when the signatures cannot be matched.
OverrideBinding bind_override(const Schema& own, const Schema& op);

class TypeTable {
 public:
  TypeTable();
  TypeTable(const TypeTable&) = delete;
  TypeTable& operator=(const TypeTable&) = delete;

  static TypeTable& process();

  // Lock-free; the id is of a published type.
  const TensorType& at(uint32_t id) const {
    return *chunks_[id / kChunk].load(std::memory_order_acquire)[id % kChunk];
  }
  bool known(uint32_t id) const { return id < count_.load(std::memory_order_acquire); }
  const TensorType& tensor() const { return at(0); }
  // Null when there is none.
  const TensorType* find(std::string_view name) const;
  // The same for any id; throws ValueError when it is not registered.
  const TensorType& checked(uint32_t id) const;
  // Loads the plugin that declares the type when need be; throws ValueError when none does.
  const TensorType& require(std::string_view name) const;
  void set_finder(std::function<void(std::string_view name)> finder);
  // Which of two providers of an override for an op is preferred; "" when nobody ranks them.
  using Rule =
      std::function<std::string(std::string_view op, const std::string& a, const std::string& b)>;
  void set_rule(Rule rule);

  // What a plugin brings: prepare refuses all of it or changes nothing, commit cannot fail. Called
  // under one lock by whoever registers. `schema_of` answers the schema text of an op, or "".
  struct Prepared {
    std::vector<std::unique_ptr<TensorType>> types;
    std::vector<std::unique_ptr<Override>> overrides;
    std::vector<std::string> warnings;
  };
  using SchemaOf = std::function<std::string(std::string_view op)>;
  Prepared prepare(const std::string& provider, std::span<const tenon_type_descriptor* const> types,
                   std::span<const tenon_override_descriptor* const> overrides,
                   const SchemaOf& schema_of) const;
  void commit(Prepared prepared);

  // All but Tensor, by id.
  std::vector<const TensorType*> types() const;
  // All for one op, or of all ops when the name is empty; sorted by key.
  std::vector<const Override*> overrides(std::string_view op = {}) const;
  // Rules of another plugin that take the place of an op's own; null: none.
  const Override* rules_of(std::string_view op) const;
  void configure_fallback(const TensorType& type, uint32_t fallback);

  // Changes with everything that is registered; what is derived from the table is stale then.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  void note_change() { generation_.fetch_add(1, std::memory_order_acq_rel); }

 private:
  static constexpr size_t kChunk = 1024;
  static constexpr size_t kChunks = 64;
  using Chunk = std::array<const TensorType*, kChunk>;

  void publish(std::unique_ptr<TensorType> type);

  std::atomic<const TensorType**> chunks_[kChunks] = {};
  std::atomic<size_t> count_{0};
  std::vector<std::unique_ptr<const TensorType*[]>> chunk_memory_;
  std::vector<std::unique_ptr<TensorType>> types_;
  std::unordered_map<std::string_view, const TensorType*> names_;
  std::unordered_map<std::string_view, std::vector<std::unique_ptr<Override>>> overrides_;  // by op
  std::atomic<uint64_t> generation_{1};
  mutable std::mutex mutex_;
  std::function<void(std::string_view)> finder_;
  Rule rule_;
};

}  // namespace tenon::core
