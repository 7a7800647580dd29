// The parts that all derivatives of functions are made of: which arguments they are taken of, one run of
// a function that is recorded, and one that carries tangents.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/autograd.hpp"
#include "tenon/transforms/batched.hpp"
#include "tenon/transforms/structure.hpp"

TENON_NAMESPACE_BEGIN
namespace transforms {

// Arguments that a derivative is taken of, by their numbers: grad(f, argnums<0, 2>).
template <size_t... I>
struct Argnums {};
template <size_t... I>
inline constexpr Argnums<I...> argnums{};  // grad(f, argnums<0>)

// For functions that return a std::pair: of the result to differentiate, and of anything else, which
// the derivative returns as it is: grad(f, argnums<0>, has_aux).
struct HasAux {};
inline constexpr HasAux has_aux{};  // grad(f, argnums<0>, has_aux)
struct NoAux {};

namespace derived {

using Tensors = std::vector<Tensor>;

// The gradients of a run that has ended, as often as they are asked for. Counted; any thread.
class Pullback {
 public:
  // One gradient for each differentiated tensor, zeros where the results do not depend on it. `seeds`:
  // one for each result, of its shape. `last`: the graph is freed as it is used. `strict`: RuntimeError
  // in place of zeros. ValueError where seeds do not fit.
  Tensors operator()(const Tensors& seeds, bool last = false, bool strict = false) const;
  // The gradients of one result alone.
  Tensors of(size_t result, const Tensor& seed) const;
  // The gradients of one result for each of a batch of seeds, which is the first dimension of `seeds` and of
  // what is returned: one run backward within a vmap. Error where a rule takes no batched gradient.
  Tensors of_each(size_t result, const Tensor& seeds) const;
  const Tensors& results() const;

 private:
  friend class RecordedScope;
  struct State;
  Tensors pull(const std::vector<size_t>& results, const Tensors& seeds, bool last,
               bool strict) const;
  std::shared_ptr<State> state_;
};

// A scope that records what a function does with some of its arguments, apart from any recording
// around it: each argument is another tensor with the same elements, tangents and history. It records
// even under no_grad; then its derivatives have no history.
class RecordedScope {
 public:
  // `who` names the transform in messages. TypeError where an input is integer or undefined,
  // RuntimeError in inference mode.
  RecordedScope(const char* who, const Tensors& inputs);
  ~RecordedScope();
  RecordedScope(const RecordedScope&) = delete;
  RecordedScope& operator=(const RecordedScope&) = delete;
  // The arguments to run the function with.
  const Tensors& arguments() const { return arguments_; }
  // Ends the recording. TypeError where a result is undefined or not floating point.
  Pullback end(const Tensors& results);
  // A result as the caller gets it: without history that only leads to the arguments.
  Tensor value(const Tensor& result) const;

 private:
  class Scope;
  const char* who_;
  bool outside_ = false;  // whether the thread records outside of the scope
  std::unique_ptr<Scope> scope_;
  Tensors arguments_;
  std::shared_ptr<Pullback::State> state_;
};

// The one result of a function that `who` differentiates: TypeError, or ValueError, unless it is one
// real number.
void check_scalar(const char* who, const Tensors& results);

// A scope in which arguments carry tangents, at their level.
class Carrying {
 public:
  // TypeError and ValueError where tangents do not fit.
  Carrying(const char* who, const Tensors& primals, const Tensors& tangents);
  const Tensors& arguments() const { return arguments_; }
  // The result as it is outside of the scope, and its tangent, zeros where it has none.
  Dual open(const Tensor& result) const;

 private:
  const char* who_;
  Level around_;  // innermost vmap around the scope
  DualLevel level_;
  Tensors arguments_;
};

// ---- calls with some of the arguments replaced ----

template <class Nums>
struct Selection;
template <size_t First, size_t... I>
struct Selection<Argnums<First, I...>> {
  // The selected arguments: one as it is, several as a tuple.
  template <class Arguments>
  static auto of(const Arguments& arguments) {
    static_assert(First < std::tuple_size_v<Arguments> && ((I < std::tuple_size_v<Arguments>)&&...),
                  "argnums names an argument that the call does not have");
    if constexpr (sizeof...(I) == 0)
      return std::get<First>(arguments);
    else
      return std::make_tuple(std::get<First>(arguments), std::get<I>(arguments)...);
  }
  template <class Arguments>
  static void put(Arguments& arguments, const Tensors& tensors) {
    size_t next = 0;
    const auto visit = [&](Tensor& tensor) { tensor = tensors[next++]; };
    put_one<First>(arguments, visit);
    (put_one<I>(arguments, visit), ...);
  }

 private:
  template <size_t Index, class Arguments, class Visit>
  static void put_one(Arguments& arguments, const Visit& visit) {
    using Argument = std::tuple_element_t<Index, Arguments>;
    static_assert(
        Structure<Argument>::tensors,
        "a derivative is taken of arguments that hold tensors; leave others out of argnums");
    Structure<Argument>::visit(std::get<Index>(arguments), visit);
  }
};

// Results and aux of a call.
template <class Result, class Aux>
struct Outcome {
  Result result;
  Aux aux;
};
template <class Aux, class Function, class Arguments>
auto run(const Function& function, const Arguments& arguments) {
  auto returned = std::apply(function, arguments);
  using Returned = decltype(returned);
  if constexpr (std::is_same_v<Aux, HasAux>) {
    using Result = std::decay_t<decltype(returned.first)>;
    using Extra = std::decay_t<decltype(returned.second)>;
    static_assert(Structure<Result>::tensors,
                  "the function that is differentiated returns tensors");
    return Outcome<Result, Extra>{std::move(returned.first), std::move(returned.second)};
  } else {
    static_assert(
        Structure<Returned>::tensors,
        "the function that is differentiated returns tensors, or lists, tuples and maps of "
        "them");
    return Outcome<Returned, NoAux>{std::move(returned), {}};
  }
}
// `derivative` alone, or with the aux.
template <class Derivative, class Aux>
auto with_aux(Derivative derivative, Aux aux) {
  if constexpr (std::is_same_v<Aux, NoAux>)
    return derivative;
  else
    return std::pair<Derivative, Aux>(std::move(derivative), std::move(aux));
}

}  // namespace derived
}  // namespace transforms
TENON_NAMESPACE_END
