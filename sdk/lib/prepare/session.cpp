#include "session.hpp"

#include <algorithm>
#include <utility>

#include <tenon/grad_mode.hpp>

#include "lib/base/format.hpp"
#include "passes.hpp"
#include "tensors.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

using lib::format_text;

Session::Session(Module module, PrepareOptions options)
    : module_(std::move(module)), options_(std::move(options)), state_(module_) {}

// ---- the choice ----

std::string Session::reason_as_is(const Arguments& arguments) {
  if (GradMode::enabled()) return "grad mode is on: call it under NoGrad";
  if (service::calls().watched() != 0)
    return "modes, a trace, a run on shapes alone or forward mode see the calls of this thread";
  std::string reason;
  const auto look = [&](const tenon_value* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      if (values[i].tag > TENON_VALUE_TENSOR_LIST)
        reason = format_text("an argument is {}", detail::kind_text(values[i]));
    }
  };
  look(arguments.values, arguments.count);
  look(arguments.keyword_values, arguments.keyword_count);
  tensors_.clear();
  for_each_tensor(arguments, [&](tenon_tensor* tensor) {
    if (tensor == nullptr || std::find(tensors_.begin(), tensors_.end(), tensor) != tensors_.end())
      return;
    const tenon_tensor_view& view = *tenon_tensor_get_view(tensor);
    if ((view.flags & TENON_TENSOR_TYPED) != 0)
      reason = format_text("an argument is a {}", service::types().name(view.type));
    else if ((view.flags & (TENON_TENSOR_SHAPE_ONLY | TENON_TENSOR_HAS_TANGENT)) != 0)
      reason = "an argument has no data, or a tangent";
    for (tenon_tensor* other : tensors_) {
      if (service::tensors().shares_storage(other, tensor) != 0)
        reason = "two arguments share memory";
    }
    tensors_.push_back(tensor);
  });
  return reason;
}

bool Session::run_as_is(const std::string& reason) {
  constexpr size_t most = 64;
  if (reasons_.size() < most &&
      std::find(reasons_.begin(), reasons_.end(), reason) == reasons_.end())
    reasons_.push_back(reason);
  return false;
}

void Session::rewrite(CallList& list, PreparedList& report) const {
  rewrites::Account account = rewrites::apply(list, options_.rewrites);
  report.rewrites = std::move(account.applied);
  report.refused = std::move(account.refused);
  if (report.rewrites.empty()) return;
  const std::vector<std::string> folded = fold_constants(list);
  report.folded.insert(report.folded.end(), account.folded.begin(), account.folded.end());
  report.folded.insert(report.folded.end(), folded.begin(), folded.end());
}

Session::Entry Session::make(const Arguments& arguments) {
  Entry entry{ArgumentsKey(arguments), {}, nullptr, {}};
  entry.report.arguments = entry.key.text();
  try {
    Recording recording = record(module_, state_, arguments);
    entry.report.recorded = static_cast<int64_t>(recording.list.calls.size());
    entry.report.reason = recording.reason;
    if (!recording.reason.empty()) return entry;
    for (const Tensor& tensor : recording.kept) entry.kept.emplace_back(tensor, tensor.version());
    CallList& list = recording.list;
    const InferenceMode ordinary(false);
    const NoGrad no_grad;
    entry.report.folded = fold_constants(list);
    rewrite(list, entry.report);
    for (const PreparePass& pass : options_.passes) pass(list);
    entry.report.dropped = drop_unused(list);
    entry.program = std::make_unique<Program>(std::move(list), entry.report);
  } catch (const Error& error) {
    if (error.kind() == TENON_ERROR_INTERRUPTED) throw;
    entry.report.reason = error.what();
    entry.program = nullptr;
  }
  return entry;
}

Session::Entry* Session::entry_for(const Arguments& arguments) {
  const std::string reason = reason_as_is(arguments);
  if (!reason.empty()) return run_as_is(reason), nullptr;
  std::string changed;
  switch (state_.update(changed)) {
    case ModelState::Change::none:
      break;
    case ModelState::Change::structure:
      entries_.clear();
      break;
    case ModelState::Change::elements:
      // A model that is still being changed would be listed at each call.
      entries_.clear();
      return run_as_is(format_text("'{}' has changed; the next run makes a new list", changed)),
             nullptr;
  }
  if (!state_.reason().empty()) return run_as_is(state_.reason()), nullptr;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!entry->key.matches(arguments)) continue;
    const auto changed_since = [](const auto& kept) {
      return kept.first.version() != kept.second ||
             service::tensors().use_count(kept.first.handle()) < 2;
    };
    if (std::any_of(entry->kept.begin(), entry->kept.end(), changed_since)) {
      entries_.erase(entry);
      break;
    }
    entries_.splice(entries_.begin(), entries_, entry);
    return &entries_.front();
  }
  entries_.push_front(make(arguments));
  if (entries_.size() > std::max<size_t>(options_.lists, 1)) entries_.pop_back();
  return &entries_.front();
}

bool Session::run_list(const Arguments& arguments, tenon_value* results, int64_t result_count) {
  Entry* const entry = entry_for(arguments);
  if (entry == nullptr) return false;
  if (entry->program == nullptr) return run_as_is(entry->report.reason);
  Program& program = *entry->program;
  if (result_count >= 0 && program.outputs() != static_cast<size_t>(result_count)) return false;
  if (program.changes_arguments()) {
    for (const tenon_tensor* tensor : tensors_) {
      constexpr uint32_t seen_elsewhere = TENON_TENSOR_VIEW | TENON_TENSOR_REQUIRES_GRAD;
      if ((tenon_tensor_get_view(tensor)->flags & seen_elsewhere) != 0)
        return run_as_is("the model changes an argument that is a view or requires grad");
    }
  }
  std::fill_n(results, detail::max_results, tenon_value{});
  try {
    if (program.run(tensors_.data(), results)) return true;
    entry->report.reason = "shapes of results depend on elements";
  } catch (const Error& error) {
    const bool again = !program.changed_operands() && error.kind() != TENON_ERROR_INTERRUPTED;
    if (program.writes_members()) entries_.pop_front();
    // The model raises it again, with the place in its own terms.
    if (!again) throw;
    return run_as_is(format_text("a call raised: {}", error.what()));
  }
  if (program.changed_operands()) {
    throw RuntimeError(
        "a prepared model gets other shapes from its ops than when it was prepared, and has "
        "changed an argument or a buffer already; call_as_is() runs it without a list");
  }
  entry->program = nullptr;
  return run_as_is(entry->report.reason);
}

void Session::run(const Arguments& arguments, tenon_value* results, int64_t result_count) {
  {
    const std::lock_guard lock(mutex_);
    if (run_list(arguments, results, result_count)) {
      ++listed_;
      return;
    }
    ++as_is_;
  }
  call_as_is(module_, arguments, results, result_count);
}

void Session::prepare(const Arguments& arguments) {
  const NoGrad no_grad;
  const std::lock_guard lock(mutex_);
  entry_for(arguments);
}

// ---- accounts ----

std::vector<PreparedList> Session::lists() const {
  const std::lock_guard lock(mutex_);
  std::vector<PreparedList> lists;
  for (const Entry& entry : entries_) lists.push_back(entry.report);
  return lists;
}
std::vector<std::string> Session::reasons() const {
  const std::lock_guard lock(mutex_);
  return reasons_;
}
int64_t Session::listed_runs() const {
  const std::lock_guard lock(mutex_);
  return listed_;
}
int64_t Session::runs_as_is() const {
  const std::lock_guard lock(mutex_);
  return as_is_;
}

}  // namespace prepared

TENON_NAMESPACE_END
