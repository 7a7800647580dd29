// Plans of asking, cached by op and type set; and running them.
#include "core/dispatch/overrides.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "core/base/error.hpp"
#include "core/base/fork.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/modes.hpp"
#include "core/dispatch/registry.hpp"
#include "core/dispatch/specificity.hpp"
#include "core/dispatch/thread_state.hpp"
#include "core/dispatch/trace.hpp"
#include "core/dispatch/value.hpp"

namespace tenon::core {

namespace {

constexpr int kMaxDepth = 256;

// ---- plans ----

// The answerers of a type, from it up.
Turn make_turn(const Implementation& implementation, const std::vector<const Override*>& entries,
               const TensorType& type, const OperandTypes& types, std::vector<Note>* notes) {
  Turn turn;
  turn.type = &type;
  const std::span<const TensorType* const> list = types.list();
  for (const TensorType* level = &type; level != nullptr; level = level->parent) {
    const auto note = [&](const Override& entry, const std::string& why) {
      notes->push_back({level, "override " + entry.key() + " from '" + entry.provider +
                                   "' does not apply: " + why});
    };
    const std::vector<const Override*> best =
        most_specific(entries, *level, {list, types.plain}, notes == nullptr ? PassOver() : note);
    if (best.size() > 1) {
      const Ambiguity ambiguity{best[0], best[1], {list.begin(), list.end()}, types.plain};
      // What has a nearer answer is asked by call_parent only, and passed over.
      if (turn.first_override < 0 && turn.first_handler < 0)
        throw Error(TENON_ERROR_TYPE, ambiguity.text());
      if (notes != nullptr) notes->push_back({level, ambiguity.text()});
    } else if (!best.empty()) {
      const Override* entry = best.front();
      if (turn.first_override < 0 && turn.first_handler < 0)
        turn.first_override = static_cast<int32_t>(turn.line.size());
      turn.line.push_back({Answerer::Kind::Override, level, entry,
                           bind_override(entry->schema, implementation.schema)});
    }
    if (level->descriptor.handler != nullptr) {
      if (turn.first_handler < 0) turn.first_handler = static_cast<int32_t>(turn.line.size());
      turn.line.push_back({Answerer::Kind::Handler, level, nullptr, {}});
    }
    if (level->id != 0) continue;
    // The end of a child's line: it takes no type that is not in its own line of descent.
    const TensorType* stranger = nullptr;
    for (const TensorType* other : types) {
      if (!type.is(*other)) stranger = other;
    }
    if (stranger != nullptr) {
      if (notes != nullptr) {
        notes->push_back({nullptr, "its default handler declines: " + stranger->name +
                                       " is not in its line of descent"});
      }
      continue;
    }
    if (turn.first_handler < 0) turn.first_handler = static_cast<int32_t>(turn.line.size());
    turn.line.push_back({Answerer::Kind::Standard, level, nullptr, {}});
  }
  return turn;
}

}  // namespace

void OperandTypes::add(const TensorType& type) {
  const std::span<const TensorType* const> present = list();
  uint32_t place = count_;
  for (uint32_t i = 0; i < count_; ++i) {
    if (present[i] == &type) return;
    if (place == count_ && type.is(*present[i])) place = i;
  }
  if (count_ < kFew) {
    for (uint32_t i = count_; i > place; --i) few_[i] = few_[i - 1];
    few_[place] = &type;
  } else {
    if (count_ == kFew) many_.assign(few_, few_ + kFew);
    many_.insert(many_.begin() + place, &type);
  }
  ++count_;
}

Plan make_plan(const Implementation& implementation, const OperandTypes& types,
               std::vector<Note>* notes) {
  Plan plan;
  plan.implementation = &implementation;
  plan.types.assign(types.begin(), types.end());
  plan.plain = types.plain;
  const std::vector<const Override*> entries =
      TypeTable::process().overrides(implementation.schema.name);
  for (const TensorType* type : plan.types) {
    if ((type->descriptor.flags & TENON_TYPE_NEVER_OPERAND) != 0) plan.refused = type;
    if (!type->dispatches()) continue;
    plan.asked.push_back(type->id);
    const size_t told = notes == nullptr ? 0 : notes->size();
    plan.turns.push_back(make_turn(implementation, entries, *type, types, notes));
    for (size_t i = told; notes != nullptr && i < notes->size(); ++i) (*notes)[i].type = type;
  }
  for (const TensorType* type : plan.types) {
    const uint32_t fallback = type->fallback();
    if (fallback != TENON_FALLBACK_TO_TENSOR && fallback != TENON_FALLBACK_UNWRAP_REWRAP) continue;
    if (type->falls_back_for(implementation.schema.name)) {
      plan.fallbacks.push_back(type);
    } else if (notes != nullptr) {
      notes->push_back({type, "its fallback is not for this op (`fallback_ops` in the config)"});
    }
  }
  return plan;
}

namespace {

// ---- the cache ----

class PlanCache {
 public:
  static PlanCache& process() {
    static PlanCache* const cache = new PlanCache;
    return *cache;
  }

  const Plan& find(const Implementation& implementation, const OperandTypes& types) {
    const size_t slot = slot_of(implementation, types);
    const Entry* entry = slots_[slot].load(std::memory_order_acquire);
    if (entry != nullptr && entry->generation == TypeTable::process().generation() &&
        matches(entry->plan, implementation, types)) [[likely]] {
      return entry->plan;
    }
    return find_slow(implementation, types, slot);
  }

 private:
  struct Entry {
    Plan plan;
    uint64_t generation = 0;
  };
  using Key = std::tuple<const Implementation*, bool, std::vector<const TensorType*>>;
  static constexpr size_t kSlots = 4096;

  static size_t slot_of(const Implementation& implementation, const OperandTypes& types) {
    uint64_t hash = reinterpret_cast<uintptr_t>(&implementation) >> 6;
    for (const TensorType* type : types) hash = hash * 31 + type->id;
    hash = (hash * 2 + (types.plain ? 1 : 0)) * 0x9e3779b97f4a7c15ull;
    return hash >> 52;
  }
  static bool matches(const Plan& plan, const Implementation& implementation,
                      const OperandTypes& types) {
    return plan.implementation == &implementation && plan.plain == types.plain &&
           std::equal(plan.types.begin(), plan.types.end(), types.begin(), types.end());
  }

  [[gnu::noinline]] const Plan& find_slow(const Implementation& implementation,
                                          const OperandTypes& types, size_t slot) {
    // Loads may call ops: without the lock.
    for (const TensorType* type : types) TypeTable::process().complete(*type);
    const std::lock_guard lock(mutex_);
    const uint64_t generation = TypeTable::process().generation();
    if (generation != generation_) {
      for (auto& [key, entry] : entries_) retired_.push_back(std::move(entry));
      entries_.clear();
      generation_ = generation;
    }
    std::unique_ptr<Entry>& entry =
        entries_[{&implementation, types.plain, {types.begin(), types.end()}}];
    if (entry == nullptr) {
      auto made = std::make_unique<Entry>();
      made->plan = make_plan(implementation, types);
      made->generation = generation;
      entry = std::move(made);
    }
    slots_[slot].store(entry.get(), std::memory_order_release);
    return entry->plan;
  }

  std::atomic<const Entry*> slots_[kSlots] = {};
  std::mutex mutex_;
  const HeldAcrossFork held_{mutex_};
  uint64_t generation_ = 0;
  std::map<Key, std::unique_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<Entry>> retired_;  // calls may be running by them
};

// ---- operands ----

}  // namespace

OperandTypes gather_types(const Implementation& implementation, const tenon_value* arguments) {
  OperandTypes types;
  uint32_t last = 0;
  const TypeTable& table = TypeTable::process();
  each_operand(implementation, arguments, [&](const Tensor* tensor) {
    if (!tensor->typed()) {
      types.plain = true;
    } else if (tensor->view.type != last) {
      last = tensor->view.type;
      types.add(table.at(last));
    }
  });
  return types;
}

std::vector<uint32_t> asked_types(const Implementation& implementation,
                                  const tenon_value* arguments) {
  std::vector<uint32_t> asked;
  for (const TensorType* type : gather_types(implementation, arguments)) {
    TypeTable::process().complete(*type);
    if (type->dispatches()) asked.push_back(type->id);
  }
  return asked;
}

Carried gather_carried(const Implementation& implementation, const tenon_value* arguments) {
  Carried carried;
  each_operand(implementation, arguments, [&](Tensor* tensor) {
    if (tensor->payload() != nullptr) carried.hidden |= refresh_components(*tensor);
    carried.flags |= tensor->flags();
  });
  return carried;
}

namespace {

// An operand of a type that ops do not know, where a Tensor is expected.
[[noreturn, gnu::cold]] void throw_foreign(const Implementation& implementation,
                                           const tenon_value* arguments) {
  const Schema& schema = implementation.schema;
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    const TensorType* found = nullptr;
    each_tensor(arguments[i], [&](const Tensor* tensor) {
      const TensorType& type = TypeTable::process().at(tensor->view.type);
      if (found == nullptr && tensor->typed() && !type.is_tensor) found = &type;
    });
    if (found == nullptr) continue;
    const bool by_name = schema.parameters[i].keyword_only;
    throw_argument_type(schema, i, by_name ? -1 : static_cast<int64_t>(i), found->name);
  }
  throw Error(TENON_ERROR_INTERNAL, "no operand is of a foreign type");
}

bool has_foreign(const Implementation& implementation, const tenon_value* arguments) {
  bool foreign = false;
  each_operand(implementation, arguments, [&](const Tensor* tensor) {
    foreign |= tensor->typed() && !TypeTable::process().at(tensor->view.type).is_tensor;
  });
  return foreign;
}

// Operands of subclasses of Tensor are plain tensors, all others are refused.
tenon_status call_as_plain(const Implementation& implementation, const tenon_value* arguments,
                           tenon_value* results, uint32_t flags, tenon_error** error,
                           const AsWritten* written) {
  if (has_foreign(implementation, arguments)) [[unlikely]] {
    return guarded(error, [&] { check_plain(implementation, arguments); });
  }
  return call_untyped(implementation, arguments, results, flags & ~uint32_t{TENON_TENSOR_TYPED},
                      error, written);
}

// ---- results ----

bool sound(const Implementation& implementation, const tenon_value* results) {
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    const tenon_value& value = results[r];
    if (value.tag >= TENON_VALUE_TAG_COUNT) return false;
    if (value.tag == TENON_VALUE_NOT_IMPLEMENTED) {
      if (r > 0) return false;
      continue;
    }
    // Pointers are not null, except those of empty lists and strings.
    if (value.tag < TENON_VALUE_STRING || value.as.pointer != nullptr) [[likely]]
      continue;
    const bool object = value.tag == TENON_VALUE_TENSOR || value.tag == TENON_VALUE_TREE ||
                        value.tag == TENON_VALUE_MODULE;
    if (object || value.length > 0) return false;
  }
  return true;
}

// The operands that have a payload of that type.
std::vector<Tensor*> payload_operands(const TensorType& owner, const Implementation& implementation,
                                      const tenon_value* arguments) {
  std::vector<Tensor*> list;
  each_operand(implementation, arguments, [&](Tensor* tensor) {
    const Payload* payload = tensor->payload();
    if (payload != nullptr && payload->owner == owner.id) list.push_back(tensor);
  });
  return list;
}

}  // namespace

PayloadRef new_payload(const TensorType& owner, std::span<Tensor* const> operands) {
  const tenon_type_descriptor& rule = owner.descriptor;
  const bool copies = rule.metadata == TENON_METADATA_KEEP && !operands.empty();
  if (copies ? rule.copy == nullptr : rule.merge == nullptr) return nullptr;
  PayloadRef made(make_payload(owner.id, rule.payload_size));
  const auto count =
      rule.metadata == TENON_METADATA_MERGE ? static_cast<int64_t>(operands.size()) : 0;
  tenon_error* cause = nullptr;
  const tenon_status status =
      copies ? rule.copy(rule.self, operands[0]->payload()->data(), made->data(), &cause)
             : rule.merge(rule.self, operands.data(), count, made->data(), &cause);
  if (status != TENON_OK) throw_status(status, cause);
  made->destroy = rule.destroy;
  return made;
}

namespace {

// The payload that results of the default handler get; null: none.
PayloadRef result_payload(const TensorType& type, const Implementation& implementation,
                          const tenon_value* arguments) {
  const TensorType* owner = type.payload_owner;
  if (owner == nullptr) return nullptr;
  const std::vector<Tensor*> operands = payload_operands(*owner, implementation, arguments);
  if (operands.empty() || owner->descriptor.metadata != TENON_METADATA_KEEP)
    return new_payload(*owner, operands);
  Payload* kept = operands[0]->payload();  // one for all of them
  kept->retain();
  return PayloadRef(kept);
}

// An object of a type that keeps one tensor, with another one in its place.
TensorRef replace_component(const TensorType& type, Tensor& plain,
                            std::span<Tensor* const> operands) {
  const TensorType& owner = *type.payload_owner;
  const PayloadRef payload = new_payload(owner, operands);
  if (payload == nullptr || !owner.keeps_one_tensor())
    throw Error(TENON_ERROR_TYPE, "a payload of " + owner.name + " cannot be made from another");
  Tensor*& place = owner.component(*payload, 0);
  if (place != nullptr) place->release();
  place = TensorRef(&plain).give();
  TensorRef object = make_dataless(plain.view.dtype, plain.shape(), type.id);
  set_type(*object, type.id, payload.get());
  return object;
}

// Makes the results of an op on plain tensors results of a child type.
void retype_results(const Turn& turn, const Implementation& implementation,
                    const tenon_value* arguments, tenon_value* results) {
  const TensorType& type = *turn.type;
  PayloadRef payload;
  bool looked = false;
  const auto retype = [&](Tensor*& tensor) {
    if (tensor == nullptr || (tensor->typed() && tensor->view.type == type.id)) return;
    // A tensor with other references is an operand: one that was changed in place keeps its type.
    if (tensor->references.load(std::memory_order_relaxed) != 1) {
      if (implementation.mutates || implementation.out_parameter >= 0) return;
      TensorRef shared = share_with_history(*tensor);
      tensor->release();
      tensor = shared.give();
    }
    if (!looked) payload = result_payload(type, implementation, arguments);
    looked = true;
    set_type(*tensor, type.id, payload.get());
  };
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    if (results[r].tag == TENON_VALUE_TENSOR) retype(results[r].as.tensor);
    if (results[r].tag != TENON_VALUE_TENSOR_LIST) continue;
    auto** tensors = const_cast<Tensor**>(results[r].as.tensors);
    for (uint32_t k = 0; k < results[r].length; ++k) retype(tensors[k]);
  }
}

// ---- asking ----

bool same_value(const tenon_value& a, const tenon_value& b) {
  if (a.tag != b.tag || a.length != b.length) return false;
  switch (a.tag) {
    case TENON_VALUE_NONE:
      return true;
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_FLOAT_LIST:
      return a.length == 0 || std::memcmp(a.as.pointer, b.as.pointer, a.length * size_t{8}) == 0;
    case TENON_VALUE_STRING:
    case TENON_VALUE_BOOL_LIST:
      return a.length == 0 || std::memcmp(a.as.pointer, b.as.pointer, a.length) == 0;
    default:
      return a.as.integer == b.as.integer;
  }
}

bool is_default(const Parameter& parameter, const tenon_value& value) {
  return parameter.has_default && same_value(parameter.default_value.value, value);
}

std::string frame_text(const CallFrame& frame) {
  const Answerer& answerer = frame.turn->line[frame.place];
  const char* what = answerer.kind == Answerer::Kind::Override ? "override of " : "handler of ";
  return what + answerer.level->name + " for " + frame.implementation->schema.name;
}

// Calling an op again from inside its own handler, with the operand that it was called for, can
// only come back here.
void check_recursion(const CallFrame& frame) {
  const Answerer& answerer = frame.turn->line[frame.place];
  std::vector<const CallFrame*> between;
  for (const CallFrame* outer = frame.outer; outer != nullptr; outer = outer->outer) {
    if (outer->turn == nullptr) continue;  // a mode
    between.push_back(outer);
    const Answerer& running = outer->turn->line[outer->place];
    if (outer->implementation->op != frame.implementation->op || running.level != answerer.level ||
        running.kind != answerer.kind || running.entry != answerer.entry)
      continue;
    bool shared = frame.depth >= kMaxDepth;
    each_operand(*frame.implementation, frame.bound, [&](const Tensor* mine) {
      each_operand(*outer->implementation, outer->bound,
                   [&](const Tensor* theirs) { shared |= mine == theirs && mine->typed(); });
    });
    if (!shared) continue;
    std::string chain;
    for (auto step = between.rbegin(); step != between.rend(); ++step)
      chain += frame_text(**step) + " -> ";
    chain += frame_text(frame);
    throw Error(TENON_ERROR_RUNTIME,
                std::string(frame.implementation->schema.short_name()) +
                    "(): endless recursion: " + chain +
                    "; call_parent runs the next handler up, calling the op comes back to the "
                    "same one");
  }
  if (frame.depth >= 4 * kMaxDepth) {
    constexpr size_t kChain = 8;  // enough to see what repeats
    std::string chain;
    for (size_t i = std::min(between.size(), kChain); i-- > 0;)
      chain += frame_text(*between[i]) + " -> ";
    throw Error(TENON_ERROR_RUNTIME,
                std::string(frame.implementation->schema.short_name()) +
                    "(): endless recursion: more than " + std::to_string(4 * kMaxDepth) +
                    " handlers are running inside each other: ... -> " + chain + frame_text(frame) +
                    "; call_parent runs the next handler up");
  }
}

[[noreturn, gnu::cold]] void throw_untaken(const Override& entry, const std::string& parameter) {
  throw Error(TENON_ERROR_TYPE, std::string(entry.schema.short_name()) +
                                    "() got an unexpected keyword argument '" + parameter + "'");
}

// What the override's own signature makes of the op's arguments.
void bind_own(const Answerer& answerer, const Implementation& implementation,
              const tenon_value* bound, tenon_value* own) {
  const Override& entry = *answerer.entry;
  for (const uint8_t untaken : answerer.binding.untaken) {
    const Parameter& parameter = implementation.schema.parameters[untaken];
    if (!is_default(parameter, bound[untaken])) [[unlikely]]
      throw_untaken(entry, parameter.name);
  }
  const std::vector<int8_t>& source = answerer.binding.source;
  for (size_t i = 0; i < source.size(); ++i) {
    const Parameter& parameter = entry.schema.parameters[i];
    own[i] = source[i] < 0 ? parameter.default_value.value : bound[source[i]];
    if (accepts(parameter, own[i])) [[likely]]
      continue;
    if (parameter.type.list && (own[i].tag == list_tag(parameter.type.kind))) continue;
    if (parameter.type.kind == TypeKind::floating && own[i].tag == TENON_VALUE_INT) {
      own[i].as.number = static_cast<double>(own[i].as.integer);
      own[i].tag = TENON_VALUE_FLOAT;
      continue;
    }
    throw_argument_type(entry.schema, static_cast<int64_t>(i),
                        parameter.keyword_only ? -1 : static_cast<int64_t>(i),
                        value_type_text(own[i]));
  }
}

}  // namespace

void check_own(const Answerer& answerer, const Implementation& implementation,
               const tenon_value* bound) {
  tenon_value own[kMaxParameters];
  bind_own(answerer, implementation, bound, own);
}

namespace {

tenon_status ask(CallFrame& frame, tenon_value* results, tenon_error** error) {
  const Implementation& implementation = *frame.implementation;
  const Turn& turn = *frame.turn;
  const Answerer& answerer = turn.line[frame.place];
  for (uint32_t r = 0; r < implementation.result_count; ++r) results[r] = tenon_value{};
  if (implementation.result_count == 0) results[0] = tenon_value{};  // call_typed has room

  if (answerer.kind == Answerer::Kind::Standard) {
    const TypesDisabledGuard guard(true);
    const ModesOffGuard modes_off;
    const tenon_status status =
        call_untyped(implementation, frame.bound, results,
                     frame.flags & ~uint32_t{TENON_TENSOR_TYPED}, error, frame.written);
    if (status != TENON_OK) return status;
    const tenon_status retyped =
        guarded(error, [&] { retype_results(turn, implementation, frame.bound, results); });
    if (retyped != TENON_OK) release_results(implementation, results);
    return retyped;
  }

  tenon_call& call = frame.call;
  call.type = turn.type->id;
  call.types = frame.plan->asked.data();
  call.type_count = static_cast<int64_t>(frame.plan->asked.size());

  const FrameScope scope(frame);
  tenon_status status = TENON_OK;
  const std::string* provider = &answerer.level->provider;
  if (answerer.kind == Answerer::Kind::Override) {
    tenon_value own[kMaxParameters];
    const Override& entry = *answerer.entry;
    provider = &entry.provider;
    status = guarded(error, [&] {
      if (frame.outer != nullptr) check_recursion(frame);
      bind_own(answerer, implementation, frame.bound, own);
    });
    if (status == TENON_OK) {
      call.size = sizeof(tenon_call);
      call.op = implementation.op;
      call.arguments = own;
      call.argument_count = static_cast<int64_t>(entry.schema.parameters.size());
      if (frame.hidden != 0 && entry.rules != nullptr) [[unlikely]]
        status = guarded(error, [&] { refuse_hidden_history(frame, entry); });
    }
    if (status == TENON_OK) {
      status = entry.rules != nullptr
                   ? call_untyped(*entry.rules, own, results,
                                  frame.flags & ~uint32_t{TENON_TENSOR_TYPED}, error, nullptr)
                   : entry.descriptor.run(entry.descriptor.self, &call, results, error);
    }
  } else {
    WrittenCall written;
    fill_call(frame, written);
    const tenon_type_descriptor& type = answerer.level->descriptor;
    if (frame.outer != nullptr) status = guarded(error, [&] { check_recursion(frame); });
    if (status == TENON_OK) status = type.handler(type.self, &call, results, error);
  }
  if (status == TENON_OK && sound(implementation, results)) [[likely]] {
    constexpr uint32_t kTracked = TENON_TENSOR_REQUIRES_GRAD | TENON_TENSOR_HAS_TANGENT;
    if (((frame.flags | frame.hidden) & kTracked) == 0 || declined(results)) [[likely]]
      return TENON_OK;
    // What is recorded as an op has the history that it says, a constant's none.
    if (answerer.entry != nullptr && answerer.entry->rules != nullptr) return TENON_OK;
    status = guarded(error, [&] {
      refuse_lost_gradient(frame, *answerer.level, answerer.kind == Answerer::Kind::Handler,
                           results);
    });
    if (status == TENON_OK) return TENON_OK;
    release_results(implementation, results);
  } else if (status == TENON_OK) {
    status = check_results(implementation, results, frame_text(frame), error);
  } else {
    release_results(implementation, results);
  }
  if (error != nullptr && *error != nullptr && !(*error)->error.chain.empty())
    add_error_context(error, implementation, status);
  if (error != nullptr && *error != nullptr && !(*error)->preallocated &&
      (*error)->error.op.empty()) {
    (*error)->error.op = implementation.schema.name;
    (*error)->error.provider = *provider;
  }
  return status;
}

tenon_status ask_telling(CallFrame& frame, tenon_value* results, tenon_error** error) {
  const bool told = tracing();
  const Answerer& answerer = frame.turn->line[frame.place];
  if (told) [[unlikely]] {
    const bool handles = answerer.kind != Answerer::Kind::Override;
    trace(handles ? trace_event::handler : trace_event::override_of_op, *frame.implementation,
          answerer_text(answerer), provider_of(answerer));
  }
  const TraceDepth inside(told);
  const tenon_status status = ask(frame, results, error);
  if (told && status == TENON_OK && declined(results))
    trace(trace_event::declined, *frame.implementation, "declined");
  return status;
}

// ---- fallbacks ----

// What is changed in place through a conversion must be what the operand holds, and the operand
// must have no history that would not see it.
void check_changed_through(const Implementation& implementation, const Tensor& operand,
                           const Tensor& plain) {
  const TensorType& type = TypeTable::process().at(operand.view.type);
  if (type.is_tensor) return;
  const bool copied = plain.references.load() == 1 && plain.storage != nullptr &&
                      plain.storage->references.load() == 1;
  if (!copied && (!operand.requires_grad() || !records() || has_held_history(operand))) return;
  throw Error(copied ? TENON_ERROR_TYPE : TENON_ERROR_INPLACE,
              std::string(implementation.schema.short_name()) + "(): it would change a " +
                  type.name +
                  " in place through its conversion to "
                  "Tensor, " +
                  (copied ? "which makes a copy, so that nothing of it would change"
                          : "which the history of what requires grad does not see") +
                  "; call the op that gives a new tensor, or register an override " +
                  implementation.schema.name + "[" + type.name + "]");
}

// Calls the op again with the operands of one type converted, and rewraps when that is its policy.
void run_fallback(const TensorType& type, const CallFrame& frame, tenon_value* results) {
  const Implementation& implementation = *frame.implementation;
  const tenon_value* arguments = frame.bound;
  tenon_value converted[kMaxParameters];
  std::vector<TensorRef> owned;
  std::vector<std::vector<Tensor*>> lists;
  lists.reserve(implementation.parameter_count);
  Tensor* like = nullptr;
  if (tracing()) {
    trace(trace_event::fallback, implementation,
          std::string("fallback ") + fallback_text(type.fallback()) + " of " + type.name,
          type.provider);
  }
  const TraceDepth inside(tracing());
  const auto convert = [&](Tensor* tensor) -> Tensor* {
    if (tensor == nullptr || !tensor->typed() ||
        !TypeTable::process().at(tensor->view.type).is(type))
      return tensor;
    if (like == nullptr) like = tensor;
    if (tracing())
      trace(trace_event::convert, implementation, "convert " + type.name + " to Tensor");
    const TraceDepth converting(tracing());
    return owned.emplace_back(to_plain(*tensor)).get();
  };
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    converted[i] = arguments[i];
    if (arguments[i].tag == TENON_VALUE_TENSOR) {
      converted[i].as.tensor = convert(arguments[i].as.tensor);
      if (converted[i].as.tensor != arguments[i].as.tensor &&
          ((implementation.mutated_parameters >> i & 1u) != 0 ||
           static_cast<int32_t>(i) == implementation.out_parameter))
        check_changed_through(implementation, *arguments[i].as.tensor, *converted[i].as.tensor);
    } else if (arguments[i].tag == TENON_VALUE_TENSOR_LIST) {
      std::vector<Tensor*>& list = lists.emplace_back();
      for (uint32_t k = 0; k < arguments[i].length; ++k)
        list.push_back(convert(arguments[i].as.tensors[k]));
      converted[i].as.tensors = list.data();
    }
  }
  tenon_error* error = nullptr;
  const Rewritten written(frame, converted);
  const tenon_status status = call_again(implementation, converted, written.get(), results, &error);
  if (status != TENON_OK) throw_status(status, error);
  if (type.fallback() != TENON_FALLBACK_UNWRAP_REWRAP) return;

  const TensorType* rule = &type;
  while (rule != nullptr && rule->descriptor.from_tensor == nullptr && !rule->keeps_one_tensor())
    rule = rule->parent;
  if (rule == nullptr) return;
  const auto rewrap = [&](Tensor*& tensor) {
    if (tensor == nullptr || tensor->typed()) return;
    // What was changed in place comes back as the operand that holds it.
    for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
      const bool changes = (implementation.mutated_parameters >> i & 1u) != 0 ||
                           static_cast<int32_t>(i) == implementation.out_parameter;
      if (!changes || arguments[i].tag != TENON_VALUE_TENSOR || converted[i].as.tensor != tensor)
        continue;
      tensor->release();
      tensor = TensorRef(arguments[i].as.tensor).give();
      return;
    }
    const TensorRef plain = TensorRef::take(std::exchange(tensor, nullptr));
    TensorRef wrapped;
    if (rule->descriptor.from_tensor != nullptr) {
      tenon_error* cause = nullptr;
      Tensor* given = nullptr;
      const tenon_status made =
          rule->descriptor.from_tensor(rule->descriptor.self, plain.get(), like, &given, &cause);
      if (made != TENON_OK) throw_status(made, cause);
      wrapped = TensorRef::take(given);
      if (!wrapped) throw Error(TENON_ERROR_TYPE, "from_tensor of " + rule->name + " gave nothing");
    } else {
      wrapped = replace_component(type, *plain,
                                  payload_operands(*type.payload_owner, implementation, arguments));
    }
    tensor = connect_conversion(std::move(wrapped), *plain, kFromTensorNode).give();
  };
  try {
    for (uint32_t r = 0; r < implementation.result_count; ++r) {
      if (results[r].tag == TENON_VALUE_TENSOR) rewrap(results[r].as.tensor);
      if (results[r].tag != TENON_VALUE_TENSOR_LIST) continue;
      auto** tensors = const_cast<Tensor**>(results[r].as.tensors);
      for (uint32_t k = 0; k < results[r].length; ++k) rewrap(tensors[k]);
    }
  } catch (...) {
    release_results(implementation, results);
    throw;
  }
}

}  // namespace

bool asks_types(const Implementation& implementation) {
  return !thread_state.types_disabled && (implementation.flags & TENON_OP_NOT_OVERRIDABLE) == 0;
}

void check_plan(const Plan& plan, const Implementation& implementation,
                const tenon_value* arguments) {
  if (plan.refused == nullptr) {
    if (plan.turns.empty()) throw_foreign(implementation, arguments);
    return;
  }
  throw Error(TENON_ERROR_TYPE, std::string(implementation.schema.short_name()) +
                                    "(): " + plan.refused->name +
                                    " is declared never to be an operand (by plugin '" +
                                    plan.refused->provider + "')");
}

void check_plain(const Implementation& implementation, const tenon_value* arguments) {
  if (has_foreign(implementation, arguments)) throw_foreign(implementation, arguments);
}

[[gnu::cold]] void throw_declined(const Implementation& implementation, const Plan& plan) {
  throw Error(TENON_ERROR_TYPE,
              "no implementation found for 'tenon." + implementation.schema.name +
                  "' on types that implement tenon_function: " + type_list(plan.asked) +
                  (thread_state.mode == nullptr ? "" : " nor in mode " + thread_state.mode->name));
}

namespace {

tenon_status run_plan(const Plan& plan, const Implementation& implementation,
                      const tenon_value* arguments, tenon_value* results, Carried carried,
                      tenon_error** error, const AsWritten* written) {
  if (plan.refused != nullptr || plan.turns.empty()) [[unlikely]] {
    return guarded(error, [&] { check_plan(plan, implementation, arguments); });
  }
  for (const Turn& turn : plan.turns) {
    for (const int32_t place : {turn.first_override, turn.first_handler}) {
      if (place < 0) continue;
      CallFrame frame;
      frame.implementation = &implementation;
      frame.bound = arguments;
      frame.written = written;
      frame.plan = &plan;
      frame.turn = &turn;
      frame.place = static_cast<size_t>(place);
      frame.flags = carried.flags;
      frame.hidden = carried.hidden;
      const tenon_status status = ask_telling(frame, results, error);
      if (status != TENON_OK || !declined(results)) return status;
    }
  }
  return guarded(error, [&] {
    if (plan.fallbacks.empty()) throw_declined(implementation, plan);
    CallFrame frame;
    frame.implementation = &implementation;
    frame.bound = arguments;
    frame.written = written;
    run_fallback(*plan.fallbacks.front(), frame, results);
  });
}

}  // namespace

std::string answerer_text(const Answerer& answerer) {
  switch (answerer.kind) {
    case Answerer::Kind::Override:
      return "override " + answerer.entry->key();
    case Answerer::Kind::Handler:
      return "handler of " + answerer.level->name;
    default:
      return "default handler";
  }
}

const std::string& provider_of(const Answerer& answerer) {
  return answerer.kind == Answerer::Kind::Override ? answerer.entry->provider
                                                   : answerer.level->provider;
}

void fill_call(CallFrame& frame, WrittenCall& room) {
  const Implementation& implementation = *frame.implementation;
  const Schema& schema = implementation.schema;
  const AsWritten all{{frame.bound, implementation.parameter_count}, {}, {}, true};
  const AsWritten& written = frame.written == nullptr ? all : *frame.written;
  const auto most = static_cast<size_t>(schema.positional_count);
  const auto given = [&](size_t i) {
    return !written.filled || !is_default(schema.parameters[i], frame.bound[i]);
  };
  tenon_call& call = frame.call;
  call.size = sizeof(tenon_call);
  call.op = implementation.op;
  call.arguments = frame.bound;
  call.argument_count = implementation.parameter_count;
  call.positional = written.positional.data();
  size_t positional = std::min(written.positional.size(), most);
  while (positional > 0 && !given(positional - 1)) --positional;
  call.positional_count = static_cast<int64_t>(positional);
  call.keywords = written.keywords.data();
  call.keyword_values = written.keyword_values.data();
  call.keyword_count = static_cast<int64_t>(written.keywords.size());
  if (!written.filled && written.positional.size() <= most) return;
  call.keywords = room.names;
  call.keyword_values = room.values;
  call.keyword_count = 0;
  const auto put = [&](const tenon_string& name, const tenon_value& value) {
    room.names[call.keyword_count] = name;
    room.values[call.keyword_count++] = value;
  };
  for (size_t i = most; i < written.positional.size(); ++i) {
    const std::string& name = schema.parameters[i].name;
    if (given(i)) put({name.data(), static_cast<int64_t>(name.size())}, written.positional[i]);
  }
  for (size_t k = 0; k < written.keywords.size(); ++k) {
    const tenon_string& name = written.keywords[k];
    const int64_t i = schema.find({name.data, static_cast<size_t>(name.length)});
    if (given(static_cast<size_t>(i))) put(name, written.keyword_values[k]);
  }
}

Rewritten::Rewritten(const CallFrame& frame, const tenon_value* arguments) {
  const Implementation& implementation = *frame.implementation;
  const Schema& schema = implementation.schema;
  if (frame.written == nullptr) {
    written_ = {{arguments, implementation.parameter_count}, {}, {}, true};
    return;
  }
  written_ = *frame.written;
  if (arguments == frame.bound) return;
  const auto kept = [&](size_t i) {
    return std::memcmp(&arguments[i], &frame.bound[i], sizeof(tenon_value)) == 0;
  };
  std::bitset<kMaxParameters> given;
  for (size_t i = 0; i < written_.positional.size(); ++i) {
    positional_[i] = kept(i) ? written_.positional[i] : arguments[i];
    given.set(i);
  }
  size_t named = 0;
  for (; named < written_.keywords.size(); ++named) {
    const tenon_string& name = written_.keywords[named];
    const auto i = static_cast<size_t>(schema.find({name.data, static_cast<size_t>(name.length)}));
    room_.names[named] = name;
    room_.values[named] = kept(i) ? written_.keyword_values[named] : arguments[i];
    given.set(i);
  }
  for (size_t i = 0; i < implementation.parameter_count; ++i) {
    if (given[i] || kept(i)) continue;
    const std::string& name = schema.parameters[i].name;
    room_.names[named] = {name.data(), static_cast<int64_t>(name.size())};
    room_.values[named++] = arguments[i];
  }
  written_.positional = {positional_, written_.positional.size()};
  written_.keywords = {room_.names, named};
  written_.keyword_values = {room_.values, named};
}

tenon_status check_results(const Implementation& implementation, tenon_value* results,
                           const std::string& who, tenon_error** error) noexcept {
  if (sound(implementation, results)) return TENON_OK;
  for (uint32_t r = 0; r < implementation.result_count; ++r) {
    if (results[r].tag < TENON_VALUE_TAG_COUNT && results[r].as.pointer != nullptr)
      release_value(results[r]);
    results[r] = tenon_value{};
  }
  return guarded(error, [&] {
    throw Error(TENON_ERROR_TYPE, std::string(implementation.schema.short_name()) + "(): the " +
                                      who + " returned an invalid value");
  });
}

std::string type_list(std::span<const uint32_t> types) {
  Words names;
  for (const uint32_t type : types) names.push_back(TypeTable::process().at(type).name);
  return "[" + join(names, ", ") + "]";
}

tenon_status call_typed(const Implementation& implementation, const tenon_value* arguments,
                        tenon_value* results, uint32_t flags, tenon_error** error,
                        const AsWritten* written) noexcept {
  if (!asks_types(implementation))
    return call_as_plain(implementation, arguments, results, flags, error, written);
  tenon_value answer{};  // of an op without results: whether the call was handled
  if (implementation.result_count == 0) results = &answer;
  const Plan* plan = nullptr;
  Carried carried;
  tenon_status status = guarded(error, [&] {
    carried = gather_carried(implementation, arguments);
    plan = &PlanCache::process().find(implementation, gather_types(implementation, arguments));
  });
  if (status == TENON_OK)
    status = run_plan(*plan, implementation, arguments, results, carried, error, written);
  return status;
}

void call_override(const Override& entry, std::span<const tenon_value> positional,
                   std::span<const tenon_string> keywords,
                   std::span<const tenon_value> keyword_values, tenon_value* results) {
  const tenon_op* op = Registry::process().require(entry.schema.name);
  const Implementation* implementation = &require_implementation(op);
  if (entry.rules_only())
    throw Error(TENON_ERROR_TYPE, "override " + entry.key() + " from '" + entry.provider +
                                      "' gives rules to the op, and answers no calls");
  BoundArguments bound;
  bind_arguments(implementation->schema, positional, keywords, keyword_values, bound);
  const OperandTypes types = gather_types(*implementation, bound.values);

  Plan plan;
  plan.implementation = implementation;
  plan.types.assign(types.begin(), types.end());
  plan.plain = types.plain;
  std::vector<int> steps;
  std::string why;
  if (!fits(entry, {plan.types, plan.plain}, steps, &why))
    throw Error(TENON_ERROR_TYPE, "override " + entry.key() + " from '" + entry.provider +
                                      "' is not for these operands: " + why);
  const TensorType* turn_of = nullptr;
  for (const TensorType* type : plan.types) {
    plan.asked.push_back(type->id);
    if (turn_of == nullptr && type->is(*entry.types.front())) turn_of = type;
  }
  plan.turns.push_back(make_turn(*implementation, {&entry}, *turn_of, types, nullptr));
  const AsWritten written{positional, keywords, keyword_values};
  CallFrame frame;
  frame.implementation = implementation;
  frame.bound = bound.values;
  frame.written = &written;
  frame.plan = &plan;
  frame.turn = &plan.turns.front();
  const Carried carried = gather_carried(*implementation, bound.values);
  frame.flags = carried.flags;
  frame.hidden = carried.hidden;
  while (frame.turn->line[frame.place].entry != &entry) ++frame.place;
  tenon_error* error = nullptr;
  const tenon_status status = ask(frame, results, &error);
  if (status != TENON_OK) throw_status(status, error);
}

namespace {

// Arguments that a handler puts in the place of the call's: as many as the op has, bound already.
void check_given(const Implementation& implementation, const tenon_value* arguments) {
  const Schema& schema = implementation.schema;
  for (uint32_t i = 0; i < implementation.parameter_count; ++i) {
    const uint32_t tag = arguments[i].tag;
    if (tag < 32 && (implementation.accept[i] >> tag & 1u) != 0) continue;
    throw_argument_type(schema, i, schema.parameters[i].keyword_only ? -1 : int64_t{i},
                        tag < TENON_VALUE_TAG_COUNT ? value_type_text(arguments[i]) : "nothing");
  }
}

}  // namespace

tenon_status call_parent(const tenon_call* call, const tenon_value* arguments, tenon_value* results,
                         tenon_error** error) noexcept {
  const CallFrame* frame_of_call = thread_state.frame;
  while (frame_of_call != nullptr && &frame_of_call->call != call)
    frame_of_call = frame_of_call->outer;
  if (frame_of_call == nullptr) [[unlikely]] {
    return guarded(error, [] {
      throw Error(
          TENON_ERROR_RUNTIME,
          "call_parent: the call has ended, or runs on another thread; a call is to be used "
          "while its handler runs, by the thread that runs it");
    });
  }
  const CallFrame& running = *frame_of_call;
  if (tracing()) trace(trace_event::parent, *running.implementation, "parent");
  const TraceDepth inside(tracing());
  if (running.turn == nullptr) return call_outside(running, arguments, results, error);
  const Turn& turn = *running.turn;
  size_t next = running.place + 1;
  const TensorType* level = turn.line[running.place].level;
  while (next < turn.line.size() && turn.line[next].level == level) ++next;
  if (next == turn.line.size()) {
    results[0] = tenon_value{};
    results[0].tag = TENON_VALUE_NOT_IMPLEMENTED;
    return TENON_OK;
  }
  Carried carried{running.flags, running.hidden};
  if (arguments != nullptr) {
    const tenon_status status = guarded(error, [&] {
      check_given(*running.implementation, arguments);
      carried = gather_carried(*running.implementation, arguments);
    });
    if (status != TENON_OK) return status;
  }
  const Rewritten written(running, arguments == nullptr ? running.bound : arguments);
  CallFrame frame;
  frame.implementation = running.implementation;
  frame.bound = arguments == nullptr ? running.bound : arguments;
  frame.written = arguments == nullptr ? running.written : &written.get();
  frame.plan = running.plan;
  frame.turn = &turn;
  frame.place = next;
  frame.flags = carried.flags;
  frame.hidden = carried.hidden;
  return ask_telling(frame, results, error);
}

TensorRef to_plain(Tensor& tensor) {
  if (!tensor.typed()) return TensorRef(&tensor);
  const TensorType& type = TypeTable::process().at(tensor.view.type);
  if (const TensorType* rule = type.converter()) {
    TensorRef result;
    if (rule->descriptor.to_tensor != nullptr) {
      Tensor* given = nullptr;
      tenon_error* error = nullptr;
      const tenon_status status =
          rule->descriptor.to_tensor(rule->descriptor.self, &tensor, &given, &error);
      if (status != TENON_OK) throw_status(status, error);
      result = TensorRef::take(given);
    } else if (Payload* payload = tensor.payload()) {
      result = TensorRef(rule->component(*payload, 0));
    }
    if (!result || result->typed())
      throw Error(TENON_ERROR_TYPE, "to_tensor of " + rule->name + " gave no plain Tensor");
    // A type that says nothing of its shape is of rank 0 to the host.
    if (tensor.view.rank > 0 && !std::equal(tensor.shape().begin(), tensor.shape().end(),
                                            result->shape().begin(), result->shape().end())) {
      throw Error(TENON_ERROR_TYPE, "to_tensor of " + rule->name + " gave a tensor of shape " +
                                        shape_text(result->shape()) + " for one of shape " +
                                        shape_text(tensor.shape()));
    }
    if (rule->is_tensor) return connect_same_data(std::move(result), tensor, *rule);
    return connect_tangent(connect_conversion(std::move(result), tensor, kToTensorNode), tensor);
  }
  if (!type.is_tensor) throw Error(TENON_ERROR_TYPE, type.name + " has no conversion to Tensor");
  TensorRef plain = share_with_history(tensor);
  set_type(*plain, 0, nullptr);
  return plain;
}

}  // namespace tenon::core
