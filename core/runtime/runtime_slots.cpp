// The host's slots on the runtime: threads, random numbers, log, words in messages, listings, policies.
#include <optional>

#include "core/autograd/graph/leak_tracking.hpp"
#include "core/base/allocator.hpp"
#include "core/base/generator.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/log.hpp"
#include "core/base/parallel.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/kernel/elementwise.hpp"
#include "core/plugin/resolve/policy.hpp"
#include "core/runtime/documents.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

tenon_status parallel_for_slot(int64_t begin, int64_t end, int64_t grain,
                               tenon_status (*body)(void*, int64_t, int64_t, tenon_error**),
                               void* state, tenon_error** error) {
  return guarded(error, [&] {
    const auto run = [&](int64_t from, int64_t to) {
      tenon_error* chunk_error = nullptr;
      const tenon_status status = body(state, from, to, &chunk_error);
      if (status != TENON_OK) throw_status(status, chunk_error);
    };
    // A scope's trace is of one thread.
    std::optional<SerialLoops> alone;
    if (thread_state.trace != nullptr) alone.emplace();
    // Chunks see the caller's modes, wherever they run.
    const ThreadState caller = thread_state;
    parallel_for(begin, end, grain, [&](int64_t from, int64_t to) {
      if (alone) return run(from, to);
      const ThreadStateGuard guard(caller);
      run(from, to);
    });
  });
}
// Signal handlers and C code store to it; an atomic of an integer is that integer.
static_assert(sizeof(interrupt_word) == sizeof(int32_t) &&
              std::atomic<int32_t>::is_always_lock_free);
int32_t* interrupt_word_slot() { return reinterpret_cast<int32_t*>(&interrupt_word); }
tenon_status interrupt_check(tenon_error** error) {
  return guarded(error, [] { stop_if_interrupted(); });
}
int32_t interrupts_set(int32_t enabled) { return std::exchange(runs_to_end, enabled == 0) ? 0 : 1; }
int32_t thread_count_slot() { return thread_count(); }
void thread_count_set(int32_t count) { set_thread_count(count); }
void generator_reserve(int64_t count, uint64_t* seed, uint64_t* offset) {
  // Nothing is drawn when shapes alone are computed.
  const DrawRange range = reserve_draws(thread_state.multiply_adds == nullptr ? count : 0);
  *seed = range.seed;
  *offset = range.offset;
}
void generator_seed(uint64_t seed) { seed_generator(seed); }
void generator_state_set(uint64_t seed, uint64_t offset) { set_generator_state({seed, offset}); }
void log_slot(int32_t level, const char* source, const char* message, int64_t length) {
  log(static_cast<LogLevel>(level < 0   ? 0
                            : level > 4 ? 4
                                        : level),
      source == nullptr ? "" : source, {message, static_cast<size_t>(length)});
}

tenon_status text_suggestion(const char* word, int64_t length, const tenon_string* candidates,
                             int64_t count, tenon_value* text, tenon_error** error) {
  return guarded(error, [&] {
    Words words;
    for (int64_t i = 0; i < count; ++i)
      words.emplace_back(candidates[i].data, static_cast<size_t>(candidates[i].length));
    *text = make_string(suggestion({word, static_cast<size_t>(length)}, words));
  });
}
tenon_status text_printable(const char* bytes, int64_t length, tenon_value* text,
                            tenon_error** error) {
  return guarded(error, [&] {
    *text = make_string(printable({bytes, static_cast<size_t>(length)}));
  });
}

tenon_status document_slot(uint32_t which, tenon_json** document, tenon_error** error) {
  return guarded(error, [&] {
    plugin_manager().retired();  // lets go what can go, which within a call nothing can
    const OuterCall running;     // reads implementations
    const auto make = [&]() -> Json {
      switch (which) {
        case TENON_DOCUMENT_RUNTIME:
          return runtime_document(plugin_manager());
        case TENON_DOCUMENT_PLUGINS:
          return plugins_document(plugin_manager());
        case TENON_DOCUMENT_FACTS:
          return facts_document(plugin_manager());
        case TENON_DOCUMENT_REGISTRATIONS:
          return registrations_document(process_runtime());
        case TENON_DOCUMENT_LIVE:
          return describe_live();
        case TENON_DOCUMENT_LOADABLE:
          return plugin_manager().loadable();
        default:
          throw Error(TENON_ERROR_ARGUMENT,
                      "document {} is unknown; expected {} to {} (TENON_DOCUMENT_...)", which,
                      TENON_DOCUMENT_RUNTIME, TENON_DOCUMENT_LOADABLE);
      }
    };
    *document = make().give();
  });
}
tenon_status facts_read(const char* path, tenon_json** facts, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(path, "the path of the plugin");
    const OuterCall running;
    *facts = facts_document(std::string(path)).give();
  });
}
tenon_status providers_slot(uint32_t kind, const char* name, tenon_json** providers,
                            tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(name, "the name");
    if (kind >= kItemKinds)
      throw Error(TENON_ERROR_ARGUMENT,
                  "items of kind {} are unknown; expected {} to {} "
                  "(TENON_ITEM_...)",
                  kind, TENON_ITEM_OP, TENON_ITEM_TYPE);
    const OuterCall running;
    *providers = providers_document(process_runtime(), static_cast<ItemKind>(kind), name).give();
  });
}
tenon_status schema_parse(const char* schema, int64_t length, tenon_json** parsed,
                          tenon_error** error) {
  return guarded(error, [&] {
    *parsed = schema_document({schema, static_cast<size_t>(length)}).give();
  });
}
void memory_in_use(int64_t* small_in_use, int64_t* large_kept) {
  *small_in_use = small_bytes_in_use();
  *large_kept = cached_bytes();
}
tenon_status plugin_path_add(const char* folder, tenon_error** error) {
  return guarded(error, [&] { plugin_manager().add_search_path(folder); });
}
tenon_status plugin_load(const char* id_or_path, tenon_error** error) {
  return guarded(error, [&] { plugin_manager().load(id_or_path); });
}
tenon_status plugin_unload(const char* id, uint32_t choice, int64_t timeout_ms, tenon_json** report,
                           tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(id, "the id of the plugin");
    if (choice > TENON_UNLOAD_FORCE)
      throw Error(
          TENON_ERROR_ARGUMENT,
          "cannot unload plugin '{}': the choice is {}, expected {} to {} (TENON_UNLOAD_...)", id,
          choice, TENON_UNLOAD_REFUSE, TENON_UNLOAD_FORCE);
    const RetiredPlugin retired =
        plugin_manager().unload(id, static_cast<UnloadChoice>(choice), timeout_ms);
    if (report != nullptr) *report = retired_document(retired).give();
  });
}
tenon_status plugin_reload(const char* id_or_path, uint64_t* generation, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(id_or_path, "the id of the plugin");
    const uint64_t loaded = plugin_manager().reload(id_or_path);
    if (generation != nullptr) *generation = loaded;
  });
}
tenon_status policy_apply(const tenon_json* policy, uint32_t flags, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(policy, "the policy");
    if ((flags & ~static_cast<uint32_t>(TENON_POLICY_LAZY)) != 0)
      throw Error(TENON_ERROR_ARGUMENT, "cannot apply a policy: the flags are {}, expected {} or 0",
                  flags, TENON_POLICY_LAZY);
    plugin_manager().apply(policy_of(*policy, (flags & TENON_POLICY_LAZY) != 0));
  });
}

}  // namespace

void add_runtime_slots(Services& services) {
  services.threads.parallel_for = parallel_for_slot;
  services.threads.count = thread_count_slot;
  services.threads.count_set = thread_count_set;
  services.threads.generator_reserve = generator_reserve;
  services.threads.generator_seed = generator_seed;
  services.threads.generator_state_set = generator_state_set;
  services.threads.log = log_slot;
  services.documents.document = document_slot;
  services.documents.facts_read = facts_read;
  services.documents.providers = providers_slot;
  services.documents.schema_parse = schema_parse;
  services.values.memory_in_use = memory_in_use;
  services.plugins.path_add = plugin_path_add;
  services.plugins.load = plugin_load;
  services.plugins.unload = plugin_unload;
  services.plugins.reload = plugin_reload;
  services.plugins.policy_apply = policy_apply;
  services.values.suggestion = text_suggestion;
  services.values.printable = text_printable;
  services.threads.machine_isa = machine_isa;
  services.threads.interrupt_word = interrupt_word_slot;
  services.threads.interrupt_check = interrupt_check;
  services.threads.interrupts_set = interrupts_set;
}

}  // namespace tenon::core
