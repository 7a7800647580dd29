// Publishing table snapshots.
#include "core/dispatch/registry.hpp"

#include <algorithm>
#include <unordered_set>

#include "core/base/error.hpp"
#include "core/base/format.hpp"

namespace tenon::core {

struct Registry::Snapshot {
  std::unordered_map<std::string_view, const tenon_op*> ops;  // keys live in the ops
};

Registry::Registry() : snapshot_(new Snapshot) {}
Registry::~Registry() { delete snapshot_.load(); }

const tenon_op* Registry::find(std::string_view name) const {
  // Readers announce themselves, so that a writer frees a snapshot only when no thread can be
  // reading it.
  readers_.fetch_add(1, std::memory_order_seq_cst);
  const Snapshot* snapshot = snapshot_.load(std::memory_order_seq_cst);
  const auto found = snapshot->ops.find(name);
  const tenon_op* op = found == snapshot->ops.end() ? nullptr : found->second;
  readers_.fetch_sub(1, std::memory_order_seq_cst);
  return op;
}

const tenon_op* Registry::require(std::string_view name) const {
  // One whose plugin was unloaded has none: the finder says so, or loads another provider.
  if (const tenon_op* op = find(name); op != nullptr && op->implementation.load() != nullptr)
    return op;
  if (finder_) finder_(name);
  if (const tenon_op* op = find(name)) return op;
  throw Error(TENON_ERROR_VALUE, "no op is named '{}'", name);
}

void Registry::set_finder(std::function<void(std::string_view)> finder) {
  const std::lock_guard lock(writers_);
  finder_ = std::move(finder);
}

void Registry::publish(std::unique_ptr<Snapshot> next) {
  const Snapshot* old = snapshot_.exchange(next.release(), std::memory_order_seq_cst);
  retired_.emplace_back(old);
  if (readers_.load(std::memory_order_seq_cst) == 0) retired_.clear();
}

namespace {

// Throws where another plugin has implemented the op already.
void check_provider(const tenon_op& op, const Schema& schema, const std::string& provider) {
  const Implementation* active = op.implementation.load();
  if (active == nullptr || active->provider == provider) return;
  const std::string difference =
      schema_difference(active->schema, active->provider, schema, provider);
  throw Error(TENON_ERROR_PLUGIN,
              "op '{}' has two providers: '{}' and '{}'{}; rank them in the config, as in \"ops\": "
              "{{\"prefer\": {{\"{}\": \"{}\"}}}}",
              schema.name, active->provider, provider,
              difference.empty() ? "" : format_text("; {}", difference), schema.name, provider);
}

}  // namespace

void Registry::commit(const std::string& provider,
                      std::span<const tenon_op_descriptor* const> descriptors, PluginCode* code) {
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
      check_provider(*found->second, schema, provider);
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
    op->implementation.store(implementation.get(), std::memory_order_release);
    op->withdrawn_by.store(nullptr, std::memory_order_release);
    implementations_.push_back({std::move(implementation), {}});
  }
  publish(std::move(next));
}

void Registry::withdraw(const PluginCode& code) {
  const std::lock_guard lock(writers_);
  for (Owned& owned : implementations_) {
    const Implementation* implementation = owned.implementation.get();
    if (implementation->code != &code && implementation->rules_code != &code) continue;
    auto* op = const_cast<tenon_op*>(implementation->op);
    if (op->implementation.load() == implementation) {
      // What only has its rules from there has its own again.
      const bool keeps = implementation->code != &code && implementation->own != nullptr;
      if (!keeps)
        op->withdrawn_by.store(&*withdrawn_providers_.insert(implementation->provider).first,
                               std::memory_order_release);
      op->implementation.store(keeps ? implementation->own : nullptr, std::memory_order_release);
    }
    withdrawn_.push_back(std::move(owned.implementation));
  }
  std::erase_if(implementations_,
                [](const Owned& owned) { return owned.implementation == nullptr; });
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
  const auto found = snapshot_.load()->ops.find(name);
  if (found == snapshot_.load()->ops.end()) return;
  auto* op = const_cast<tenon_op*>(found->second);
  const Implementation* active = op->implementation.load();
  if (active == nullptr || (active->rules_provider == provider && active->rules_code == code))
    return;
  // The rules of the op itself are replaced, whichever plugin replaced them before.
  const Implementation* own = active->own == nullptr ? active : active->own;
  const Implementation* next = rules == nullptr ? own : nullptr;
  for (const Owned& owned : implementations_) {
    const Implementation& made = *owned.implementation;
    if (rules != nullptr && made.own == own && made.rules_provider == provider &&
        made.rules_code == code)
      next = &made;
  }
  if (next == nullptr) {
    auto made = make_implementation(with_rules(own->descriptor, *rules), own->provider);
    made->op = op;
    made->rules_provider = provider;
    made->code = own->code;
    made->rules_code = code;
    made->own = own;
    next = made.get();
    implementations_.push_back({std::move(made), {}});
  }
  for (Owned& owned : implementations_) {
    if (owned.implementation.get() == next) owned.inactive_reason.clear();
    if (owned.implementation.get() != active) continue;
    owned.inactive_reason =
        rules == nullptr
            ? format_text("its rules, of '{}', are switched off", active->rules_provider)
            : format_text("with rules of '{}' instead of the op's", provider);
  }
  op->implementation.store(next, std::memory_order_release);
}

std::vector<Registry::Entry> Registry::list() const {
  const std::lock_guard lock(writers_);
  std::vector<Entry> entries;
  for (const Owned& owned : implementations_) {
    const Implementation* implementation = owned.implementation.get();
    entries.push_back({implementation, implementation->op->implementation.load() == implementation,
                       owned.inactive_reason});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.implementation->schema.name < b.implementation->schema.name;
  });
  return entries;
}

}  // namespace tenon::core
