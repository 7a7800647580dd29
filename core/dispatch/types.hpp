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
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/fork.hpp"
#include "core/dispatch/op.hpp"
#include "core/dispatch/type_settings.hpp"
#include "core/tensor/tensor.hpp"
#include "tenon/abi/type.h"

namespace tenon::core {

// "decline", "to_tensor", "unwrap_rewrap", "inherit"
const char* fallback_text(int64_t fallback);

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
  std::atomic<const TypeSettings*> settings{nullptr};  // null: the config does not speak of it
  std::atomic<bool> has_overrides{false};
  mutable std::atomic<bool> complete{false};  // the overrides of other plugins for it are there

  bool is(const TensorType& other) const {
    const TensorType* type = this;
    while (type != nullptr && type != &other) type = type->parent;
    return type != nullptr;
  }
  // Steps up to the ancestor; -1 when it is none.
  int distance(const TensorType& ancestor) const;
  uint32_t fallback() const;
  // Whether the config lets its fallback stand for this op.
  bool falls_back_for(std::string_view op) const;
  bool has_handler() const;  // of its own or inherited, that of Tensor not counted
  // Whether its payload holds one tensor that it stands for, so that conversions need no code.
  bool keeps_one_tensor() const { return !is_tensor && descriptor.component_count == 1; }
  // Where a payload of this type keeps one of its tensors. Throws when the plugin does not say.
  Tensor*& component(Payload& payload, int64_t index) const;
  // The nearest in its line that says how to convert to Tensor; null when none does.
  const TensorType* converter() const;
  bool has_gradients() const;  // whether tensors of it may require grad
  // Whether calls ask it at all; others are to ops what any foreign object is.
  bool dispatches() const;
};

struct PayloadRelease {
  void operator()(Payload* payload) const { payload->release(); }
};
using PayloadRef = std::unique_ptr<Payload, PayloadRelease>;

// The type whose component tensors the tensor's payload has; null when it has none.
const TensorType* component_owner(const Tensor& tensor);

// An implementation of one op for a set of types.
struct Override {
  std::string provider;
  std::string doc;
  Schema schema;  // its own signature
  std::vector<const TensorType*> types;
  std::vector<const TensorType*> accepts;
  bool accepts_any = false;
  tenon_override_descriptor descriptor{};
  std::unique_ptr<Implementation> rules;         // of one that is recorded like an op
  std::unique_ptr<tenon_op> handle;              // of `rules`
  std::vector<std::string> differences;          // "lacks alpha, out"
  size_t operand_count = 0;                      // of the op: how many can have a type of their own
  mutable std::atomic<int32_t> switched_off{0};  // how often

  std::string key() const;  // "add[ScalarTensor, Other]"
  bool enabled() const { return switched_off.load(std::memory_order_relaxed) == 0; }
  // Rules for plain tensors: it answers no calls.
  bool rules_only() const {
    return descriptor.rules != nullptr && gives_rules_only(*descriptor.rules);
  }
  // Steps from the type to the nearest that is accepted; -1 when none is.
  int distance(const TensorType& type) const;
  bool for_type(const TensorType& type) const;
};

struct Ambiguity;

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
  // Throws TypeError when payloads of the type have another layout.
  void check_layout(const TensorType& type, const tenon_payload_layout& layout) const;
  void set_finder(std::function<void(std::string_view name)> finder);
  // Before a type's objects meet ops: has the overrides that other plugins bring for it and its
  // ancestors loaded, which another thread may be doing just now.
  void complete(const TensorType& type) const;
  void set_completer(std::function<bool(std::string_view name)> completer);
  // Which of two providers of an override for an op is preferred; "" when nobody ranks them.
  using Rule =
      std::function<std::string(const Override& entry, const std::string& a, const std::string& b)>;
  void set_rule(Rule rule);

  // What a plugin brings: prepare refuses all of it or changes nothing, commit cannot fail. Called
  // under one lock by whoever registers. `op_of` finds an op; its schema is empty when there is
  // none.
  struct Prepared {
    std::vector<std::unique_ptr<TensorType>> types;
    std::vector<std::unique_ptr<Override>> overrides;
    std::vector<std::string> notes;     // worth a line for who asks for it
    std::vector<std::string> warnings;  // ambiguities and piracy
  };
  struct OpSource {
    std::string schema;
    std::string provider;
    std::string suggestion = "";  // where there is none
    bool overridable = true;      // its plugin does not forbid it
  };
  using OpOf = std::function<OpSource(std::string_view op)>;
  struct Conduct {
    bool strict = false;  // what would be a warning is refused
    bool glue = false;    // may override the ops of others for the types of others
    std::function<bool(const std::string& key)> expected;  // another plugin will bring it
  };
  Prepared prepare(const std::string& provider, std::span<const tenon_type_descriptor* const> types,
                   std::span<const tenon_override_descriptor* const> overrides, const OpOf& op_of,
                   const Conduct& conduct) const;
  void commit(Prepared prepared);

  // All but Tensor, by id.
  std::vector<const TensorType*> types() const;
  // All in force for one op, or of all ops when the name is empty; sorted by key.
  std::vector<const Override*> overrides(std::string_view op = {}) const;
  // Ops for which some plugin has rules, in force or not; and those that are to take the place of
  // an op's own, null: none.
  std::vector<std::string> ruled_ops() const;
  const Override* rules_of(std::string_view op) const;
  // The one of the key from the provider, or that ranks first; switched off or not. Null when there
  // is none.
  const Override* find_override(std::string_view key, std::string_view provider) const;
  // Counted: one that was switched off twice is on again after two calls.
  void switch_off(const Override& entry);
  void switch_on(const Override& entry);
  // Pairs of overrides between which nothing decides, sorted as the overrides are.
  std::vector<Ambiguity> ambiguities() const;
  // For a type that is registered, or will be.
  void configure(const std::string& type, TypeSettings settings);
  // Null when there are none.
  const TypeSettings* settings(std::string_view type) const;

  // Changes with everything that is registered; what is derived from the table is stale then.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  void note_change() { generation_.fetch_add(1, std::memory_order_acq_rel); }

 private:
  static constexpr size_t kChunk = 1024;
  static constexpr size_t kChunks = 64;
  using Chunk = std::array<const TensorType*, kChunk>;

  using Entries = std::vector<const Override*>;
  void publish(std::unique_ptr<TensorType> type);
  void check_conduct(Prepared& prepared, const std::string& provider, const OpOf& op_of,
                     const Conduct& conduct) const;
  Entries ranked(Entries entries) const;
  void note_switch(const Override& changed);

  std::atomic<const TensorType**> chunks_[kChunks] = {};
  std::atomic<size_t> count_{0};
  std::vector<std::unique_ptr<const TensorType*[]>> chunk_memory_;
  std::vector<std::unique_ptr<TensorType>> types_;
  std::unordered_map<std::string_view, const TensorType*> names_;
  std::unordered_map<std::string_view, std::vector<std::unique_ptr<Override>>> overrides_;  // by op
  std::vector<std::string> ruled_;  // ops for which there are rules
  std::map<std::string, std::unique_ptr<const TypeSettings>, std::less<>> settings_;
  std::vector<std::unique_ptr<const TypeSettings>> replaced_;  // calls may be reading them
  std::atomic<uint64_t> generation_{1};
  mutable std::mutex mutex_;
  const HeldAcrossFork held_{mutex_};
  std::function<void(std::string_view)> finder_;
  std::function<bool(std::string_view)> completer_;  // false: to be asked again
  Rule rule_;
};

}  // namespace tenon::core
