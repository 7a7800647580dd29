// The host's slots on the runtime: threads, random numbers, log, words in messages, listings, configuration.
#include <optional>

#include "core/base/generator.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/log.hpp"
#include "core/base/parallel.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/kernel/elementwise.hpp"
#include "core/plugin/config.hpp"
#include "core/plugin/config_table.hpp"
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
  // Where shapes alone are computed, nothing is drawn.
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

tenon_status describe_slot(const char* what, const char* name, tenon_json** document,
                           tenon_error** error) {
  return guarded(error, [&] {
    plugin_manager().retired();  // lets go what can go, which within a call nothing can
    const OuterCall running;     // reads implementations
    *document = describe(process_runtime(), what, name == nullptr ? "" : name).give();
  });
}
tenon_status op_signature(const char* name, tenon_value* text, tenon_error** error) {
  return guarded(error, [&] {
    const OuterCall running;
    *text = make_string(describe_signature(process_runtime(), name));
  });
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
tenon_status config_read(const char* path, tenon_json** config, tenon_error** error) {
  return guarded(error, [&] { *config = read_config(path).give(); });
}
tenon_status config_read_sections(const char* path, const tenon_json* sections, tenon_json** config,
                                  tenon_error** error) {
  return guarded(error, [&] {
    ConfigOptions options;
    options.sections = sections;
    *config = read_config(path, options).give();
  });
}
tenon_status config_schema_slot(const tenon_json* sections, tenon_json** schema,
                                tenon_error** error) {
  return guarded(error, [&] { *schema = config_schema(sections).give(); });
}
tenon_status config_apply(const tenon_json* config, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(config, "the config");
    apply_config(plugin_manager(), *config);
  });
}
tenon_status config_apply_lazily(const tenon_json* config, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(config, "the config");
    apply_config_lazily(plugin_manager(), *config);
  });
}

}  // namespace

void add_runtime_slots(tenon_host& host) {
  host.parallel_for = parallel_for_slot;
  host.thread_count = thread_count_slot;
  host.thread_count_set = thread_count_set;
  host.generator_reserve = generator_reserve;
  host.generator_seed = generator_seed;
  host.generator_state_set = generator_state_set;
  host.log = log_slot;
  host.describe = describe_slot;
  host.op_signature = op_signature;
  host.plugin_path_add = plugin_path_add;
  host.plugin_load = plugin_load;
  host.plugin_unload = plugin_unload;
  host.plugin_reload = plugin_reload;
  host.config_read = config_read;
  host.config_read_sections = config_read_sections;
  host.config_schema = config_schema_slot;
  host.config_apply = config_apply;
  host.config_apply_lazily = config_apply_lazily;
  host.text_suggestion = text_suggestion;
  host.text_printable = text_printable;
  host.machine_isa = machine_isa;
  host.interrupt_word = interrupt_word_slot;
  host.interrupt_check = interrupt_check;
  host.interrupts_set = interrupts_set;
}

}  // namespace tenon::core
