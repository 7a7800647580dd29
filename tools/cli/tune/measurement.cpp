// Measuring providers.
#include "measurement.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <tenon/autograd.hpp>
#include <tenon/runtime.hpp>

namespace cli {

namespace {

using tenon::Json;

constexpr int64_t kMostRepeats = 1000;

// One provider for one call.
struct Trial {
  size_t call;
  int64_t repeats = 1;
  std::vector<double> samples;
};
using Trials = std::map<std::string, std::vector<Trial>>;  // by provider

Json explained(const TunedCall& call, const TunedOp& op) {
  std::vector<tenon_string> names;
  for (size_t i = op.positional; i < op.parameters.size(); ++i)
    names.push_back(tenon::detail::string_of(op.parameters[i]));
  Json explanation;
  tenon::detail::check(tenon::service::ops().explain, tenon::Op(call.op).handle(),
                       call.arguments.data(), static_cast<int64_t>(op.positional),
                       static_cast<const tenon_string*>(names.data()),
                       call.arguments.data() + op.positional, static_cast<int64_t>(names.size()),
                       explanation.slot());
  return explanation;
}

void run(const TunedCall& call) {
  auto results = tenon::Results::of_count(tenon::detail::max_results);
  tenon::detail::check(tenon::service::ops().call, tenon::Op(call.op).handle(),
                       call.arguments.data(), static_cast<int64_t>(call.arguments.size()),
                       results.slots());
}

// The time of so many calls. Between them what a training changes is changed, so that no provider uses
// a copy of it that it could not use in a training.
double timed(const TunedCall& call, int64_t repeats, const std::function<double()>& now) {
  static const tenon::Op scale("mul_");
  double total = 0;
  for (int64_t i = 0; i < repeats; ++i) {
    for (const tenon::Tensor& tensor : call.changing) scale.call<tenon::Tensor>(tensor, 1);
    const double start = now();
    run(call);
    total += now() - start;
  }
  return total;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Measurement {
 public:
  Measurement(const CallRecorder& recorder, const MeasureOptions& options)
      : recorder_(recorder), options_(options) {
    for (const TunedCall& call : recorder.calls()) {
      measured_.push_back(
          {&call, explained(call, recorder.op(call.op))["answer"]["provider"].text(), {}, {}});
      for (const std::string& provider : recorder.op(call.op).providers) {
        providers_.insert(provider);
        prefer_[provider].insert(call.op);
      }
    }
  }

  std::vector<MeasuredCall> measure() {
    const tenon::NoGrad no_grad;
    for (const std::string& provider : providers_) find_taken(provider);
    const std::vector<std::string> order(providers_.begin(), providers_.end());
    const auto turns = static_cast<double>(options_.rounds) * static_cast<double>(order.size());
    double done = 0;
    for (int64_t round = 0; round < options_.rounds; ++round) {
      for (size_t i = 0; i < order.size(); ++i) {
        // Each begins a round as often as the others.
        take_turn(order[(i + static_cast<size_t>(round)) % order.size()]);
        if (options_.advance) options_.advance(++done / turns);
      }
    }
    for (auto& [provider, trials] : trials_) {
      for (Trial& trial : trials)
        measured_[trial.call].seconds[provider] = median(std::move(trial.samples));
    }
    return std::move(measured_);
  }

 private:
  // From here on the provider is asked first for all of its ops.
  void select(const std::string& provider) {
    tenon::JsonObject prefer;
    const Json preference =
        tenon::JsonObject().set("plugin", provider).set("when", tenon::JsonObject().json()).json();
    for (const std::string& op : prefer_[provider])
      prefer.set(op, tenon::JsonArray().add(preference).json());
    tenon::apply_policy(tenon::JsonObject()
                            .set("ops", tenon::JsonObject().set("prefer", prefer.json()).json())
                            .json());
  }

  // Which calls the provider takes, and how often each is made in a turn.
  void find_taken(const std::string& provider) {
    select(provider);
    for (size_t i = 0; i < measured_.size(); ++i) {
      stop_where_asked();
      MeasuredCall& one = measured_[i];
      if (prefer_[provider].count(one.call->op) == 0) continue;
      try {
        const Json explanation = explained(*one.call, recorder_.op(one.call->op));
        if (explanation["answer"]["provider"].text() != provider) {
          one.declined[provider] = reason_in(explanation, provider);
          continue;
        }
        run(*one.call);
        const double once = timed(*one.call, 1, options_.now);
        Trial trial{i, 1, {}};
        if (once < options_.least_seconds)
          trial.repeats =
              once <= 0 ? kMostRepeats
                        : std::min(kMostRepeats,
                                   static_cast<int64_t>(std::ceil(options_.least_seconds / once)));
        trials_[provider].push_back(std::move(trial));
      } catch (const tenon::Error& error) {
        if (error.kind() == TENON_ERROR_INTERRUPTED) throw;
        one.declined[provider] = error.what();
      }
    }
  }
  static std::string reason_in(const Json& explanation, const std::string& provider) {
    const Json declined = explanation["declined"];
    for (int64_t i = 0; i < declined.size(); ++i) {
      if (declined[i]["plugin"].text() == provider) return declined[i]["reason"].text();
    }
    return "it cannot be asked";
  }

  void take_turn(const std::string& provider) {
    select(provider);
    for (Trial& trial : trials_[provider]) {
      stop_where_asked();
      trial.samples.push_back(timed(*measured_[trial.call].call, trial.repeats, options_.now) /
                              static_cast<double>(trial.repeats));
    }
  }
  void stop_where_asked() const {
    if (options_.stop && options_.stop()) throw tenon::InterruptedError("interrupted");
  }

  const CallRecorder& recorder_;
  const MeasureOptions& options_;
  std::vector<MeasuredCall> measured_;
  std::set<std::string> providers_;
  std::map<std::string, std::set<std::string>> prefer_;  // ops by provider
  Trials trials_;
};

}  // namespace

std::vector<MeasuredCall> measure_calls(const CallRecorder& recorder,
                                        const MeasureOptions& options) {
  return Measurement(recorder, options).measure();
}

}  // namespace cli
