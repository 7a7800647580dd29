// Stages of a rewrite: inputs in which its pattern occurs, and what both sides compute from them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "format.hpp"
#include "rewrite_check.hpp"
#include "tensors.hpp"
#include "text.hpp"

namespace cli {

namespace rewrites = tenon::rewrites;
using tenon::Tensor;
using Kind = SampleValue::Kind;

namespace {

constexpr size_t kMostCases = 6, kMostOfStage = 3;

// Cases that say something new: other shapes, or other values.
std::vector<RewriteCase> distinct(const std::vector<RewriteCase>& cases) {
  std::vector<RewriteCase> list;
  std::set<std::string> known;
  for (const RewriteCase& one : cases) {
    const std::string text = one.sample().dump() +
                             (one.constants.empty() ? "" : format_text("{}", one.constants.size()));
    if (known.insert(text).second) list.push_back(one);
  }
  // Empty tensors and single elements say little.
  std::stable_partition(list.begin(), list.end(), [](const RewriteCase& one) {
    return std::any_of(one.tensors.begin(), one.tensors.end(), [](const auto& tensors) {
      return !tensors.empty() && tensors.front().defined() && tensors.front().numel() > 1;
    });
  });
  return list;
}

std::vector<RewriteCase> read_samples(RewriteCheck& check, const std::string& samples) {
  std::vector<RewriteCase> cases;
  if (samples.empty()) return cases;
  for (const Sample& sample : parse_samples(samples, check.pattern.types())) {
    RewriteCase one;
    one.constants = least_constants(check.pattern);
    for (const RewriteSlot& slot : check.pattern.slots) {
      const auto found =
          std::find_if(sample.values.begin(), sample.values.end(),
                       [&](const SampleValue& value) { return value.name == slot.type.name; });
      SampleValue value;
      if (found != sample.values.end())
        value = *found;
      else if (const auto fallback = default_value(slot.type))
        value = *fallback;
      value.name = slot.type.name;
      one.values.push_back(std::move(value));
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

void add_cases(RewriteCheck& check, const std::vector<RewriteCase>& used) {
  check.cases.insert(check.cases.end(), used.begin(), used.end());
}

}  // namespace

bool find_rewrite_cases(RewriteCheck& check, const std::string& samples) {
  const char* const kind = "rewrite-result";
  std::vector<RewriteCase> given;
  try {
    given = read_samples(check, samples);
  } catch (const tenon::Error& error) {
    check.find("samples", error.what(), nullptr);
    return false;
  }
  for (const RewriteCase& one : given) {
    const std::vector<RewriteCase> used = check.compare(kind, {one});
    const Sample sample = one.sample();
    if (used.empty())
      check.find(
          "rewrite-unused",
          format_text("the rule is not used for its sample{}{}", check.refusals.empty() ? "" : ": ",
                      join({check.refusals.begin(), check.refusals.end()}, "; ")),
          &sample);
    add_cases(check, used);
  }
  std::vector<RewriteCase> inputs = find_inputs(check.pattern, check.settings.seed);
  add_cases(check, check.compare(kind, inputs));
  inputs.insert(inputs.begin(), given.begin(), given.end());
  // Conditions that do not hold may hold for inputs that are a little different.
  Choices choices(check.settings.seed + 1);
  constexpr int most_rounds = 16;
  constexpr size_t of_round = 48;
  for (int round = 0; round < most_rounds && check.cases.empty() && !inputs.empty(); ++round) {
    std::vector<RewriteCase> changed;
    for (size_t i = 0; i < of_round; ++i) {
      RewriteCase one = inputs[choices.below(inputs.size())];
      for (size_t times = 1 + choices.below(3); times > 0; --times)
        one = changed_case(check.pattern, one, choices);
      changed.push_back(std::move(one));
    }
    add_cases(check, check.compare(kind, changed));
  }
  if (check.cases.empty()) {
    if (inputs.empty() && given.empty())
      check.listener.skip(
          "no operands of the ops of its pattern are known: TENON_REWRITE_SAMPLES gives some");
    else if (check.found.empty() && !check.refusals.empty())
      check.find("rewrite-refused",
                 format_text("it fits, and is never used: {}",
                             join({check.refusals.begin(), check.refusals.end()}, "; ")),
                 nullptr);
    else if (check.found.empty())
      check.find(
          "rewrite-unused",
          format_text("none of {} inputs that the ops of the pattern take fits it", inputs.size()),
          nullptr);
    return false;
  }
  check.cases = distinct(check.cases);
  // Operands that need not be constants may be.
  std::vector<RewriteCase> constant;
  for (const RewriteCase& one : check.first(kMostCases)) {
    constant.push_back(one);
    constant.back().constants = most_constants(check.pattern, one);
  }
  check.compare(kind, constant);
  if (check.cases.size() > kMostCases) check.cases.resize(kMostCases);
  return true;
}

void check_rewrite_dtypes(RewriteCheck& check) {
  for (const RewriteCase& one : check.first(kMostOfStage))
    check.compare("rewrite-dtype", other_dtypes(one));
}

void check_rewrite_sizes(RewriteCheck& check) {
  for (const RewriteCase& one : check.first(kMostOfStage))
    check.compare("rewrite-size", other_sizes(check.pattern, one));
}

void check_rewrite_layouts(RewriteCheck& check) {
  std::vector<RewriteCase> cases;
  for (const RewriteCase& one : check.first(kMostOfStage)) {
    for (const bool single : {false, true}) {
      RewriteCase whole = one;
      for (SampleValue& value : whole.values) {
        for (TensorSpec& spec : value.tensors) {
          if (single && spec.dtype == tenon::f64) spec.dtype = tenon::f32;
        }
      }
      whole.fill(check.settings.seed);
      for (const Layout& layout : kLayouts) {
        // All operands, and each alone.
        for (size_t only = 0; only <= whole.tensors.size(); ++only) {
          RewriteCase other = whole;
          const bool all = only == whole.tensors.size();
          if (!all && whole.tensors[only].empty()) continue;
          for (size_t s = 0; s < other.tensors.size(); ++s) {
            if (!all && s != only) continue;
            for (Tensor& tensor : other.tensors[s]) tensor = layout.make(tensor);
          }
          other.with = format_text(
              "{} with {}", all ? "all operands" : format_text("'{}'", one.values[only].name),
              layout.name);
          cases.push_back(std::move(other));
        }
      }
    }
  }
  check.compare("rewrite-layout", cases);
}

namespace {

struct Numbers {
  const char* name;
  std::vector<double> list;
  bool bounded;  // tried where a bound is relative to the largest element, too
  double times_bound = 1;
};

std::vector<Numbers> special_numbers() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  return {{"some nan", {0.5, nan, -1.5, 2, nan}, true},
          {"infinite numbers", {0.5, inf, -1.5, -inf, 2}, true},
          {"zeros of both signs", {0.0, -0.0, 1, -1, -0.0}, true},
          {"zeros", {0.0}, true},
          {"negative zeros", {-0.0}, true},
          // The last bits of large sums decide which value a sigmoid takes behind them.
          {"large numbers", {3e4, -1e4, 2.5e4, 7, -5e3}, true, 10},
          {"small numbers", {3e-4, -1e-4, 2.5e-4, 1e-3, -5e-4}, true},
          {"negative numbers", {-0.5, -3, -1.25, -7}, true},
          {"halves and whole numbers", {0.5, 1.5, 2.5, -0.5, -1.5, -2, 3}, true},
          {"numbers that overflow", {3e38, -3e38, 1e38, 2e38, 1}, false},
          {"numbers at the limit of f64", {1.7e308, -1.7e308, 1e308, 1}, false},
          {"subnormal numbers", {1e-40, -3e-41, 2e-45, 1e-39}, false},
          {"subnormal numbers of f64", {5e-324, -1e-310, 3e-320, 1e-308}, false},
          {"nan, infinite numbers and zeros", {nan, inf, -inf, 0.0, -0.0, 1, -1}, false}};
}
std::vector<Numbers> special_integers() {
  constexpr double most = 0x1p63;
  return {{"negative and odd numbers", {-7, 7, -1, 3, -2, 5}, true},
          {"zeros and ones", {0, 1, 0, -1, 2}, true},
          {"large numbers", {most, -most, 0x1p53 + 2, -3, 0x1p31, 0x1p31 - 1}, true},
          {"numbers at the limits of narrow dtypes", {127, -128, 255, 32767, -32768, 64}, true}};
}

bool is_whole(tenon::DType dtype) { return !tenon::is_differentiable(dtype); }

// Cases with these numbers in place of the tensors' own, of all operands and of each alone.
void add_numbers(const RewriteCheck& check, const RewriteCase& given, const Numbers& numbers,
                 bool whole, std::vector<RewriteCase>& cases) {
  const auto takes = [&](size_t slot, const Tensor& tensor) {
    return !check.pattern.slots[slot].single && is_whole(tensor.dtype()) == whole &&
           tensor.dtype() != tenon::boolean && tensor.numel() > 0;
  };
  for (size_t only = 0; only <= given.tensors.size(); ++only) {
    const bool all = only == given.tensors.size();
    for (size_t turn = 0; turn < std::min<size_t>(3, numbers.list.size()); ++turn) {
      RewriteCase other = given;
      other.times_bound = numbers.times_bound;
      bool changed = false;
      for (size_t s = 0; s < other.tensors.size(); ++s) {
        if (!all && s != only) continue;
        for (Tensor& tensor : other.tensors[s]) {
          if (!takes(s, tensor)) continue;
          // Operands meet in other pairs at each turn.
          std::vector<double> list = numbers.list;
          std::rotate(list.begin(),
                      list.begin() + static_cast<std::ptrdiff_t>((turn * (s + 1)) % list.size()),
                      list.end());
          if (!all)
            std::rotate(list.begin(),
                        list.begin() + static_cast<std::ptrdiff_t>(turn % list.size()), list.end());
          tensor = with_elements(tensor, list);
          changed = true;
        }
      }
      if (!changed) break;
      other.with = format_text("{} of {}",
                               all ? "all operands" : format_text("'{}'", given.values[only].name),
                               numbers.name);
      cases.push_back(std::move(other));
    }
  }
}

RewriteCase in_dtype(const RewriteCheck& check, const RewriteCase& given, tenon::DType dtype) {
  RewriteCase other = given;
  for (SampleValue& value : other.values) {
    for (TensorSpec& spec : value.tensors) {
      if (tenon::is_differentiable(spec.dtype)) spec.dtype = dtype;
    }
  }
  other.fill(check.settings.seed);
  return other;
}

}  // namespace

void check_rewrite_numbers(RewriteCheck& check) {
  for (const RewriteCase& one : check.first(kMostOfStage)) {
    std::vector<RewriteCase> cases;
    for (const tenon::DType dtype : {tenon::f64, tenon::f32, tenon::f16}) {
      const RewriteCase given = in_dtype(check, one, dtype);
      for (const Numbers& numbers : special_numbers()) {
        if (check.rule.bound == 0 || (numbers.bounded && dtype != tenon::f16))
          add_numbers(check, given, numbers, false, cases);
      }
    }
    for (const tenon::DType dtype : {tenon::i64, tenon::i32, tenon::i8, tenon::u8}) {
      const RewriteCase given = in_dtype(check, one, dtype);
      for (const Numbers& numbers : special_integers())
        add_numbers(check, given, numbers, true, cases);
    }
    check.compare("rewrite-number", cases);
  }
}

void check_rewrite_conditions(RewriteCheck& check) {
  std::vector<RewriteCase> cases;
  for (const RewriteCase& one : check.first(kMostCases)) {
    const std::vector<RewriteCase> others = other_attributes(check.pattern, one);
    cases.insert(cases.end(), others.begin(), others.end());
  }
  check.compare("rewrite-condition", cases);
  // Two or three changes at once.
  Choices choices(check.settings.seed + 2);
  constexpr size_t of_stage = 240;
  std::vector<RewriteCase> changed;
  for (size_t i = 0; i < of_stage; ++i) {
    RewriteCase one = check.cases[choices.below(check.cases.size())];
    for (size_t times = 2 + choices.below(2); times > 0; --times)
      one = changed_case(check.pattern, one, choices);
    if (choices.below(3) == 0) one.constants = most_constants(check.pattern, one);
    changed.push_back(std::move(one));
  }
  check.compare("rewrite-condition", changed);
}

void check_rewrite_uses(RewriteCheck& check) {
  for (const RewriteUse use :
       {RewriteUse::shown, RewriteUse::inner_read, RewriteUse::inner_shown,
        RewriteUse::then_written, RewriteUse::result_written, RewriteUse::written_between})
    check.compare("rewrite-use", check.first(2), use);
}

// Rules that undo each other, of this and of other plugins.
void check_rewrite_beside_others(RewriteCheck& check) {
  RewriteLists lists(check.pattern, check.rule);
  for (RewriteCase& one : check.first(kMostOfStage)) {
    one.fill(check.settings.seed);
    lists.add(one, RewriteUse::read);
  }
  if (lists.size() == 0) return;
  const rewrites::Account account = lists.apply(true);
  for (const std::string& refusal : account.refused) {
    const size_t end = refusal.find(": stopped, since");
    if (end == refusal.npos || refusal.substr(0, end).find(check.rule.name) == refusal.npos)
      continue;
    check.find("rewrite-endless", format_text("{}\nthe rule: {}", refusal, check.rule.text),
               nullptr);
  }
}

}  // namespace cli
