#include "program.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include <tenon/grad_mode.hpp>

#include "arena.hpp"
#include "tensors.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

namespace {

using Kind = ListValue::Kind;

bool has_layout(const tenon_tensor* tensor, const tenon_tensor_view& expected) {
  const tenon_tensor_view& view = *tenon_tensor_get_view(tensor);
  return view.dtype == expected.dtype && view.rank == expected.rank &&
         same_numbers(view.shape, expected.shape, expected.rank);
}

// A tensor on memory of the arena, which it keeps: no number of its storage, so that no kernel keeps
// what it makes of the elements.
Tensor arena_tensor(const Tensor& arena, int64_t offset, const Tensor& layout) {
  auto* const owner = new Tensor(arena);
  char* const data = static_cast<char*>(arena.view_record().data) + offset;
  try {
    return wrap_buffer(data, layout.shape(), layout.strides(), layout.dtype(), owner,
                       [](void* kept) { delete static_cast<Tensor*>(kept); });
  } catch (...) {
    delete owner;
    throw;
  }
}

// A tensor on the same memory that no call is recorded for, nor looked at for its history, and whose
// references no other stream counts.
Tensor own_handle(const Tensor& tensor) {
  return alias_tensor(tensor, tensor.shape(), tensor.strides(), 0);
}

std::vector<size_t> declared_written(const ListedCall& call) {
  std::vector<size_t> places = call.written;
  places.insert(places.end(), call.unchanged.begin(), call.unchanged.end());
  return places;
}

// Blocks of the arena for results that are written where they are needed, and by which call each value
// is read last.
class MemoryPlan {
 public:
  explicit MemoryPlan(const CallList& list) : list_(list) {
    size_t memories = 0;
    for (const ListValue& value : list.values)
      memories = std::max(memories, static_cast<size_t>(value.memory) + 1);
    last_.resize(memories, 0);
    shown_.resize(memories, false);
    block_.resize(memories, none);
    first_.resize(memories, none);
    for (size_t i = list.values.size(); i-- > 0;) first_[memory_of(i)] = i;
    for (size_t i = 0; i < list.calls.size(); ++i)
      for_each_value(list.calls[i].arguments, [&](size_t number) { last_[memory_of(number)] = i; });
    for_each_value(list.outputs, [&](size_t number) { shown_[memory_of(number)] = true; });
  }

  // Whether the call's one result is new memory that can be in the arena.
  bool fits(const ListedCall& call) const {
    if (call.results.size() != 1 || call.results[0].kind != ListOperand::Kind::tensor ||
        call.results[0].values[0] == undefined_value)
      return false;
    const auto number = static_cast<size_t>(call.results[0].values[0]);
    const ListValue& value = list_.values[number];
    return value.kind == Kind::result && !shown_[memory_of(number)] && is_first(number) &&
           value.layout.is_contiguous() && value.layout.numel() > 0;
  }
  // Gives the result of call `at` a block; true where it is that of an operand, which a loop can write.
  bool place(size_t at, bool loop) {
    const ListedCall& call = list_.calls[at];
    const auto number = static_cast<size_t>(call.results[0].values[0]);
    const size_t memory = memory_of(number);
    const size_t last = std::max(last_[memory], at);
    const size_t reused = loop ? operand_block(call, at, list_.values[number].layout) : none;
    if (reused != none) {
      block_[memory] = reused;
      lifetimes_[reused].last = last;
      return true;
    }
    block_[memory] = lifetimes_.size();
    lifetimes_.push_back({at, last, bytes_of(list_.values[number].layout), 0});
    return false;
  }
  int64_t finish() { return place_lifetimes(lifetimes_); }
  int64_t offset_of(size_t number) const { return lifetimes_[block_[memory_of(number)]].offset; }

 private:
  static constexpr size_t none = SIZE_MAX;
  size_t memory_of(size_t number) const { return static_cast<size_t>(list_.values[number].memory); }
  // The block of an operand of the result's layout that nothing reads after the call, and of which the
  // call has no other view.
  size_t operand_block(const ListedCall& call, size_t at, const Tensor& layout) const {
    size_t found = none;
    for_each_value(call.arguments, [&](size_t number) {
      const size_t memory = memory_of(number);
      if (found != none || block_[memory] == none || last_[memory] != at ||
          !same_layout(list_.values[number].layout, layout))
        return;
      bool alone = true;
      for_each_value(call.arguments,
                     [&](size_t other) { alone &= other == number || memory_of(other) != memory; });
      // Views of the same layout may begin elsewhere.
      if (alone && is_first(number)) found = block_[memory];
    });
    return found;
  }
  // Whether the value is what its memory was made for, and not a view of it.
  bool is_first(size_t number) const { return first_[memory_of(number)] == number; }

  const CallList& list_;
  std::vector<size_t> last_;   // by memory
  std::vector<bool> shown_;    // by memory: an output is in it
  std::vector<size_t> block_;  // by memory
  std::vector<size_t> first_;  // by memory: the first value in it
  std::vector<Lifetime> lifetimes_;
};

}  // namespace

Program::Program(CallList list, PreparedList& report, NumberedConstants* numbered)
    : list_(std::move(list)) {
  bind_arguments(numbered);
  choose_providers(report);
  make_steps();
  account(report);
  place_comparisons();
}

void Program::bind_arguments(NumberedConstants* numbered) {
  const size_t calls = list_.calls.size();
  arguments_.resize(calls);
  entries_.resize(calls);
  places_.resize(list_.values.size());
  current_.resize(list_.values.size(), nullptr);
  constants_.resize(list_.values.size());
  std::vector<bool> written(list_.values.size(), false);
  for (const ListedCall& call : list_.calls) {
    for (const size_t place : declared_written(call))
      for_each_value(call.arguments[place], [&](size_t number) { written[number] = true; });
  }
  for (size_t v = 0; v < list_.values.size(); ++v) {
    const ListValue& value = list_.values[v];
    if (value.kind != Kind::constant) continue;
    constants_[v] = written[v] ? copy_of(value.constant)
                               : own_handle(numbered == nullptr ? value.constant
                                                                : numbered->of(value.constant));
    current_[v] = constants_[v].handle();
  }
  const auto handle = [&](int64_t number) -> tenon_tensor* {
    if (number == undefined_value) return nullptr;
    const auto at = static_cast<size_t>(number);
    return current_[at] != nullptr ? current_[at] : list_.values[at].layout.handle();
  };
  for (size_t i = 0; i < calls; ++i) {
    const std::vector<ListOperand>& operands = list_.calls[i].arguments;
    arguments_[i].resize(operands.size());
    entries_[i].resize(operands.size());
    for (size_t a = 0; a < operands.size(); ++a) {
      const ListOperand& operand = operands[a];
      tenon_value& value = arguments_[i][a];
      value = tenon_value{};
      if (operand.kind == ListOperand::Kind::literal) {
        if (operand.literal != nullptr) value = operand.literal->get();
        continue;
      }
      std::vector<tenon_tensor*>& entries = entries_[i][a];
      for (const int64_t number : operand.values) entries.push_back(handle(number));
      if (operand.kind == ListOperand::Kind::tensor) {
        value.tag = TENON_VALUE_TENSOR;
        value.as.tensor = entries.front();
        places_[static_cast<size_t>(operand.values.front())].push_back(&value.as.tensor);
        continue;
      }
      value.tag = TENON_VALUE_TENSOR_LIST;
      value.length = static_cast<uint32_t>(entries.size());
      value.as.tensors = entries.data();
      for (size_t k = 0; k < entries.size(); ++k) {
        if (operand.values[k] != undefined_value)
          places_[static_cast<size_t>(operand.values[k])].push_back(&entries[k]);
      }
    }
  }
}

void Program::choose_providers(PreparedList& report) {
  for (size_t i = 0; i < list_.calls.size(); ++i) {
    tenon_prepared_call* call = nullptr;
    detail::check(service::calls().prepare, list_.calls[i].op.handle(),
                  static_cast<const tenon_value*>(arguments_[i].data()),
                  static_cast<int64_t>(arguments_[i].size()), &call);
    prepared_.emplace_back(call);
    PreparedCall listed;
    listed.op = list_.calls[i].op.name();
    listed.rewrite = list_.calls[i].rewrite;
    listed.provider = service::calls().provider(call);
    report.calls.push_back(std::move(listed));
  }
}

void Program::account(PreparedList& report) const {
  std::set<int64_t> known;  // memory that is counted already, or that no call makes
  for (const ListValue& value : list_.values) {
    if (value.kind != Kind::result) known.insert(value.memory);
  }
  std::vector<bool> in_block;
  report.result_bytes = report.shared_bytes = 0;
  for (size_t i = 0; i < list_.calls.size(); ++i) {
    PreparedCall& listed = report.calls[i];
    listed.bytes = 0;
    for_each_value(list_.calls[i].results, [&](size_t number) {
      const ListValue& value = list_.values[number];
      if (value.kind == Kind::result && known.insert(value.memory).second)
        listed.bytes += bytes_of(value.layout);
    });
    report.result_bytes += listed.bytes;
    if (listed.in_arena) report.shared_bytes += listed.bytes;
    in_block.push_back(listed.in_arena);
  }
  report.peak_bytes = report.arena_bytes + most_at_once(list_, in_block);
}

// Later calls read the result of call `at` there.
void Program::bind(size_t at, tenon_tensor* result) {
  const auto number = static_cast<size_t>(list_.calls[at].results[0].values[0]);
  current_[number] = result;
  for (tenon_tensor** place : places_[number]) *place = result;
}

void Program::settle(PreparedList& report) {
  if (memory_ != Memory::unknown) return;
  MemoryPlan plan(list_);
  for (size_t i = 0; i < list_.calls.size(); ++i) {
    Step& step = steps_[i];
    if (!step.may_be_placed) continue;
    if (!step.is_loop && !step.is_placed) continue;
    report.calls[i].in_place = plan.place(i, step.is_loop);
    report.calls[i].in_arena = true;
  }
  report.arena_bytes = plan.finish();
  account(report);
  memory_ = Memory::settled;
  placed_.resize(list_.calls.size(), nullptr);
  const InferenceMode ordinary(false);  // tensors that every run may write
  const Tensor arena = empty_tensor({(report.arena_bytes + 7) / 8}, f64);
  std::vector<bool> in_block(list_.values.size(), false);
  for (size_t i = 0; i < list_.calls.size(); ++i) {
    if (!report.calls[i].in_arena) continue;
    Step& step = steps_[i];
    const auto number = static_cast<size_t>(list_.calls[i].results[0].values[0]);
    in_block[number] = true;
    Tensor result = arena_tensor(arena, plan.offset_of(number), list_.values[number].layout);
    step.memory = result.handle();
    bind(i, step.memory);
    if (step.is_loop) {
      written_.push_back(std::move(result));
    } else {
      placed_[i] = result.give();
      step.place = &placed_[i];
    }
  }
  for (Step& step : steps_) {
    step.other_last_uses.clear();
    for (const size_t value : step.last_uses) {
      if (!in_block[value]) step.other_last_uses.push_back(value);
    }
  }
}

Program::~Program() {
  for (tenon_tensor* place : placed_) {
    if (place != nullptr) service::tensors().release(place);
  }
}

Program::Given Program::given_of(size_t number) const {
  return {number, false, &list_.values[number].layout.view_record(), places_[number]};
}

void Program::make_steps() {
  const size_t values = list_.values.size(), calls = list_.calls.size();
  owned_.resize(values, 0);
  std::vector<size_t> last(values, 0);
  std::vector<bool> made(values, false), shown(values, false);
  for (size_t i = 0; i < calls; ++i) {
    for_each_value(list_.calls[i].arguments, [&](size_t number) { last[number] = i; });
    for_each_value(list_.calls[i].results, [&](size_t number) { last[number] = i; });
  }
  for_each_value(list_.outputs, [&](size_t number) { shown[number] = true; });
  int64_t arguments = 0;
  for (size_t v = 0; v < values; ++v) {
    const ListValue& value = list_.values[v];
    if (value.kind == Kind::argument) arguments = std::max(arguments, value.argument + 1);
  }
  argument_places_.resize(static_cast<size_t>(arguments));
  std::vector<bool> argument_memory(values, false);
  for (size_t v = 0; v < values; ++v) {
    if (list_.values[v].kind != Kind::argument) continue;
    argument_places_[static_cast<size_t>(list_.values[v].argument)] = given_of(v);
    argument_memory[static_cast<size_t>(list_.values[v].memory)] = true;
    made[v] = true;
  }
  steps_.resize(calls);
  const MemoryPlan plan(list_);
  for (size_t i = 0; i < calls; ++i) {
    const ListedCall& call = list_.calls[i];
    Step& step = steps_[i];
    step.call = prepared_[i].get();
    step.arguments = arguments_[i].data();
    for (const size_t place : declared_written(call)) {
      for_each_value(call.arguments[place], [&](size_t number) {
        const ListValue& value = list_.values[number];
        step.changes_argument |= argument_memory[static_cast<size_t>(value.memory)];
        if (value.kind == Kind::constant) step.members.push_back(number);
      });
    }
    changes_arguments_ |= step.changes_argument;
    writes_members_ |= !step.members.empty();
    step.may_be_placed = plan.fits(call);
    step.is_loop =
        step.may_be_placed && service::calls().writes_into(step.call) != 0 &&
        is_floating(list_.values[static_cast<size_t>(call.results[0].values[0])].layout.dtype());
    for (const ListOperand& result : call.results) {
      std::vector<Given>& list = step.results.emplace_back();
      for_each_value(result, [&](size_t number) {
        list.push_back(given_of(number));
        list.back().again = made[number] || list_.values[number].kind == Kind::constant;
        made[number] = true;
      });
    }
    if (call.results.size() == 1 && call.results[0].kind == ListOperand::Kind::tensor &&
        step.results[0].size() == 1)
      step.single = step.results[0].data();
  }
  for (size_t v = 0; v < values; ++v) {
    const bool result = list_.values[v].kind == Kind::result && made[v] && !shown[v];
    if (result) steps_[last[v]].last_uses.push_back(v);
  }
}

// After the call whose result it is: others may do something else with other elements. A run that takes
// another list begins again.
void Program::place_comparisons() {
  for (size_t place = 0; place < list_.compared.size(); ++place) {
    const auto number = static_cast<size_t>(list_.outputs[outputs() + place].values.front());
    const auto makes = [&](const Step& step) {
      return std::any_of(step.results.begin(), step.results.end(), [&](const auto& result) {
        return std::any_of(result.begin(), result.end(), [&](const Given& given) {
          return given.value == number && !given.again;
        });
      });
    };
    const auto step = std::find_if(steps_.begin(), steps_.end(), makes);
    if (step == steps_.end())
      throw RuntimeError("a number that the model reads is not a result of the list's calls");
    step->compared.push_back(place);
    if (std::any_of(steps_.begin(), step, [](const Step& before) {
          return before.changes_argument || !before.members.empty();
        }))
      throw RuntimeError("the model reads a number after it has changed an argument or a buffer");
  }
}

bool Program::runs_like(const Program& other) const {
  if (list_.compared.size() <= other.failed_) return false;
  for (size_t i = 0; i < other.failed_; ++i) {
    if (!same_elements(list_.compared[i], other.list_.compared[i])) return false;
  }
  return same_elements(list_.compared[other.failed_], other.found_);
}

// ---- a run ----

bool Program::accept(const Given& given, tenon_tensor* tensor) {
  if (given.again) {
    const bool same = tensor == current_[given.value];
    service::tensors().release(tensor);
    return same;
  }
  current_[given.value] = tensor;
  owned_[given.value] = 1;
  if (!has_layout(tensor, *given.layout)) return false;
  for (tenon_tensor** place : given.places) *place = tensor;
  return true;
}

// Any number of results, and lists of them.
bool Program::accept_all(const Step& step, tenon_value* results) {
  bool same = true;
  for (size_t r = 0; r < step.results.size(); ++r) {
    tenon_value& result = results[r];
    const std::vector<Given>& given = step.results[r];
    if (result.tag == TENON_VALUE_TENSOR) {
      tenon_tensor* const tensor = std::exchange(result, tenon_value{}).as.tensor;
      if (given.size() == 1) {
        same &= accept(given.front(), tensor);
      } else {
        service::tensors().release(tensor);
        same = false;
      }
      continue;
    }
    if (result.tag == TENON_VALUE_TENSOR_LIST) {
      auto** const tensors = const_cast<tenon_tensor**>(result.as.tensors);
      size_t next = 0;
      for (uint32_t k = 0; k < result.length; ++k) {
        if (tensors[k] == nullptr) continue;
        if (next < given.size()) same &= accept(given[next], std::exchange(tensors[k], nullptr));
        ++next;
      }
      same &= next == given.size();
    } else {
      same &= result.tag == TENON_VALUE_NONE && given.empty();
    }
    service::values().release(&result);
  }
  return same;
}

// An op that declares to change a member may leave it as it is, as batch norm in eval mode does: then
// its version stays, too.
void Program::write_back(const Step& step) {
  for (const size_t value : step.members) {
    const Tensor& member = list_.values[value].constant;
    if (same_elements(member, constants_[value])) continue;
    if (rehearses_) {
      copy_elements(constants_[value], member);
      continue;
    }
    changed_operands_ = true;
    detail::check(service::tensors().set_data, member.handle(),
                  static_cast<const tenon_tensor*>(constants_[value].handle()), int32_t{0});
  }
}

bool Program::has_compared_elements(size_t place) {
  const auto number = static_cast<size_t>(list_.outputs[outputs() + place].values.front());
  const tenon_tensor* const found = current_[number];
  const Tensor& expected = list_.compared[place];
  if (std::memcmp(tenon_tensor_get_view(found)->data, expected.view_record().data,
                  static_cast<size_t>(element_size(expected.dtype()))) == 0)
    return true;
  failed_ = place;
  found_ = copy_of(Tensor::borrow(current_[number]));
  return false;
}

// Results that no later call reads. In the first run no two share memory.
void Program::release_unused(const Step& step) {
  int64_t bytes = 0;
  for (const size_t value : step.last_uses) {
    if (std::exchange(owned_[value], 0) == 0) continue;
    bytes += bytes_of(list_.values[value].layout);
    service::tensors().release(std::exchange(current_[value], nullptr));
  }
  if (memory_ == Memory::unknown) release_freed(bytes);
}

void Program::release_frame() noexcept {
  const char* const end = owned_.data() + owned_.size();
  // In most runs the outputs were the only ones, and are given away.
  const auto next = [&](char* from) {
    return from == end ? nullptr
                       : static_cast<char*>(std::memchr(from, 1, static_cast<size_t>(end - from)));
  };
  for (char* at = next(owned_.data()); at != nullptr; at = next(at + 1)) {
    *at = 0;
    service::tensors().release(
        std::exchange(current_[static_cast<size_t>(at - owned_.data())], nullptr));
  }
}

// A result that is shown goes with the reference that the run has of it.
void Program::give_outputs(tenon_tensor* const* arguments, tenon_value* results) {
  const auto tensor_of = [&](int64_t number) {
    if (number == undefined_value) return Tensor();
    const auto at = static_cast<size_t>(number);
    const ListValue& value = list_.values[at];
    if (value.kind == Kind::constant) return value.constant;
    if (std::exchange(owned_[at], 0) != 0) return Tensor::take(current_[at]);
    return Tensor::borrow(value.kind == Kind::argument ? arguments[value.argument] : current_[at]);
  };
  for (size_t r = 0; r < outputs(); ++r) {
    const ListOperand& output = list_.outputs[r];
    if (output.kind == ListOperand::Kind::tensor) {
      detail::give_result(tensor_of(output.values.front()), &results[r]);
    } else if (output.kind == ListOperand::Kind::tensors) {
      std::vector<Tensor> tensors;
      for (const int64_t number : output.values) tensors.push_back(tensor_of(number));
      detail::give_result(std::move(tensors), &results[r]);
    } else if (output.literal != nullptr) {
      results[r] = copy_value(output.literal->get()).give();
    }
  }
}

inline tenon_status Program::run_step(Step& step, size_t at, tenon_value* given, bool& in_block,
                                      tenon_error** error) {
  const tenon_calls_service& calls = service::calls();
  if (memory_ == Memory::settled) {
    if (step.place != nullptr) {
      const tenon_status status =
          calls.run_placed(step.call, step.arguments, step.place, given, error);
      in_block = status == TENON_OK && take_back(step, given[0]);
      return status;
    }
    if (step.memory != nullptr) {
      in_block = true;
      return calls.run_into(step.call, step.arguments, step.memory, error);
    }
  } else if (memory_ == Memory::unknown && step.may_be_placed && !step.is_loop) {
    return try_place(step, at, given, error);
  }
  return calls.run(step.call, step.arguments, given, error);
}

// Whether a kernel that makes a result first, as this one did in the first run, has made it in its place
// and left it to the list. Otherwise the block is not used any more: some of it belongs to the kernel.
bool Program::take_back(const Step& step, const tenon_value& given) {
  if (*step.place == nullptr && given.tag == TENON_VALUE_TENSOR && given.as.tensor == step.memory &&
      service::tensors().use_count(step.memory) == 1) {
    *step.place = step.memory;
    return true;
  }
  memory_ = Memory::separate;
  return false;
}

tenon_status Program::try_place(Step& step, size_t at, tenon_value* given, tenon_error** error) {
  const auto number = static_cast<size_t>(list_.calls[at].results[0].values[0]);
  const Tensor& layout = list_.values[number].layout;
  tenon_tensor* const made = empty_tensor(layout.shape(), layout.dtype()).give();
  tenon_tensor* place = made;
  const tenon_status status =
      service::calls().run_placed(step.call, step.arguments, &place, given, error);
  step.is_placed = status == TENON_OK && place == nullptr && given[0].tag == TENON_VALUE_TENSOR &&
                   given[0].as.tensor == made && service::tensors().use_count(made) == 1;
  if (place != nullptr) service::tensors().release(place);
  return status;
}

Program::End Program::run(tenon_tensor* const* arguments, tenon_value* results) {
  struct Cleanup {
    Program* program;
    ~Cleanup() { program->release_frame(); }
  } const cleanup{this};
  changed_operands_ = false;
  for (size_t a = 0; a < argument_places_.size(); ++a) {
    current_[argument_places_[a].value] = arguments[a];
    for (tenon_tensor** place : argument_places_[a].places) *place = arguments[a];
  }
  const auto release = service::tensors().release;
  tenon_value given[detail::max_results];
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    changed_operands_ |= step.changes_argument;
    tenon_error* error = nullptr;
    bool in_block = false;  // the result is where later calls read it
    const tenon_status status = run_step(step, i, given, in_block, &error);
    if (__builtin_expect(status != TENON_OK, 0)) detail::throw_error(status, error);
    if (!in_block) {
      if (step.single != nullptr && given[0].tag == TENON_VALUE_TENSOR) {
        if (!accept(*step.single, given[0].as.tensor)) return End::other_layout;
      } else if (!accept_all(step, given)) {
        return End::other_layout;
      }
      for (const size_t place : step.compared) {
        if (!has_compared_elements(place)) return End::other_elements;
      }
    }
    if (!step.members.empty()) write_back(step);
    if (__builtin_expect(memory_ == Memory::settled, 1)) {
      for (const size_t value : step.other_last_uses) {
        if (std::exchange(owned_[value], 0) != 0) release(std::exchange(current_[value], nullptr));
      }
    } else {
      release_unused(step);
    }
  }
  give_outputs(arguments, results);
  return End::done;
}

}  // namespace prepared

TENON_NAMESPACE_END
