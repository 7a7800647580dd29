// The table of tensor types and of the overrides registered for them.
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
#include "core/dispatch/types/override.hpp"
#include "core/dispatch/types/tensor_type.hpp"
#include "tenon/abi/type.h"

namespace tenon::core {

class TypeTable {
 public:
  TypeTable();
  TypeTable(const TypeTable&) = delete;
  TypeTable& operator=(const TypeTable&) = delete;

  // The process's table, which tensors' type ids refer to; defined by runtime/assembly.cpp.
  static TypeTable& process();

  // Lock-free; the id is of a published type.
  const TensorType& at(uint32_t id) const {
    return *chunks_[id / kChunk].load(std::memory_order_acquire)[id % kChunk];
  }
  bool known(uint32_t id) const { return id < count_.load(std::memory_order_acquire); }
  const TensorType& tensor() const { return at(0); }
  // Null when there is none.
  const TensorType* find(std::string_view name) const;
  // The type of any id; throws ValueError when it is not registered.
  const TensorType& checked(uint32_t id) const;
  // Loads the plugin that declares the type when need be; throws ValueError when none does.
  const TensorType& require(std::string_view name) const;
  // Throws TypeError when payloads of the type have another layout.
  void check_layout(const TensorType& type, const tenon_payload_layout& layout) const;
  void set_finder(std::function<void(std::string_view name)> finder) {
    finder_ = std::move(finder);
  }
  // Before a type's objects meet ops: has the overrides that other plugins provide for it and its
  // ancestors loaded, which another thread may be doing just now.
  void complete(const TensorType& type) const;
  void set_completer(std::function<bool(std::string_view name)> completer) {
    completer_ = std::move(completer);
  }
  // Which of two providers of an override for an op is preferred; "" when no setting ranks them.
  using Preference =
      std::function<std::string(const Override& entry, const std::string& a, const std::string& b)>;
  void set_preference(Preference preference) { preference_ = std::move(preference); }

  // Registration of a plugin: prepare checks everything and changes nothing, commit cannot fail.
  // The caller holds one lock over both. `op_of` finds an op; its schema is empty when there is
  // none.
  struct Prepared {
    std::vector<std::unique_ptr<TensorType>> types;
    std::vector<std::unique_ptr<Override>> overrides;
    std::vector<std::string> notes;     // worth a line at level info
    std::vector<std::string> warnings;  // ambiguities, overriding foreign types
  };
  struct OpSource {
    std::string schema;
    std::string provider;
    std::string suggestion{};  // suggestion when there is none
    bool overridable = true;   // its plugin does not forbid it
  };
  using OpOf = std::function<OpSource(std::string_view op)>;
  struct RegistrationPolicy {
    bool strict = false;  // warnings become errors
    bool glue = false;    // may override other plugins' ops for other plugins' types
    // Whether another plugin, which is not loaded yet, declares the override.
    std::function<bool(const std::string& key)> declared;
  };
  // The code that the functions are in, and the code of the same plugin that it takes the place of.
  struct Place {
    PluginCode* code = nullptr;
    const PluginCode* replaced = nullptr;
  };
  Prepared prepare(const std::string& provider, std::span<const tenon_type_descriptor* const> types,
                   std::span<const tenon_override_descriptor* const> overrides, const OpOf& op_of,
                   const RegistrationPolicy& policy, Place place) const;
  // In one step: what is of `replaced` is found no more.
  void commit(Prepared prepared, const PluginCode* replaced = nullptr);
  // Types of this code are found by name no more and its overrides run no more, but for objects
  // of these types, which continue as they were. Both stay: ids and handles name them.
  void withdraw(const PluginCode& code);
  // Plugins that derive types from those of this code, or override ops for them. Sorted.
  std::vector<std::string> users_of(const PluginCode& code) const;

  // All but Tensor, by id.
  std::vector<const TensorType*> types() const;
  // All active for one op, or of all ops when the name is empty; sorted by key.
  std::vector<const Override*> overrides(std::string_view op = {}) const;
  // Ops for which some plugin has rules, active or not; and those that are to take the place of
  // an op's own, null: none.
  std::vector<std::string> ops_with_gradient_overrides() const;
  const Override* gradient_override(std::string_view op) const;
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
  friend class TypeCheck;
  static constexpr size_t kChunk = 1024;
  static constexpr size_t kChunks = 64;
  using Chunk = std::array<const TensorType*, kChunk>;

  using Entries = std::vector<const Override*>;
  void publish(std::unique_ptr<TensorType> type);
  void withdraw_locked(const PluginCode& code);
  void refresh_has_overrides(std::span<const TensorType* const> types);
  Entries ranked(Entries entries) const;
  void note_switch(const Override& changed);

  std::atomic<const TensorType**> chunks_[kChunks] = {};
  std::atomic<size_t> count_{0};
  std::vector<std::unique_ptr<const TensorType*[]>> chunk_memory_;
  std::vector<std::unique_ptr<TensorType>> types_;
  std::unordered_map<std::string_view, const TensorType*> names_;
  std::unordered_map<std::string_view, std::vector<std::unique_ptr<Override>>> overrides_;  // by op
  std::vector<std::unique_ptr<Override>> withdrawn_overrides_;
  std::vector<std::string> gradient_override_ops_;  // ops for which there are rules
  std::map<std::string, std::unique_ptr<const TypeSettings>, std::less<>> settings_;
  std::vector<std::unique_ptr<const TypeSettings>> replaced_;  // calls may be reading them
  std::atomic<uint64_t> generation_{1};
  mutable std::mutex mutex_;
  const HeldAcrossFork held_{mutex_};
  std::function<void(std::string_view)> finder_;
  std::function<bool(std::string_view)> completer_;  // false: to be called again
  Preference preference_;
};

}  // namespace tenon::core
