// Stage "operands" of overrides: operands of its types in every order, until it answers.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <tenon/runtime.hpp>
#include <tenon/trace.hpp>
#include <tenon/typed_tensor.hpp>

#include "format.hpp"
#include "override_check.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;
using tenon::Tensor;
using Kind = SampleValue::Kind;

namespace {

// Most calls of one order with one set of objects, and of all.
constexpr int kMostCalls = 400, kMostCallsOfAll = 4000;
constexpr size_t kMostOrders = 27, kMostCombinations = 36;

enum class Answer { not_asked, refused, declined, answered };

// The answer of the override in a traced call: the first event that names it, and what is inside.
Answer answer_in(const tenon::TraceScope& trace, const OverrideCheck& check, bool failed) {
  int64_t depth = -1;
  for (const std::string& line : trace.lines()) {
    const Json event = Json::parse(line);
    if (depth < 0) {
      const bool asked = event["event"].text() == "override" &&
                         event["what"].text() == format_text("override {}", check.key);
      if (asked) depth = event["depth"].integer();
    } else if (event["depth"].integer() <= depth) {
      break;
    } else if (event["event"].text() == "declined" && event["depth"].integer() == depth + 1 &&
               event["op"].text() == check.op.name && !event["provider"].is_text()) {
      return Answer::declined;
    }
  }
  if (depth < 0) return Answer::not_asked;
  return failed ? Answer::refused : Answer::answered;
}

class Orders {
 public:
  explicit Orders(OverrideCheck& check) : check_(check) {
    for (const DeclaredType& parameter : check.op.parameters) {
      if (parameter.is_tensor() && !parameter.is_out() && !parameter.has_default)
        operands_.push_back(&parameter);
    }
    for (const DeclaredType& parameter : check.op.parameters) {
      if (operands_.size() < check.types.size() && parameter.is_tensor() && !parameter.is_out() &&
          parameter.has_default)
        operands_.push_back(&parameter);
    }
  }

  void run() {
    for (const std::string& type : check_.types) {
      if (!gather(type, {})) return;
    }
    // Objects of several types have to fit each other.
    const auto shapes = shapes_;
    for (const std::string& type : check_.types) {
      for (const auto& [other, bases] : shapes) {
        if (other != type) gather(type, bases);
      }
    }
    std::vector<Operand> order;
    arrange(order);
    for (size_t i = 0; i < orders_.size(); ++i) {
      const auto left = static_cast<int>(orders_.size() - i);
      last_call_ = calls_of_all_ + (kMostCallsOfAll - calls_of_all_) / left;
      try_order(orders_[i]);
    }
    report();
  }

 private:
  // Another object of the same shape, so that two operands differ.
  ObjectSource varied(ObjectSource source) const {
    ObjectSource other = source;
    for (SampleValue& value : other.arguments.values) {
      if (value.kind == Kind::scalar && value.scalar.is_floating())
        value.scalar = tenon::Scalar(1.5 * value.scalar.to<double>() + 0.25);
    }
    try {
      const Tensor object = source.make(check_.settings.seed),
                   varied = other.make(check_.settings.seed);
      if (tenon::type_name(object) == tenon::type_name(varied) && object.sizes() == varied.sizes())
        return other;
    } catch (const tenon::Error&) {  // it takes the one number alone
    }
    return source;
  }

  // False: no object of the type was found.
  bool gather(const std::string& type, const std::vector<std::vector<int64_t>>& bases) {
    const Objects found = find_objects(
        type, check_.settings.seed, [&](const Sample& sample) { check_.listener.trying(sample); },
        bases);
    for (const ObjectSource& source : found.sources) {
      const ObjectSource& first = check_.sources.emplace_back(source);
      by_type_[type].push_back(&first);
      others_[&first] = &check_.sources.emplace_back(varied(source));
      const Tensor object = source.make(check_.settings.seed);
      shapes_[type].push_back(object.dim() > 0 ? object.sizes() : sizes_of_conversion(object));
    }
    if (by_type_[type].empty())
      check_.listener.skip(format_text("no object of {}: {}", type, found.reason));
    return !by_type_[type].empty();
  }
  static std::vector<int64_t> sizes_of_conversion(const Tensor& object) {
    const Tensor plain = readable(object);
    return plain.defined() ? plain.sizes() : std::vector<int64_t>();
  }

  // Every way to give each operand a type, in which all types of the override occur.
  void arrange(std::vector<Operand>& order) {
    if (order.size() < operands_.size()) {
      const DeclaredType& parameter = *operands_[order.size()];
      std::vector<std::string> choices = check_.types;
      choices.emplace_back("Tensor");
      if (parameter.base == "Tensor|Scalar" && !parameter.list) choices.emplace_back("Scalar");
      for (const std::string& type : choices) {
        order.push_back({parameter.name, type, nullptr});
        arrange(order);
        order.pop_back();
      }
      return;
    }
    const bool complete =
        std::all_of(check_.types.begin(), check_.types.end(), [&](const std::string& type) {
          return std::any_of(order.begin(), order.end(),
                             [&](const Operand& operand) { return operand.type == type; });
        });
    if (!complete) return;
    if (orders_.size() < kMostOrders)
      orders_.push_back(order);
    else
      cut_short_ = true;
  }

  void try_order(std::vector<Operand> order) {
    bool declined = false;
    size_t combinations = 1;
    for (const std::string& type : check_.types) combinations *= by_type_[type].size();
    for (size_t number = 0; number < std::min(combinations, kMostCombinations); ++number) {
      std::map<std::string, const ObjectSource*> chosen;
      size_t rest = number;
      for (const std::string& type : check_.types) {
        const std::vector<const ObjectSource*>& all = by_type_[type];
        chosen[type] = all[rest % all.size()];
        rest /= all.size();
      }
      std::set<std::string> seen;
      for (Operand& operand : order) {
        if (chosen.count(operand.type) == 0) continue;
        const ObjectSource* first = chosen[operand.type];
        operand.source = seen.insert(operand.type).second ? first : others_[first];
      }
      if (try_objects(order, declined)) return;
    }
    if (declined) declined_.push_back(order_text(order));
  }

  // The shape that plain operands are derived from.
  std::vector<int64_t> shape_beside(const std::vector<Operand>& order, tenon::DType& dtype) const {
    for (const Operand& operand : order) {
      if (operand.source == nullptr) continue;
      const Tensor object = operand.source->make(check_.settings.seed);
      const Tensor plain = plain_of(object);
      dtype = plain.defined() ? plain.dtype() : object.dtype();
      return plain.defined() ? plain.sizes() : object.sizes();
    }
    return {};
  }

  bool try_objects(const std::vector<Operand>& order, bool& declined) {
    std::vector<DeclaredType> parameters;
    Sample fixed;
    for (DeclaredType parameter : check_.op.parameters) {
      const auto operand = std::find_if(order.begin(), order.end(), [&](const Operand& given) {
        return given.parameter == parameter.name;
      });
      if (operand == order.end()) {
        parameters.push_back(std::move(parameter));
      } else if (operand->type == "Tensor") {
        parameter.has_default = parameter.optional = false;
        parameters.push_back(std::move(parameter));
      } else {
        fixed.values.push_back(fixed_value(parameter, *operand));
      }
    }
    tenon::DType dtype = tenon::f64;
    std::vector<std::vector<int64_t>> bases;
    try {
      bases.push_back(shape_beside(order, dtype));
    } catch (const tenon::Error& error) {
      refusal_ = error.what();
      return false;
    }
    if (bases[0].empty()) bases.insert(bases.begin(), {{2, 3}, {3}});
    // Generated tensors are of the object's dtype where that is a floating one.
    const auto whole = [&](Sample sample) {
      for (SampleValue& value : sample.values) {
        for (TensorSpec& spec : value.tensors) {
          if (spec.dtype == tenon::f64 && tenon::is_floating(dtype)) spec.dtype = dtype;
        }
      }
      sample.values.insert(sample.values.end(), fixed.values.begin(), fixed.values.end());
      std::stable_sort(sample.values.begin(), sample.values.end(),
                       [&](const SampleValue& a, const SampleValue& b) {
                         return place_of(a.name) < place_of(b.name);
                       });
      return AnsweredCall{order, std::move(sample)};
    };
    int calls = 0;
    const auto accepts = [&](const Sample& sample) {
      if (calls_of_all_ >= last_call_) cut_short_ = true;
      if (++calls > kMostCalls || calls_of_all_ >= last_call_) return false;
      ++calls_of_all_;
      const Answer answer = ask(whole(sample));
      declined = declined || answer == Answer::declined;
      return answer == Answer::answered;
    };
    const Generated generated = generate_samples(parameters, accepts, &refusal_, bases);
    if (generated.samples.empty() && refusal_.empty()) refusal_ = generated.reason;
    for (const Sample& sample : generated.samples) {
      check_.calls.push_back(whole(sample));
      apply_options(check_.settings.options, check_.calls.back().sample);
    }
    return !generated.samples.empty();
  }

  size_t place_of(const std::string& parameter) const {
    size_t place = 0;
    while (check_.op.parameters[place].name != parameter) ++place;
    return place;
  }

  static SampleValue fixed_value(const DeclaredType& parameter, const Operand& operand) {
    SampleValue value;
    value.name = parameter.name;
    if (operand.source == nullptr) {
      value.kind = Kind::scalar;
      value.scalar = tenon::Scalar(2.5);
      return value;
    }
    value.kind = parameter.list ? Kind::tensors : Kind::tensor;
    const int64_t count = parameter.list ? std::max<int64_t>(parameter.length, 2) : 1;
    value.tensors.resize(static_cast<size_t>(count));
    return value;
  }

  Answer ask(const AnsweredCall& call) {
    check_.listener.trying(call.report());
    const tenon::NoGrad off;
    std::optional<tenon::TraceScope> trace;
    bool failed = false;
    try {
      const SampleCall made = check_.call_of(call);
      const std::vector<Tensor> operands = check_.operands_of(call, made);
      trace.emplace(tenon::TraceFormat::json);
      made(operands);
    } catch (const tenon::Error& error) {
      refusal_ = error.what();
      failed = true;
    }
    if (!trace) return Answer::not_asked;
    const Answer answer = answer_in(*trace, check_, failed);
    any_refused_ = any_refused_ || answer == Answer::refused;
    return answer;
  }

  void report() {
    if (cut_short_) check_.listener.note("not every order got every call: there are too many");
    if (!check_.calls.empty()) {
      for (const std::string& order : declined_)
        check_.listener.note(format_text("it declines {}", order));
    } else if (!declined_.empty() && !any_refused_ && !cut_short_) {
      check_.find("no-answer", format_text("it declines {}", join(declined_, ", ")), nullptr);
    } else {
      check_.listener.skip(format_text(
          "no operands that it takes could be generated ({}); give the op that makes its objects "
          "`samples`",
          refusal_.empty() ? "no call reaches it" : refusal_));
    }
  }

  OverrideCheck& check_;
  std::vector<const DeclaredType*> operands_;
  std::map<std::string, std::vector<const ObjectSource*>> by_type_;
  std::map<const ObjectSource*, const ObjectSource*> others_;
  std::map<std::string, std::vector<std::vector<int64_t>>> shapes_;
  std::vector<std::string> declined_;
  std::string refusal_;  // the last one
  std::vector<std::vector<Operand>> orders_;
  int calls_of_all_ = 0, last_call_ = 0;  // the last one that an order may make
  bool any_refused_ = false, cut_short_ = false;
};

}  // namespace

void find_answers(OverrideCheck& check) { Orders(check).run(); }

}  // namespace cli
