// Two providers of an op, each in a separate process, called with the same inputs.
#include "against.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include <tenon/listing/listing.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>

#include "call_reference.hpp"
#include "comparison.hpp"
#include "format.hpp"
#include "provider_call.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;
using tenon::Tensor;

// ---- which ops ----

namespace {

// Ids of plugins that provide an op of the plugin as well.
std::vector<std::string> other_providers(const Json& declarations) {
  std::set<std::string> ids;
  std::set<std::string> names;
  for (int64_t i = 0; i < declarations["ops"].size(); ++i)
    names.insert(declarations["ops"][i]["name"].text());
  const Json all = tenon::listing::ops();
  for (int64_t i = 0; i < all.size(); ++i) {
    if (names.count(all[i]["name"].text()) > 0) ids.insert(all[i]["provider"].text());
  }
  ids.erase(declarations["id"].text());
  return {ids.begin(), ids.end()};
}

[[noreturn]] void refuse(const std::string& what, const Json& declarations) {
  const std::vector<std::string> others = other_providers(declarations);
  throw tenon::ValueError(format_text(
      "--against: {}; {}", what,
      others.empty() ? std::string("give the file of a plugin that provides one of its ops")
                     : format_text("name one that provides ops of '{}' as well: {}",
                                   declarations["id"].text(), join(others, ", "))));
}

Json declarations_of(const std::string& provider, const Json& plugin) {
  try {
    return tenon::listing::declarations(provider);
  } catch (const tenon::Error& error) {
    refuse(error.what(), plugin);
  }
}

const Json* declared_in(const std::vector<Json>& all, const std::string& op, Json& found) {
  for (const Json& declarations : all) {
    const Json ops = declarations["ops"];
    for (int64_t i = 0; i < ops.size(); ++i) {
      if (ops[i]["name"].text() != op) continue;
      found = ops[i];
      return &declarations;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<SharedOp> shared_ops(const Json& declarations, const std::string& item,
                                 const std::vector<std::string>& providers) {
  const std::string id = declarations["id"].text();
  std::vector<Json> others;
  std::set<std::string> given;
  for (const std::string& provider : providers) {
    others.push_back(declarations_of(provider, declarations));
    if (others.back()["id"].text() == id)
      refuse(format_text("'{}' is the plugin itself", provider), declarations);
    if (!given.insert(others.back()["id"].text()).second)
      throw tenon::ValueError(
          format_text("--against: plugin '{}' is given twice; name it once", provider));
  }
  std::vector<SharedOp> all, chosen;
  std::set<std::string> used;
  for (const CheckTarget& target : check_targets(declarations, "")) {
    Json other;
    const Json* provider = target.kind == "op" ? declared_in(others, target.name, other) : nullptr;
    if (provider == nullptr) continue;
    all.push_back({target, (*provider)["id"].text(), other});
    used.insert(all.back().provider);
  }
  for (size_t i = 0; i < others.size(); ++i) {
    if (used.count(others[i]["id"].text()) == 0)
      refuse(format_text("plugin '{}' provides no op of '{}' that those before it do not",
                         providers[i], id),
             declarations);
  }
  const std::vector<CheckTarget> targets = check_targets(declarations, item);
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](const SharedOp& op) {
    return std::any_of(targets.begin(), targets.end(),
                       [&](const CheckTarget& target) { return target.name == op.target.name; });
  });
  if (chosen.empty())
    refuse(format_text("no plugin of {} provides '{}'", join(providers, ", "), item), declarations);
  return chosen;
}

// ---- recording ----

namespace {

constexpr size_t kMostSamplesCompared = 6;

// Gathers the samples of both definitions in turn; without any, generated ones, which `saved` has.
bool gather_samples(OpCheck& check, const SharedOp& shared, const std::string* saved) {
  std::vector<std::string> texts;
  for (const Json& declaration : {shared.target.declaration, shared.other}) {
    const std::string text = declaration["samples"].text();
    if (!text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(text);
  }
  if (texts.empty() && saved == nullptr) return find_samples(check);
  if (texts.empty()) texts.push_back(*saved);
  std::vector<std::vector<Sample>> lists;
  size_t longest = 0;
  for (const std::string& text : texts) {
    lists.push_back(parse_samples(text, check.op.parameters));
    longest = std::max(longest, lists.back().size());
  }
  for (size_t i = 0; i < longest; ++i) {
    for (std::vector<Sample>& list : lists) {
      if (i >= list.size() || check.samples.size() == kMostSamplesCompared) continue;
      Sample& sample = list[i];
      prepare_sample(sample,
                     format_text("{}/{}/{}/{}", check.settings.folder,
                                 saved == nullptr ? "recorded" : "compared", check.op.name,
                                 check.samples.size()),
                     check.settings.seed);
      apply_options(check.settings.options, sample);
      check.samples.push_back(std::move(sample));
    }
  }
  return !check.samples.empty();
}

// An op whose samples are a JSON text that both definitions may have given.
CheckedOp shared_op(const SharedOp& shared) {
  CheckedOp op = checked_op(shared.target.declaration);
  op.samples.clear();
  return op;
}

}  // namespace

void record_calls(const SharedOp& shared, const CheckSettings& settings, CheckListener& listener) {
  const CheckedOp op = shared_op(shared);
  OpCheck check(op, settings, listener);
  check.stage = "recording";
  listener.stage(check.stage);
  std::vector<CallOutcome> outcomes;
  try {
    if (!gather_samples(check, shared, nullptr)) return;
    for (const ProviderCase& which : provider_cases(check)) {
      listener.trying(check.samples[which.sample]);
      outcomes.push_back(ProviderCall(check, which).run());
    }
    save_outcomes(settings.folder, check, outcomes);
  } catch (const tenon::Error& error) {
    check.find("samples", error.what(), nullptr);
  }
}

// ---- comparing ----

namespace {

class OpComparison {
 public:
  OpComparison(OpCheck& check, const std::string& provider, const std::string& plugin)
      : check_(check), provider_(provider), plugin_(plugin), comparison_(provider, plugin) {}

  void compare(const ProviderCase& which, const CallOutcome& found) {
    const Sample& sample = check_.samples[which.sample];
    check_.listener.trying(sample);
    ProviderCall call(check_, which);
    const CallOutcome other = call.run();
    comparison_.add_call();
    if (found.refused_forward() && other.refused_forward()) return comparison_.add_refused();
    const bool left = note_declined(found);
    if (note_declined(other) || left) return;
    comparison_.add_compared();
    if (found.refusal.empty() != other.refusal.empty() ||
        found.refused_backward != other.refused_backward)
      find_refusal(call, found, other);
    if (found.refused_forward() || other.refused_forward()) return;
    if (found.others != other.others)
      return find(call,
                  format_text("is {}, from {} {}", join(found.others, ", "), provider_,
                              join(other.others, ", ")),
                  "a result");
    const bool gradients = found.refusal.empty() && other.refusal.empty();
    if (found.results.size() != other.results.size() ||
        (gradients && found.gradients.size() != other.gradients.size()))
      return find(call, "are of another number", "results or gradients");
    if (!gradients) call.leave_out_gradients();
    compare_tensors(call, found, other);
  }
  int64_t compared() const { return comparison_.compared(); }
  Json json() const { return comparison_.json(); }

 private:
  // Whether a provider under comparison has left the call to another one.
  bool note_declined(const CallOutcome& outcome) {
    bool left = false;
    for (const DeclinedCall& call : outcome.declined) {
      comparison_.add_declined(call.op, call.provider, call.reason, call.backward);
      left = left || (!call.backward && call.op == check_.op.name);
    }
    return left;
  }

  void find(const ProviderCall& call, const std::string& text, const std::string& what) {
    if (!check_.found.insert("provider-differs").second) return;
    check_.listener.finding(
        {"provider-differs", check_.stage, format_text("{} {}", what, text), call.json().dump()});
  }
  void find_refusal(const ProviderCall& call, const CallOutcome& found, const CallOutcome& other) {
    if (!check_.found.insert("provider-refuses").second) return;
    // One that refuses the call itself is named, also where the other one has no backward.
    const bool here = !found.refusal.empty() && !other.refused_forward();
    const CallOutcome& refusing = here ? found : other;
    check_.listener.finding(
        {"provider-refuses", check_.stage,
         format_text("{} refuses {} that {} takes: {}", here ? plugin_ : provider_,
                     refusing.refused_backward ? "the backward of a call" : "a call",
                     here ? provider_ : plugin_, refusing.refusal),
         call.json().dump()});
  }

  void compare_tensors(ProviderCall& call, const CallOutcome& found, const CallOutcome& other) {
    const Json described = call.json();
    double inputs = 0, seeds = 0;
    for (const Tensor& tensor : call.inputs())
      inputs += tensor.defined() ? static_cast<double>(tensor.numel()) : 0;
    for (const Tensor& tensor : call.seeds()) seeds += static_cast<double>(tensor.numel());
    const size_t gradients = std::min(found.gradients.size(), other.gradients.size());
    const bool equal = bytes_of(found.results) == bytes_of(other.results) &&
                       (gradients == 0 || bytes_of(found.gradients) == bytes_of(other.gradients));
    const double products = equal ? 0 : call.multiply_adds();
    // Equal bits need no reference.
    std::optional<CallReference> reference;
    if (!equal) reference.emplace(call, found.results.size(), gradients);
    const ReferenceNumbers none;
    const size_t own = found.results.size() - std::min(found.results.size(), call.changed().size());
    const auto look = [&](bool gradient, size_t i, const Tensor& a, const Tensor& b) {
      const std::string what =
          gradient  ? format_text("the gradient of '{}'", call.differentiable()[i])
          : i < own ? format_text("result {}", i)
                    : format_text("'{}' after the call", call.changed()[i - own]);
      const double size = a.defined() ? std::max<double>(1, static_cast<double>(a.numel())) : 1;
      const double terms = std::max(products, inputs + (gradient ? seeds : 0)) / size;
      const ReferenceNumbers& numbers = !reference ? none
                                        : gradient ? reference->gradient(i)
                                                   : reference->result(i);
      const std::string text = comparison_.compare(what, gradient, a, b, numbers, terms, described);
      if (!text.empty()) find(call, text, what);
    };
    for (size_t i = 0; i < found.results.size(); ++i)
      look(false, i, found.results[i], other.results[i]);
    for (size_t i = 0; i < gradients; ++i) look(true, i, found.gradients[i], other.gradients[i]);
  }

  OpCheck& check_;
  const std::string provider_, plugin_;
  Comparison comparison_;
};

bool draws(const OpCheck& check, const Sample& sample) {
  if (!sample.deterministic) return true;
  try {
    const SampleCall first = check.call_of(sample), second = check.call_of(sample);
    return !difference(pieces_of(first(first.tensors, 1)), pieces_of(second(second.tensors, 2)),
                       kExact)
                .empty();
  } catch (const tenon::Error&) {
    return false;
  }
}

}  // namespace

void compare_calls(const SharedOp& shared, const std::string& plugin, const CheckSettings& settings,
                   CheckListener& listener) {
  const CheckedOp op = shared_op(shared);
  OpCheck check(op, settings, listener);
  check.stage = "against";
  listener.stage(check.stage);
  SavedOutcomes saved;
  try {
    saved = load_outcomes(settings.folder, op.name);
    if (!gather_samples(check, shared, &saved.samples)) return;
  } catch (const tenon::Error& error) {
    return listener.skip(
        format_text("the calls of '{}' to compare with cannot be read: {}", plugin, error.what()));
  }
  const std::vector<ProviderCase> cases = provider_cases(check);
  if (cases.size() != saved.outcomes.size())
    return listener.skip(format_text("'{}' was called {} times in place of {}", plugin,
                                     saved.outcomes.size(), cases.size()));
  std::set<size_t> random;
  for (size_t s = 0; s < check.samples.size(); ++s) {
    if (draws(check, check.samples[s])) random.insert(s);
  }
  if (!random.empty())
    listener.note("what is drawn at random, or differs with each call, is not compared");
  OpComparison comparison(check, shared.provider, plugin);
  for (size_t i = 0; i < cases.size(); ++i) {
    if (random.count(cases[i].sample) == 0) comparison.compare(cases[i], saved.outcomes[i]);
  }
  if (comparison.compared() == 0)
    listener.skip(format_text("nothing was compared: {}",
                              random.size() == check.samples.size()
                                  ? "its results are random, or differ with each call"
                                  : "each call was declined, or refused by both"));
  listener.comparison(comparison.json());
  listener.samples(static_cast<int64_t>(check.samples.size()));
}

}  // namespace cli
