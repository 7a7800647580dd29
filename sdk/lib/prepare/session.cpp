#include "session.hpp"

#include <algorithm>
#include <utility>

#include <tenon/grad_mode.hpp>
#include <tenon/runtime.hpp>

#include "arena.hpp"
#include "lib/base/format.hpp"
#include "passes.hpp"
#include "rule_set.hpp"
#include "saved_model.hpp"
#include "tensors.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

using lib::format_text;

Session::Session(Module module, PrepareOptions options, std::shared_ptr<NumberedConstants> numbered)
    : module_(std::move(module)),
      options_(std::move(options)),
      state_(module_),
      numbered_(std::move(numbered)) {}

Session::Session(std::shared_ptr<const SavedModel> saved)
    : state_(module_), saved_(std::move(saved)) {
  make_saved();
}

std::shared_ptr<Session> Session::clone() const {
  if (saved_ != nullptr) return std::make_shared<Session>(saved_);
  return std::make_shared<Session>(module_, options_, numbered_);
}

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

// Records with as few elements read as will do: which ones is found once for each layout. A model that
// takes another way for each number would be recorded at each call, so that the lists are counted.
Recording Session::record_list(const Arguments& arguments, Entry& entry) {
  auto known = std::find_if(reading_.begin(), reading_.end(),
                            [&](const Reading& one) { return one.key.matches(arguments); });
  if (known == reading_.end()) {
    Recording first = record(module_, state_, arguments, Readable::nothing);
    if (!first.raised) return first;
    Readable readable = Readable::nothing;
    for (const Readable more : {Readable::arguments, Readable::results}) {
      Recording other = record(module_, state_, arguments, more);
      if (!other.reason.empty()) continue;
      readable = more;
      first = std::move(other);
      break;
    }
    if (!first.reason.empty()) return first;
    reading_.push_front({ArgumentsKey(arguments), readable, 1});
    if (reading_.size() > most_lists()) reading_.pop_back();
    entry.key.add_numbers(arguments);
    return first;
  }
  if (known->made == most_lists()) {
    Recording none;
    none.reason = format_text("it takes another way for each of more than {} numbers that it reads",
                              known->made);
    return none;
  }
  ++known->made;
  entry.key.add_numbers(arguments);
  return record(module_, state_, arguments, known->readable);
}

// Ops may load plugins as they are called, with which all lists end that were begun before.
Recording Session::record_again(const Arguments& arguments, Entry& entry) {
  std::string changed;
  constexpr int most = 3;
  for (int tries = 1;; ++tries) {
    const uint64_t ops = service::calls().ops_generation();
    Recording recording = record_list(arguments, entry);
    if (service::calls().ops_generation() == ops || tries == most) return recording;
    entries_.clear();
    reading_.clear();
    entry.key = ArgumentsKey(arguments);
    state_.update(changed);
    release_cached_memory();
  }
}

Session::Entry Session::make(const Arguments& arguments, bool first) {
  Entry entry{ArgumentsKey(arguments), {}, nullptr, {}};
  fill(entry, arguments, first);
  entry.report.arguments = entry.key.text();
  entry.report.layouts = entry.key.layouts();
  return entry;
}

void Session::fill(Entry& entry, const Arguments& arguments, bool first) {
  try {
    Recording recording = first ? record_again(arguments, entry) : record_list(arguments, entry);
    entry.report.recorded = static_cast<int64_t>(recording.list.calls.size());
    entry.report.reason = recording.reason;
    if (!recording.reason.empty()) return;
    // The recording computed the whole model as it is: the program needs other blocks.
    release_cached_memory();
    for (const Tensor& tensor : recording.kept) entry.kept.emplace_back(tensor, tensor.version());
    CallList& list = recording.list;
    entry.report.recorded_peak_bytes =
        most_at_once(list, std::vector<bool>(list.calls.size(), false));
    entry.report.compared = static_cast<int64_t>(list.compared.size());
    const InferenceMode ordinary(false);
    const NoGrad no_grad;
    entry.report.folded = fold_constants(list);
    rewrite(list, entry.report);
    for (const PreparePass& pass : options_.passes) pass(list);
    entry.report.dropped = drop_unused(list);
    // Folding needed others again.
    release_cached_memory();
    entry.program = std::make_unique<Program>(std::move(list), entry.report, numbered_.get());
  } catch (const Error& error) {
    if (error.kind() == TENON_ERROR_INTERRUPTED) throw;
    entry.report.reason = error.what();
    entry.program = nullptr;
  }
}

bool Session::is_stale(const Entry& entry) {
  return std::any_of(entry.kept.begin(), entry.kept.end(), [](const auto& kept) {
    return kept.first.version() != kept.second ||
           service::tensors().use_count(kept.first.handle()) < 2;
  });
}

Session::Entry* Session::entry_for(const Arguments& arguments) {
  std::string reason = reason_as_is(arguments);
  if (reason.empty() && service::modes().watches() > 0)
    reason = "a watch sees the modules of this thread";
  if (!reason.empty()) return run_as_is(reason), nullptr;
  std::string changed;
  switch (state_.update(changed)) {
    case ModelState::Change::none:
      break;
    case ModelState::Change::structure:
      entries_.clear();
      reading_.clear();
      break;
    case ModelState::Change::elements:
      // A model that is still being changed would be listed at each call.
      entries_.clear();
      reading_.clear();
      return run_as_is(format_text("'{}' has changed; the next run makes a new list", changed)),
             nullptr;
  }
  if (!state_.reason().empty()) return run_as_is(state_.reason()), nullptr;
  if (const uint64_t policies = rewrites::policy_generation(); policies != rewrites_) {
    rewrites_ = policies;
    entries_.clear();
    reading_.clear();
  }
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!entry->key.matches(arguments)) continue;
    if (is_stale(*entry)) {
      entries_.erase(entry);
      break;
    }
    entries_.splice(entries_.begin(), entries_, entry);
    return &entries_.front();
  }
  return add(make(arguments, true));
}

Session::Entry* Session::add(Entry entry) {
  entries_.push_front(std::move(entry));
  if (entries_.size() > most_lists()) entries_.pop_back();
  return &entries_.front();
}

Session::Entry* Session::entry_like(const Entry& entry, const Arguments& arguments) {
  const auto is_for = [&](const Entry& other) {
    return other.program != nullptr && !is_stale(other) && other.key.matches(arguments) &&
           other.program->runs_like(*entry.program);
  };
  const auto found = std::find_if(entries_.begin(), entries_.end(), is_for);
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return &entries_.front();
  }
  Entry made = make(arguments, false);
  // One without a list is for all runs on these arguments.
  if (made.program != nullptr && !made.program->runs_like(*entry.program))
    return run_as_is("it computes otherwise each time"), nullptr;
  return add(std::move(made));
}

bool Session::run_list(const Arguments& arguments, tenon_value* results, int64_t result_count) {
  Entry* entry = entry_for(arguments);
  // One list can be for several comparisons, so that each is tried once or more.
  for (size_t tries = 0; entry != nullptr && tries < 2 * most_lists(); ++tries) {
    if (entry->program == nullptr) return run_as_is(entry->report.reason);
    const Ran ran = run_entry(*entry, results, result_count);
    if (ran != Ran::to_comparison) return ran == Ran::whole;
    entry = entry_like(*entry, arguments);
  }
  return entry != nullptr && run_as_is("it computes otherwise each time");
}

Session::Ran Session::run_entry(Entry& entry, tenon_value* results, int64_t result_count) {
  Program& program = *entry.program;
  const auto as_is = [this](const std::string& reason) {
    return run_as_is(reason), Ran::not_at_all;
  };
  if (result_count >= 0 && program.outputs() != static_cast<size_t>(result_count))
    return Ran::not_at_all;
  if (program.changes_arguments()) {
    for (const tenon_tensor* tensor : tensors_) {
      constexpr uint32_t seen_elsewhere = TENON_TENSOR_VIEW | TENON_TENSOR_REQUIRES_GRAD;
      if ((tenon_tensor_get_view(tensor)->flags & seen_elsewhere) != 0)
        return as_is("the model changes an argument that is a view or requires grad");
    }
  }
  std::fill_n(results, detail::max_results, tenon_value{});
  try {
    program.rehearse(rehearses_);
    const Program::End end = program.run(tensors_.data(), results);
    if (end == Program::End::done) {
      program.settle(entry.report);
      return Ran::whole;
    }
    if (end == Program::End::other_elements) return Ran::to_comparison;
    entry.report.reason = "shapes of results depend on elements";
  } catch (const Error& error) {
    const bool again = !program.changed_operands() && error.kind() != TENON_ERROR_INTERRUPTED;
    if (program.writes_members()) entries_.pop_front();
    // The model raises it again, with the place in its own terms.
    if (!again) throw;
    return as_is(format_text("a call raised: {}", error.what()));
  }
  if (program.changed_operands()) {
    throw RuntimeError(
        "a prepared model gets other shapes from its ops than when it was prepared, and has "
        "changed an argument or a buffer already; call_as_is() runs it without a list");
  }
  entry.program = nullptr;
  return as_is(entry.report.reason);
}

void Session::run(const Arguments& arguments, tenon_value* results, int64_t result_count) {
  if (saved_ != nullptr) return run_saved(arguments, results, result_count);
  {
    const std::lock_guard lock(mutex_);
    if (run_list(arguments, results, result_count)) {
      ++listed_;
      return;
    }
    ++as_is_;
  }
  call_as_is(module_, arguments, results, result_count);
  const std::lock_guard lock(mutex_);
  if (state_.has_moved()) state_.after_run_as_is();
}

void Session::prepare(const Arguments& arguments) {
  const NoGrad no_grad;
  const std::lock_guard lock(mutex_);
  // A plugin that is loaded meanwhile ends the calls that were prepared before.
  constexpr int most = 3;
  for (int tries = 0; tries < most; ++tries) {
    const uint64_t ops = service::calls().ops_generation();
    rehearse(arguments);
    if (service::calls().ops_generation() == ops) return;
  }
}

void Session::rehearse(const Arguments& arguments) {
  Entry* const entry = entry_for(arguments);
  if (entry == nullptr || entry->program == nullptr || entry->program->changes_arguments()) return;
  std::vector<Value> outputs;
  tenon_value results[detail::max_results] = {};
  rehearses_ = true;
  const Ran ran = run_entry(*entry, results, -1);
  rehearses_ = false;
  if (ran != Ran::whole) return;
  for (const tenon_value& result : results) outputs.emplace_back(result);
  // In the rehearsal each place had separate memory.
  release_cached_memory();
}

// ---- lists of files ----

void Session::make_saved() {
  const InferenceMode ordinary(false);
  const NoGrad no_grad;
  std::vector<std::string> providers;
  for (const SavedList& saved : saved_->lists)
    providers.insert(providers.end(), saved.providers.begin(), saved.providers.end());
  std::sort(providers.begin(), providers.end());
  providers.erase(std::unique(providers.begin(), providers.end()), providers.end());
  for (const std::string& provider : providers) load_plugin(provider);
  // Choosing among providers may load one that declines, with which the calls of before end.
  constexpr int most = 3;
  for (int tries = 0; tries < most; ++tries) {
    saved_ops_ = service::calls().ops_generation();
    make_saved_programs();
    if (service::calls().ops_generation() == saved_ops_) return;
  }
}

void Session::make_saved_programs() {
  entries_.clear();
  for (const SavedList& saved : saved_->lists) {
    Entry entry{saved.key, saved.report, nullptr, {}};
    entry.program = std::make_unique<Program>(saved.list, entry.report, nullptr);
    for (size_t i = 0; i < saved.providers.size(); ++i) {
      const PreparedCall& call = entry.report.calls[i];
      if (call.provider == saved.providers[i]) continue;
      throw PluginError(
          format_text("'{}' was prepared for {} of plugin {}, which plugin {} provides now: rank "
                      "the plugins as before, or prepare the model again",
                      saved_->path, call.op, saved.providers[i], call.provider));
    }
    entries_.push_back(std::move(entry));
  }
}

void Session::run_saved(const Arguments& arguments, tenon_value* results, int64_t result_count) {
  const std::lock_guard lock(mutex_);
  if (const std::string reason = reason_as_is(arguments); !reason.empty()) refuse_saved(reason);
  constexpr int most = 3;
  for (int tries = 1;; ++tries) {
    if (service::calls().ops_generation() != saved_ops_) {
      check_builds(saved_->path, saved_->plugins);
      make_saved();
    }
    std::string reason;
    try {
      reason = try_saved(arguments, results, result_count);
    } catch (...) {
      saved_ops_ = UINT64_MAX;  // a program that was left half done is not used again
      throw;
    }
    if (reason.empty()) break;
    // Ops that call others load plugins in the first run, with which all calls that are prepared end.
    const bool again = service::calls().ops_generation() != saved_ops_ && tries < most;
    saved_ops_ = UINT64_MAX;
    if (!again) refuse_saved(reason);
  }
  ++listed_;
}

void Session::refuse_saved(const std::string& reason) const {
  throw RuntimeError(
      format_text("the prepared model '{}' cannot be called: {}", saved_->path, reason));
}

// Why it is not done; empty where it is.
std::string Session::try_saved(const Arguments& arguments, tenon_value* results,
                               int64_t result_count) {
  const auto matching = [&](const Program* like) {
    return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.key.matches(arguments) &&
             (like == nullptr || (entry.program != nullptr && entry.program->runs_like(*like)));
    });
  };
  auto entry = matching(nullptr);
  if (entry == entries_.end()) {
    std::string known;
    for (const Entry& one : entries_) known += (known.empty() ? "" : "; ") + one.report.arguments;
    throw ValueError(
        format_text("the prepared model '{}' is for other arguments: it was prepared for {}, and "
                    "called with {}; prepare it for these, too",
                    saved_->path, known, ArgumentsKey(arguments).text()));
  }
  for (size_t tries = 0; tries < 2 * entries_.size() + 1; ++tries) {
    Entry& found = *entry;
    if (found.program == nullptr) return found.report.reason;
    const auto outputs = static_cast<int64_t>(found.program->outputs());
    if (result_count >= 0 && result_count != outputs)
      throw ValueError(format_text("the prepared model '{}' gives {} results, not {}", saved_->path,
                                   outputs, result_count));
    entries_.splice(entries_.begin(), entries_, entry);
    reasons_.clear();
    const Ran ran = run_entry(found, results, result_count);
    if (ran == Ran::whole) return {};
    if (ran == Ran::not_at_all) return reasons_.empty() ? "it has failed" : reasons_.back();
    entry = matching(found.program.get());
    if (entry == entries_.end())
      return "it goes by numbers that it was not prepared for: prepare it for such arguments, too";
  }
  return "it computes otherwise each time";
}

void Session::save(const std::string& path, const Json& notes) {
  const std::lock_guard lock(mutex_);
  if (saved_ != nullptr) {
    SavedModel copy = *saved_;
    copy.path = path;
    if (notes.defined()) copy.notes = notes;
    return write_saved(copy);
  }
  std::string changed;
  if (state_.update(changed) != ModelState::Change::none) {
    entries_.clear();
    reading_.clear();
  }
  SavedModel model;
  model.path = path;
  model.notes = notes;
  model.forward = module_.forward_schema();
  std::string reason = state_.reason();
  std::vector<std::string> plugins;
  for (const Entry& entry : entries_) {
    if (entry.program == nullptr || is_stale(entry)) {
      if (reason.empty()) reason = entry.report.reason;
      continue;
    }
    SavedList saved{entry.key, entry.report, entry.program->list(), {}};
    for (const PreparedCall& call : entry.report.calls) saved.providers.push_back(call.provider);
    plugins.insert(plugins.end(), saved.providers.begin(), saved.providers.end());
    for (const rewrites::Applied& one : entry.report.rewrites) {
      if (!one.plugin.empty()) plugins.push_back(one.plugin);
    }
    model.lists.push_back(std::move(saved));
  }
  if (model.lists.empty() || !state_.reason().empty())
    throw RuntimeError(format_text(
        "cannot save '{}': the model has no list of calls{}{}", path, reason.empty() ? "" : ": ",
        reason.empty() ? "; prepare it with examples, or call it" : reason));
  std::sort(plugins.begin(), plugins.end());
  plugins.erase(std::unique(plugins.begin(), plugins.end()), plugins.end());
  model.plugins = find_builds(plugins);
  write_saved(model);
}

std::string Session::forward_schema() const {
  return saved_ != nullptr ? saved_->forward : module_.forward_schema();
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
