// Rules that are expressions: ops on the operands of the call as they are.
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transforms/families.hpp"

namespace tenon_transforms {

using namespace tenon;
using transforms::BatchRule;
using transforms::RuleTerm;

namespace {

class Evaluation {
 public:
  Evaluation(const BatchRule& rule, const BatchCall& batch) : rule_(rule), batch_(batch) {}

  Results results() {
    if (rule_.expression.kind != RuleTerm::Kind::call || rule_.expression.integer >= 0) {
      const tenon_value value = evaluate(rule_.expression);
      if (value.tag != TENON_VALUE_TENSOR) fail("its value is not a tensor");
      return Results(Tensor::borrow(value.as.tensor));
    }
    return call(rule_.expression);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw ValueError("the batch rule '" + rule_.text + "' of plugin '" + rule_.provider +
                     "': " + what + "; fix the rule");
  }

  tenon_value evaluate(const RuleTerm& term) {
    switch (term.kind) {
      case RuleTerm::Kind::call:
        return first(term);
      case RuleTerm::Kind::name:
        return parameter(term.text);
      case RuleTerm::Kind::integer:
        return Argument(term.integer).value();
      case RuleTerm::Kind::number:
        return Argument(term.number).value();
      case RuleTerm::Kind::boolean:
        return Argument(term.integer != 0).value();
      case RuleTerm::Kind::text:
        return Argument(std::string_view(term.text)).value();
      case RuleTerm::Kind::list:
        return list(term);
      default:
        return tenon_value{};
    }
  }

  tenon_value parameter(const std::string& name) {
    // In the order of the schema.
    for (size_t i = 0; i < rule_.parameters.size(); ++i) {
      if (rule_.parameters[i] != name) continue;
      const size_t position = place(name, i);
      const Operand* const operand = batch_.operand(position);
      // Other handles: a call of the same op on one of this call would count as endless recursion.
      if (operand != nullptr && operand->batched)
        return keep(make<Batched>(operand->inner, batch_.level()));
      if (operand != nullptr) return keep(operand->inner);
      return batch_.argument(position);
    }
    fail("'" + name + "' is not one of its parameters");
  }

  // A parameter is the one of that name, else that of its position.
  size_t place(const std::string& name, size_t index) const {
    const int named = batch_.plan().position(name);
    if (named >= 0) return static_cast<size_t>(named);
    if (index >= batch_.plan().parameters.size()) fail("it has more parameters than the op");
    return index;
  }

  tenon_value list(const RuleTerm& term) {
    std::vector<Tensor> tensors;
    std::vector<int64_t> numbers;
    for (const RuleTerm& element : term.terms) {
      const tenon_value value = evaluate(element);
      if (value.tag == TENON_VALUE_TENSOR)
        tensors.push_back(Tensor::borrow(value.as.tensor));
      else if (value.tag == TENON_VALUE_INT)
        numbers.push_back(value.as.integer);
      else
        fail("a list holds tensors or whole numbers");
    }
    if (!tensors.empty()) return Argument(lists_.emplace_back(std::move(tensors))).value();
    return Argument(numbers_.emplace_back(std::move(numbers))).value();
  }

  tenon_value keep(Tensor tensor) {
    return Argument(kept_.emplace_back(std::move(tensor))).value();
  }

  // Facts about one sample: shape(x), size(x, -1), rank(x).
  std::optional<tenon_value> fact(const RuleTerm& term) {
    if (term.text != "shape" && term.text != "size" && term.text != "rank") return std::nullopt;
    const tenon_value value = term.terms.empty() ? tenon_value{} : evaluate(term.terms[0]);
    if (value.tag != TENON_VALUE_TENSOR) fail(term.text + " needs a tensor");
    const Tensor tensor = Tensor::borrow(value.as.tensor);
    if (term.text == "shape") return Argument(numbers_.emplace_back(tensor.sizes())).value();
    if (term.text == "rank") return Argument(tensor.dim()).value();
    const tenon_value dim = term.terms.size() < 2 ? tenon_value{} : evaluate(term.terms[1]);
    if (dim.tag != TENON_VALUE_INT) fail("size needs a dimension");
    return Argument(tensor.size(dim.as.integer)).value();
  }

  // The result of a call that another one takes.
  tenon_value first(const RuleTerm& term) {
    if (const std::optional<tenon_value> known = fact(term)) return *known;
    Results results = call(term);
    const int64_t index = term.integer < 0 ? 0 : term.integer;
    if (index >= results.size()) fail(term.text + " has no result " + std::to_string(index));
    return values_.emplace_back(results.take(index)).get();
  }

  Results call(const RuleTerm& term) {
    const Op op(term.text);
    std::vector<tenon_value> values, named;
    std::vector<tenon_string> keywords;
    for (size_t i = 0; i < term.terms.size(); ++i) {
      const tenon_value value = evaluate(term.terms[i]);
      if (term.keywords[i].empty()) {
        values.push_back(value);
      } else {
        keywords.push_back(detail::string_of(term.keywords[i]));
        named.push_back(value);
      }
    }
    Results results = Results::of_count(service::ops().result_count(op.handle()));
    detail::check(service::ops().call_keywords, op.handle(), values.data(),
                  static_cast<int64_t>(values.size()), keywords.data(), named.data(),
                  static_cast<int64_t>(named.size()), results.slots());
    return results;
  }

  const BatchRule& rule_;
  const BatchCall& batch_;
  std::deque<Tensor> kept_;
  std::deque<Value> values_;
  std::deque<std::vector<Tensor>> lists_;
  std::deque<std::vector<int64_t>> numbers_;
};

}  // namespace

Results run_expression(const BatchRule& rule, const BatchCall& batch) {
  return Evaluation(rule, batch).results();
}

}  // namespace tenon_transforms
