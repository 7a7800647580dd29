// Samples: how to compare, and what not to expect.
#include <algorithm>
#include <iterator>

#include <tenon/text.hpp>

#include "format.hpp"
#include "sample_reading.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;

void refuse_sample(const std::string& place, const std::string& what) {
  throw tenon::ValueError(format_text("samples{}: {}", place, what));
}

void refuse_kind(const std::string& place, const Json& document, const std::string& expected) {
  constexpr int64_t longest = 100;
  std::string found = document.dump();
  if (display_width(found) > longest) found = leading(found, longest) + "...";
  refuse_sample(place, format_text("found {}, expected {}", found, expected));
}

bool is_truth_value(const Json& document) {
  return document.defined() && !document.is_null() && !document.is_container() &&
         !document.is_text() && !document.is_number();
}

// No parameter bears these names.
void read_sample_options(const std::string& place, const Json& document, Sample& sample) {
  using Options = tenon::GradcheckOptions;
  struct Number {
    const char* name;
    double Options::*member;
  };
  struct Truth {
    const char* name;
    bool Options::*member;
  };
  struct Expectation {
    const char* name;
    bool Sample::*member;
  };
  constexpr Number numbers[] = {{"eps", &Options::eps},
                                {"atol", &Options::atol},
                                {"rtol", &Options::rtol},
                                {"nondet_tol", &Options::nondet_tol}};
  constexpr Truth truths[] = {{"check_undefined_grad", &Options::check_undefined_grad},
                              {"check_grad_dtypes", &Options::check_grad_dtypes},
                              {"check_batched_grad", &Options::check_batched_grad},
                              {"check_forward_ad", &Options::check_forward_ad},
                              {"check_backward_ad", &Options::check_backward_ad},
                              {"fast_mode", &Options::fast_mode}};
  constexpr Expectation expectations[] = {{"layouts", &Sample::layouts},
                                          {"precision", &Sample::precision},
                                          {"deterministic", &Sample::deterministic},
                                          {"mutation", &Sample::mutation},
                                          {"leaks", &Sample::leaks}};
  if (!document.is_object()) refuse_kind(place, document, "an object of options");
  std::vector<std::string> names;
  for (const Number& number : numbers) names.emplace_back(number.name);
  for (const Truth& truth : truths) names.emplace_back(truth.name);
  for (const Expectation& expectation : expectations) names.emplace_back(expectation.name);
  const auto is_number = [&](const std::string& option) {
    return std::any_of(std::begin(numbers), std::end(numbers),
                       [&](const Number& number) { return option == number.name; });
  };
  for (int64_t i = 0; i < document.size(); ++i) {
    const std::string option = document.key(i);
    bool known = false;
    for (const Number& number : numbers) {
      if (option != number.name || !document[i].is_number()) continue;
      sample.gradcheck.*number.member = document[i].number();
      known = true;
    }
    for (const Truth& truth : truths) {
      if (option != truth.name || !is_truth_value(document[i])) continue;
      sample.gradcheck.*truth.member = document[i].as_bool();
      known = true;
    }
    for (const Expectation& expectation : expectations) {
      if (option != expectation.name || !is_truth_value(document[i])) continue;
      sample.*expectation.member = document[i].as_bool();
      known = true;
    }
    if (known) continue;
    const std::string at = format_text("{}/{}", place, option);
    if (std::find(names.begin(), names.end(), option) != names.end())
      refuse_kind(at, document[i], is_number(option) ? "a number" : "true or false");
    refuse_sample(at, format_text("unknown option '{}'{}; the options are {}", option,
                                  tenon::suggestion(option, names), join(names, ", ")));
  }
}

void apply_options(const std::string& json, Sample& sample) {
  if (!json.empty()) read_sample_options("/check", Json::parse(json), sample);
}

}  // namespace cli
