// The profiler: a mode below autograd with a table of calls for each thread.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include <tenon/call.hpp>
#include <tenon/kernel/ticks.hpp>
#include <tenon/mode.hpp>
#include <tenon/profile/profile.hpp>
#include <tenon/runtime.hpp>

#include "lib/base/format.hpp"
#include "lib/base/module_callers.hpp"
#include "lib/base/optimizer_form.hpp"

TENON_NAMESPACE_BEGIN

namespace profile {

namespace {

// Rows of a thread beyond which calls with other operands share a row for each op.
constexpr size_t kMostRows = 1 << 16;

// ---- keys ----

// Words in order; the products do not wait for each other.
class Key {
 public:
  void add(uint64_t word) {
    salt_ += 0x9E3779B97F4A7C15u;
    sum_ ^= (word + salt_) * 0xD6E8FEB86659FD93u;
  }
  uint64_t value() const {
    uint64_t mixed = (sum_ ^ (sum_ >> 32)) * 0xFF51AFD7ED558CCDu;
    mixed ^= mixed >> 29;
    return mixed;
  }

 private:
  uint64_t sum_ = 0, salt_ = 0;
};

// `place` is that of the argument: those that choose no kernel add nothing.
[[gnu::always_inline]] inline void add_tensor(Key& key, const tenon_tensor* tensor,
                                              uint64_t place) {
  if (tensor == nullptr) return key.add(place);
  const tenon_tensor_view& view = *tenon_tensor_get_view(tensor);
  const bool contiguous = (view.flags & TENON_TENSOR_CONTIGUOUS) != 0;
  key.add(uint64_t{view.rank} | uint64_t{view.device} << 8 |
          static_cast<uint64_t>(view.dtype) << 16 | place << 32 | uint64_t{contiguous} << 56);
  for (int i = 0; i < view.rank; ++i) key.add(static_cast<uint64_t>(view.shape[i]));
  for (int i = 0; !contiguous && i < view.rank; ++i)
    key.add(static_cast<uint64_t>(view.strides[i]));
}

[[gnu::always_inline]] inline void add_value(Key& key, const tenon_value& value, uint64_t place) {
  if (value.tag == TENON_VALUE_TENSOR) return add_tensor(key, value.as.tensor, place);
  if (value.tag == TENON_VALUE_TENSOR_LIST) {
    key.add(uint64_t{value.length} << 8 | place << 48 | 1);
    for (uint32_t i = 0; i < value.length; ++i) add_tensor(key, value.as.tensors[i], place);
  } else if (value.tag == TENON_VALUE_INT_LIST) {
    key.add(uint64_t{value.length} << 8 | place << 48 | 2);
    for (uint32_t i = 0; i < value.length; ++i)
      key.add(static_cast<uint64_t>(value.as.integers[i]));
  } else if (value.tag == TENON_VALUE_BOOL) {
    key.add(static_cast<uint64_t>(value.as.integer) << 8 | place << 48 | 3);
  }
}

// ---- what is found out once for a row ----

template <class Visit>
void each_tensor(const tenon_value* values, int64_t count, Visit&& visit) {
  for (int64_t i = 0; i < count; ++i) {
    if (values[i].tag == TENON_VALUE_TENSOR && values[i].as.tensor != nullptr)
      visit(values[i].as.tensor);
    for (uint32_t k = 0; values[i].tag == TENON_VALUE_TENSOR_LIST && k < values[i].length; ++k) {
      if (values[i].as.tensors[k] != nullptr) visit(values[i].as.tensors[k]);
    }
  }
}

int64_t bytes_of(const tenon_tensor* tensor) {
  const tenon_tensor_view& view = *tenon_tensor_get_view(tensor);
  return view.count * element_size(static_cast<DType>(view.dtype));
}

// Elements of operands and results; 0 for a view, which moves none. Before results are known: of operands.
int64_t bytes_of(const tenon_call& call, const tenon_value* results, int64_t result_count) {
  int64_t bytes = 0;
  bool view = false;
  each_tensor(call.arguments, call.argument_count,
              [&](const tenon_tensor* operand) { bytes += bytes_of(operand); });
  each_tensor(results, result_count, [&](const tenon_tensor* result) {
    bool same = false, shared = false;
    each_tensor(call.arguments, call.argument_count, [&](const tenon_tensor* operand) {
      same = same || operand == result;
      shared = shared || service::tensors().shares_storage(operand, result) != 0;
    });
    view = view || (shared && !same);
    if (!same) bytes += bytes_of(result);
  });
  return view ? 0 : bytes;
}

std::string operands_text(const tenon_call& call) {
  constexpr int most = 8;
  std::string text;
  int count = 0;
  each_tensor(call.arguments, call.argument_count, [&](const tenon_tensor* operand) {
    if (++count > most) return;
    const tenon_tensor_view& view = *tenon_tensor_get_view(operand);
    text += text.empty() ? "" : ", ";
    text += lib::format_text("{}[", dtype_text(static_cast<DType>(view.dtype)));
    for (int i = 0; i < view.rank; ++i)
      text += lib::format_text("{}{}", i > 0 ? ", " : "", view.shape[i]);
    text += "]";
  });
  return count > most ? lib::format_text("{} and {} more", text, count - most) : text;
}

Json parameters_of(const tenon_op* op) {
  Value schema;
  detail::check(service::ops().schema, op, schema.slot());
  return parse_schema(schema.text())["parameters"];
}

bool changes_operands(const tenon_op* op) {
  const Json parameters = parameters_of(op);
  for (int64_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i]["name"].text() != "out" && parameters[i]["mutates"].as_bool(false))
      return true;
  }
  return false;
}

bool is_optimizer(const tenon_op* op) {
  const Json parameters = parameters_of(op);
  return lib::is_optimizer(parameters, lib::OptimizerForm::one) ||
         lib::is_optimizer(parameters, lib::OptimizerForm::lists);
}

// Releases what a call gave.
struct GivenResults {
  tenon_value values[detail::max_results] = {};
  ~GivenResults() {
    for (tenon_value& value : values) service::values().release(&value);
  }
};

// Provider that the op chooses for these operands, and the multiply-adds of a call.
struct Found {
  std::string provider;
  int64_t multiply_adds = -1;
};
Found find_out(const tenon_call& call) {
  Found found;
  tenon_prepared_call* chosen = nullptr;
  tenon_error* error = nullptr;
  if (service::calls().prepare(call.op, call.arguments, call.argument_count, &chosen, &error) !=
      TENON_OK) {
    service::values().error_release(error);
    return found;
  }
  found.provider = service::calls().provider(chosen);
  int tensors = 0;
  each_tensor(call.arguments, call.argument_count, [&](const tenon_tensor*) { ++tensors; });
  if (tensors >= 2 && !changes_operands(call.op)) {
    int64_t counted = 0;
    int64_t* const outer = service::modes().shapes_only_set(&counted);
    GivenResults results;
    const tenon_status status =
        service::calls().run(chosen, call.arguments, results.values, &error);
    service::modes().shapes_only_set(outer);
    if (status != TENON_OK) service::values().error_release(error);
    if (status == TENON_OK && counted > 0) found.multiply_adds = counted;
  }
  service::calls().release(chosen);
  return found;
}

// ---- the log of a thread ----

struct Row {
  const tenon_op* op = nullptr;
  uint32_t module = lib::no_module;
  bool backward = false;
  bool measured = false;  // bytes are of a call that succeeded
  int64_t calls = 0, ticks = 0, bytes = 0, multiply_adds = -1;
  std::string provider, operands;
};

// From keys to rows; open addressing, at most half full.
class RowTable {
 public:
  // -1: there is none.
  int64_t find(uint64_t key) const {
    for (size_t at = key & mask_;; at = (at + 1) & mask_) {
      if (slots_[at].row < 0) return -1;
      if (slots_[at].key == key) return slots_[at].row;
    }
  }
  void add(uint64_t key, int64_t row) {
    if (2 * ++count_ > slots_.size()) {
      std::vector<Slot> old(2 * slots_.size());
      std::swap(old, slots_);
      mask_ = slots_.size() - 1;
      for (const Slot& slot : old) {
        if (slot.row >= 0) place(slot);
      }
    }
    place({key, row});
  }

 private:
  struct Slot {
    uint64_t key = 0;
    int64_t row = -1;
  };
  void place(const Slot& slot) {
    size_t at = slot.key & mask_;
    while (slots_[at].row >= 0) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
  std::vector<Slot> slots_{256};
  size_t mask_ = 255, count_ = 0;
};

int64_t in_nanoseconds(int64_t ticks, double rate) {
  return static_cast<int64_t>(static_cast<double>(ticks) * rate);
}

struct RunningModule : lib::RunningModule {
  uint64_t number;
  bool watched;
  int64_t begin, below;  // time of watched modules that it called
};

struct ModuleTimes {
  int64_t calls = 0, ticks = 0, own_ticks = 0;
};

struct ThreadLog {
  int32_t thread = 0;
  RowTable table;
  std::vector<Row> rows;
  std::vector<RunningModule> running;
  std::vector<ModuleTimes> modules;
  std::vector<CallEvent> events;     // in ticks
  uint64_t number = 0;               // of the module that was asked for last
  uint32_t module = lib::no_module;  // which it is, or its caller
  lib::ModuleCallers callers;
};

// The log of this thread in the profiler with that number, which no other profiler has had.
struct KnownLog {
  uint64_t profiler = 0;
  ThreadLog* log = nullptr;
};
thread_local KnownLog known_log;

std::atomic<uint64_t> profilers{0};

}  // namespace

class Profiler::State {
 public:
  explicit State(ProfilerOptions options) : options_(options), number_(++profilers) {
    own_log();
    detail::check(service::modes().enter, "profile", &State::handle, static_cast<void*>(this),
                  static_cast<int32_t>(Level::below_autograd), &mode_);
  }
  ~State() { abandon(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void watch(const Module& model) {
    if (std::this_thread::get_id() != thread_)
      throw RuntimeError(
          "a profiler watches modules of the thread that has made it: call watch there");
    for (const auto& [name, module] : model.named_modules()) {
      const auto at = static_cast<uint32_t>(modules_.size());
      if (watched_.emplace(module.number(), at).second) modules_.push_back({name, module.type()});
    }
    {
      const std::lock_guard lock(mutex_);
      // Logs know modules as they were before.
      for (const std::unique_ptr<ThreadLog>& log : logs_)
        log->number = 0, log->module = lib::no_module;
    }
    if (watch_ == nullptr)
      detail::check(service::modes().watch_enter, &State::hear, static_cast<void*>(this),
                    uint32_t{TENON_WATCH_IN_LOOPS}, &watch_);
  }

  // Ends without a profile.
  void abandon() noexcept {
    leave_watch();
    if (mode_ != nullptr) service::modes().leave(std::exchange(mode_, nullptr), nullptr);
  }

  Profile stop() {
    Profile profile;
    if (mode_ == nullptr) return profile;
    const int64_t end = clock_.now();
    const double rate = clock_.rate();
    leave_watch();  // on another thread the mode says so
    detail::check(service::modes().leave, std::exchange(mode_, nullptr));
    const std::lock_guard lock(mutex_);
    profile.modules = modules_;
    profile.events_dropped = dropped_.load();
    profile.nanoseconds = in_nanoseconds(end - clock_.start(), rate);
    for (const std::unique_ptr<ThreadLog>& log : logs_) add(*log, rate, profile);
    return profile;
  }

 private:
  static tenon_status TENON_CALL handle(void* self, const tenon_call* call, tenon_value* results,
                                        tenon_error** error) {
    return static_cast<State*>(self)->measure(*call, results, error);
  }

  tenon_status measure(const tenon_call& call, tenon_value* results, tenon_error** error) {
    ThreadLog* const log = own_log();
    const int64_t place = log == nullptr ? -1 : row_of(*log, call);
    const int64_t begin = clock_.now();
    const tenon_status status = service::types().call_parent(&call, nullptr, results, error);
    const int64_t time = clock_.now() - begin;
    if (place < 0) return status;
    Row& row = log->rows[static_cast<size_t>(place)];
    ++row.calls;
    row.ticks += time;
    if (!row.measured && status == TENON_OK) {
      row.measured = true;
      row.bytes = bytes_of(call, results, service::ops().result_count(call.op));
    }
    if (options_.events)
      keep_event(*log, {false, log->thread, place, begin - clock_.start(), time});
    return status;
  }

  // Null where there is no memory for one.
  ThreadLog* own_log() noexcept {
    if (known_log.profiler == number_) return known_log.log;
    return make_log();
  }
  [[gnu::noinline]] ThreadLog* make_log() noexcept {
    try {
      const std::lock_guard lock(mutex_);
      ThreadLog*& log = by_thread_[std::this_thread::get_id()];
      if (log == nullptr) {
        logs_.push_back(std::make_unique<ThreadLog>());
        log = logs_.back().get();
        log->thread = static_cast<int32_t>(logs_.size()) - 1;
      }
      known_log = {number_, log};
      return log;
    } catch (...) {
      return nullptr;
    }
  }

  // The watched module whose forward runs, or has recorded the node that runs.
  uint32_t module_of(ThreadLog& log) const noexcept {
    const uint64_t number = service::graph().running_module();
    return number == log.number ? log.module : look_up(log, number);
  }
  [[gnu::noinline]] uint32_t look_up(ThreadLog& log, uint64_t number) const noexcept {
    log.number = number;
    if (const auto watched = watched_.find(number); watched != watched_.end())
      return log.module = watched->second;
    return log.module = log.callers.of(number);
  }

  int64_t row_of(ThreadLog& log, const tenon_call& call) noexcept {
    const bool backward = service::graph().backward_id() != 0;
    const uint32_t module = module_of(log);
    Key key;
    key.add(reinterpret_cast<uintptr_t>(call.op));
    key.add(uint64_t{module} | uint64_t{backward} << 32 | service::calls().ops_generation() << 33);
    const Key shared = key;
    for (int64_t i = 0; i < call.argument_count; ++i)
      add_value(key, call.arguments[i], static_cast<uint64_t>(i));
    const int64_t place = log.table.find(key.value());
    return place >= 0 ? place : add_row(log, call, key.value(), shared.value(), module, backward);
  }
  [[gnu::noinline]] static int64_t add_row(ThreadLog& log, const tenon_call& call, uint64_t key,
                                           uint64_t shared, uint32_t module,
                                           bool backward) noexcept {
    try {
      if (log.rows.size() >= kMostRows) {
        key = shared;
        if (const int64_t place = log.table.find(key); place >= 0) return place;
      }
      Row row;
      row.op = call.op;
      row.module = module;
      row.backward = backward;
      row.operands = operands_text(call);
      Found found = find_out(call);
      row.provider = std::move(found.provider);
      row.multiply_adds = found.multiply_adds;
      log.rows.push_back(std::move(row));
      log.table.add(key, static_cast<int64_t>(log.rows.size()) - 1);
      return static_cast<int64_t>(log.rows.size()) - 1;
    } catch (...) {
      return -1;  // a call that cannot be counted is made all the same
    }
  }

  void keep_event(ThreadLog& log, const CallEvent& event) noexcept {
    try {
      if (kept_.fetch_add(1, std::memory_order_relaxed) < options_.most_events) {
        log.events.push_back(event);
        return;
      }
    } catch (...) {
    }
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }

  // ---- modules ----

  static tenon_status TENON_CALL hear(void* self, const tenon_module_event* event,
                                      tenon_error** error) {
    return detail::guarded(error, [&] {
      auto& state = *static_cast<State*>(self);
      ThreadLog* const log = state.own_log();
      if (log == nullptr) return;
      if (event->kind == TENON_WATCH_BEGINS)
        state.enter(*log, service::modules().number(event->module));
      else
        state.leave(*log);
    });
  }
  void leave_watch() noexcept {
    if (watch_ != nullptr) service::modes().watch_leave(std::exchange(watch_, nullptr), nullptr);
  }
  void enter(ThreadLog& log, uint64_t number) {
    const auto found = watched_.find(number);
    const bool watched = found != watched_.end();
    const int64_t backward = service::graph().backward_id();
    const RunningModule* const innermost = log.running.empty() ? nullptr : &log.running.back();
    const uint32_t module =
        watched ? found->second : log.callers.enter(number, backward, innermost);
    log.running.push_back({{module, backward}, number, watched, clock_.now(), 0});
    log.number = number;
    log.module = module;
  }
  void leave(ThreadLog& log) {
    if (log.running.empty()) return;  // there was no memory for the log as it began
    const int64_t end = clock_.now();
    const RunningModule ended = log.running.back();
    log.running.pop_back();
    const bool within = !log.running.empty() && log.running.back().watched;
    log.number = within ? log.running.back().number : 0;
    log.module = within ? log.running.back().module : lib::no_module;
    const int64_t time = end - ended.begin;
    if (!log.running.empty()) log.running.back().below += ended.watched ? time : ended.below;
    if (!ended.watched) return;
    if (log.modules.size() <= ended.module) log.modules.resize(modules_.size());
    ModuleTimes& times = log.modules[ended.module];
    ++times.calls;
    times.ticks += time;
    times.own_ticks += time - ended.below;
    if (options_.events)
      keep_event(log, {true, log.thread, ended.module, ended.begin - clock_.start(), time});
  }

  // ---- the profile ----

  static void add(const ThreadLog& log, double rate, Profile& profile) {
    const auto first = static_cast<int64_t>(profile.calls.size());
    for (const Row& row : log.rows) {
      CallRow call;
      call.op = service::ops().name(row.op);
      call.provider = row.provider;
      call.operands = row.operands;
      call.module = row.module == lib::no_module ? -1 : int64_t{row.module};
      call.backward = row.backward;
      call.optimizer = call.module < 0 && !row.backward && is_optimizer(row.op);
      call.calls = row.calls;
      call.nanoseconds = in_nanoseconds(row.ticks, rate);
      call.bytes = row.bytes * row.calls;
      call.multiply_adds = row.multiply_adds < 0 ? -1 : row.multiply_adds * row.calls;
      profile.calls.push_back(std::move(call));
    }
    for (size_t m = 0; m < log.modules.size(); ++m) {
      profile.modules[m].calls += log.modules[m].calls;
      profile.modules[m].nanoseconds += in_nanoseconds(log.modules[m].ticks, rate);
      profile.modules[m].own_nanoseconds += in_nanoseconds(log.modules[m].own_ticks, rate);
    }
    for (CallEvent event : log.events) {
      if (!event.of_module) event.row += first;
      // Ends as well as begins are rounded down, so that events that were nested are.
      const int64_t end = in_nanoseconds(event.begin + event.nanoseconds, rate);
      event.begin = in_nanoseconds(event.begin, rate);
      event.nanoseconds = end - event.begin;
      profile.events.push_back(event);
    }
  }

  const ProfilerOptions options_;
  const uint64_t number_;
  const std::thread::id thread_ = std::this_thread::get_id();
  const kernel::TickClock clock_;
  tenon_mode* mode_ = nullptr;
  tenon_watch* watch_ = nullptr;  // null: no module is watched
  std::vector<ModuleRow> modules_;
  std::unordered_map<uint64_t, uint32_t> watched_;  // by number
  std::atomic<int64_t> kept_{0}, dropped_{0};
  std::mutex mutex_;  // guards the logs
  std::map<std::thread::id, ThreadLog*> by_thread_;
  std::vector<std::unique_ptr<ThreadLog>> logs_;
};

Profiler::Profiler(ProfilerOptions options) : state_(std::make_unique<State>(options)) {}
Profiler::~Profiler() { state_->abandon(); }
void Profiler::watch(const Module& model) { state_->watch(model); }
Profile Profiler::stop() { return state_->stop(); }

}  // namespace profile

TENON_NAMESPACE_END
