// Publishing table snapshots.
#include "core/dispatch/table/registry.hpp"

#include <algorithm>
#include <unordered_set>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/dispatch/call/layer.hpp"
#include "core/dispatch/call/prepared_call.hpp"
#include "core/dispatch/call/running_calls.hpp"

namespace tenon::core {

struct Registry::Snapshot {
  std::unordered_map<std::string_view, const tenon_op*> ops;  // keys live in the ops
};

Registry::Registry() : snapshot_(new Snapshot) {}
Registry::~Registry() { delete snapshot_.load(); }

const tenon_op* Registry::find(std::string_view name) const {
  // A writer frees a snapshot only when no thread can be reading it.
  const OuterCall reading;
  const Snapshot* snapshot = snapshot_.load(std::memory_order_acquire);
  const auto found = snapshot->ops.find(name);
  return found == snapshot->ops.end() ? nullptr : found->second;
}

const tenon_op* Registry::require(std::string_view name) const {
  // One whose plugin was unloaded has none: the finder says so, or loads another provider.
  if (const tenon_op* op = find(name); op != nullptr && op->implementation.load() != nullptr)
    return op;
  if (finder_) finder_(name);
  if (const tenon_op* op = find(name)) return op;
  throw Error(TENON_ERROR_VALUE, "no op is named '{}'", name);
}

void Registry::publish(std::unique_ptr<Snapshot> next) {
  const Snapshot* old = snapshot_.exchange(next.release(), std::memory_order_seq_cst);
  retired_.push_back({std::unique_ptr<const Snapshot>(old), mark_running_calls()});
  // Marks ascend: after one that calls may still read, they may read the others too.
  const auto in_use = std::ranges::find_if_not(retired_, have_ended, &Retired::mark);
  retired_.erase(retired_.begin(), in_use);
}

namespace {

// Throws where another plugin has implemented the op already, and nothing ranks the two.
void check_providers(const tenon_op& op, const Schema& schema, const std::string& provider,
                     const std::vector<std::string>& ranked) {
  for (const Implementation* present : op.ranked) {
    if (present->provider == provider) continue;
    const std::string difference =
        schema_difference(present->schema, present->provider, schema, provider);
    if (difference.empty() && std::ranges::find(ranked, present->provider) != ranked.end())
      continue;
    throw Error(TENON_ERROR_PLUGIN,
                "op '{}' has two providers: '{}' and '{}'{}; rank them in the config, as in "
                "\"ops\": {{\"prefer\": {{\"{}\": \"{}\"}}}}",
                schema.name, present->provider, provider,
                difference.empty() ? "" : format_text("; {}", difference), schema.name, provider);
  }
}

// In the place of what its provider has there, else before what is ranked below it.
void insert_ranked(tenon_op& op, const Implementation& made,
                   const std::vector<std::string>& ranked) {
  const auto rank = [&](const Implementation* implementation) {
    return std::ranges::find(ranked, implementation->provider);
  };
  for (const Implementation*& present : op.ranked) {
    if (present->provider != made.provider) continue;
    present = &made;
    return;
  }
  const auto below = std::ranges::find_if(
      op.ranked, [&](const Implementation* present) { return rank(present) > rank(&made); });
  op.ranked.insert(below, &made);
}

void refresh_call_flags(const Implementation& implementation) {
  uint32_t flags = implementation.call_flags.load(std::memory_order_relaxed) & ~kProviderFlag;
  if (may_pass_on(implementation)) flags |= kProviderFlag;
  implementation.call_flags.store(flags, std::memory_order_relaxed);
}

// Leads each to the next, and calls to the first.
void relink(tenon_op& op) {
  const Implementation* next = nullptr;
  for (auto place = op.ranked.rbegin(); place != op.ranked.rend(); ++place) {
    refresh_call_flags(**place);
    (*place)->next.store(next, std::memory_order_release);
    next = *place;
  }
  op.implementation.store(next, std::memory_order_release);
  ops_generation.fetch_add(1);
}

const std::vector<std::string>& ranked_for(const Registry::Ranked& ranked, std::string_view name) {
  static const std::vector<std::string> none;
  const auto found = ranked.find(name);
  return found == ranked.end() ? none : found->second;
}

}  // namespace

void Registry::commit(const std::string& provider,
                      std::span<const tenon_op_descriptor* const> descriptors, PluginCode* code,
                      const Ranked& ranked) {
  const std::lock_guard lock(writers_);
  const Snapshot& present = *snapshot_.load();

  // Prepare everything, refuse everything, before anything shows.
  std::vector<std::unique_ptr<Implementation>> prepared;
  std::unordered_set<std::string_view> own_names;
  prepared.reserve(descriptors.size());
  own_names.reserve(descriptors.size());
  for (const tenon_op_descriptor* descriptor : descriptors) {
    prepared.push_back(make_implementation(*descriptor, provider));
    prepared.back()->code = code;
    const Schema& schema = prepared.back()->schema;
    if (!own_names.insert(schema.name).second) {
      throw Error(TENON_ERROR_PLUGIN, "plugin '{}' registers op '{}' twice", provider, schema.name);
    }
    if (const auto found = present.ops.find(schema.name); found != present.ops.end())
      check_providers(*found->second, schema, provider, ranked_for(ranked, schema.name));
  }

  auto next = std::make_unique<Snapshot>(present);
  next->ops.reserve(present.ops.size() + prepared.size());
  for (std::unique_ptr<Implementation>& implementation : prepared) {
    const std::string& name = implementation->schema.name;
    const auto found = next->ops.find(name);
    auto* op = found == next->ops.end() ? ops_.emplace_back(std::make_unique<tenon_op>(name)).get()
                                        : const_cast<tenon_op*>(found->second);
    next->ops.emplace(op->name, op);
    implementation->op = op;
    insert_ranked(*op, *implementation, ranked_for(ranked, name));
    attach_preferences(*op);
    relink(*op);
    op->withdrawn_by.store(nullptr, std::memory_order_release);
    implementations_.push_back(std::move(implementation));
  }
  publish(std::move(next));
}

// The places of parameters are those of the schema, which a reload may change.
void Registry::attach_preferences(tenon_op& op) {
  const auto found = preferences_.find(op.name);
  const ProviderPreferences* preferences = nullptr;
  if (found != preferences_.end() && !op.ranked.empty()) {
    made_preferences_.push_back(
        std::make_unique<const ProviderPreferences>(op.ranked.front()->schema, found->second));
    preferences = made_preferences_.back().get();
  }
  op.preferences.store(preferences, std::memory_order_release);
}

void Registry::set_preferences(Preferences preferences) {
  const std::lock_guard lock(writers_);
  preferences_ = std::move(preferences);
  for (const std::unique_ptr<tenon_op>& op : ops_) {
    if (op->preferences.load() == nullptr && !preferences_.contains(op->name)) continue;
    attach_preferences(*op);
    relink(*op);
  }
}

void Registry::withdraw(const PluginCode& code) {
  const std::lock_guard lock(writers_);
  for (std::unique_ptr<Implementation>& owned : implementations_) {
    const Implementation* implementation = owned.get();
    if (implementation->code != &code && implementation->rules_code != &code) continue;
    auto* op = const_cast<tenon_op*>(implementation->op);
    if (const auto place = std::ranges::find(op->ranked, implementation);
        place != op->ranked.end()) {
      // An implementation that only has its rules from there gets its own back.
      if (implementation->code != &code && implementation->own != nullptr)
        *place = implementation->own;
      else
        op->ranked.erase(place);
      if (op->ranked.empty())
        op->withdrawn_by.store(&*withdrawn_providers_.insert(implementation->provider).first,
                               std::memory_order_release);
      relink(*op);
    }
    withdrawn_.push_back(std::move(owned));
  }
  std::erase(implementations_, nullptr);
}

void Registry::forget(const PluginCode& code) {
  const std::lock_guard lock(writers_);
  std::erase_if(withdrawn_, [&](const auto& implementation) {
    return implementation->code == &code || implementation->rules_code == &code;
  });
}

void Registry::replace_rules(std::string_view name, const tenon_op_descriptor* rules,
                             const std::string& provider, PluginCode* code) {
  const std::lock_guard lock(writers_);
  auto* const op = const_cast<tenon_op*>(find(name));
  if (op == nullptr) return;
  std::vector<const Implementation*> next = op->ranked;
  for (const Implementation*& implementation : next) {
    // The rules of the op itself are replaced, whichever plugin replaced them before.
    const Implementation& own =
        implementation->own == nullptr ? *implementation : *implementation->own;
    implementation = rules == nullptr ? &own : &ruled(own, *rules, provider, code);
  }
  if (next == op->ranked) return;
  op->ranked = std::move(next);
  relink(*op);
}

// The implementation with rules of another plugin, made once.
const Implementation& Registry::ruled(const Implementation& own, const tenon_op_descriptor& rules,
                                      const std::string& provider, PluginCode* code) {
  for (const auto& made : implementations_) {
    if (made->own == &own && made->rules_provider == provider && made->rules_code == code)
      return *made;
  }
  auto made = make_implementation(with_rules(own.descriptor, rules), own.provider);
  made->op = own.op;
  made->rules_provider = provider;
  made->code = own.code;
  made->rules_code = code;
  made->own = &own;
  return *implementations_.emplace_back(std::move(made));
}

const Implementation* Registry::next_provider(const Implementation& declined) const {
  if (const Implementation* next = declined.next.load(std::memory_order_acquire)) return next;
  const tenon_op& op = *declined.op;
  if (!next_finder_ || !next_finder_(op.name, declined.provider)) return nullptr;
  const std::lock_guard lock(writers_);
  const auto place = std::ranges::find(op.ranked, declined.provider, &Implementation::provider);
  // Unloaded meanwhile: what stands for it now.
  if (place == op.ranked.end()) return op.ranked.empty() ? nullptr : op.ranked.front();
  return place + 1 == op.ranked.end() ? nullptr : *(place + 1);
}

std::string Registry::reason_declined(std::string_view name, const std::string& provider) const {
  const std::lock_guard lock(writers_);
  const tenon_op* const op = find(name);
  if (op == nullptr) return {};
  const auto place = std::ranges::find(op->ranked, provider, &Implementation::provider);
  const char* const reason = place == op->ranked.end()
                                 ? nullptr
                                 : (*place)->reason_declined.load(std::memory_order_relaxed);
  return reason == nullptr ? "" : reason;
}

}  // namespace tenon::core
