// Rematerialisation: what backward needs of a function is computed again instead of kept.
//
//   const Tensor y = checkpoint(layer, x);          // a module, or any function of tensors
//
// While the function runs, the tensors that its ops save for backward are dropped; its arguments are
// kept. The first use of one in a backward runs the function once more, with the random numbers of the
// first run, and keeps what that saves until it is used. Checkpoints nest: the arguments of an inner one
// are computed again by the outer one. The second run has to call the same ops on the same shapes:
// RuntimeError names the op that differs. Gradients of every order, forward mode over them and
// retain_graph work as without. In a vmap, which backward may outlive, everything is kept. Use it where the
// memory of activations is the limit: time grows by that of another forward.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/module.hpp"
#include "tenon/transforms/structure.hpp"

TENON_NAMESPACE_BEGIN
namespace transforms {
namespace recompute {

// Runs the function on some of its arguments.
using Run = std::function<void(const std::vector<Tensor>& arguments)>;
// One run of a function, from the construction to its end: what ops save meanwhile is dropped, and
// `again` runs when a backward needs it, with the tangents that the arguments have now. Arguments must not
// be changed in place between: InplaceError. Does nothing where recording is off. Scopes of a thread
// end in the reverse order.
class Running {
 public:
  // Begins the run.
  Running(Run again, std::vector<Tensor> arguments);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  // The function has returned.
  void end();

 private:
  struct State;
  std::unique_ptr<State> state_;
};
// Runnings that have begun on this thread and drop what is saved.
int64_t count_begun();
// Runs `first` in a Running.
void run(const std::function<void()>& first, Run again, std::vector<Tensor> arguments);
// From now on every call of the module is a Running. Its hooks run again with it; its buffers are changed
// once. Calls throw TypeError for inputs other than tensors and numbers.
void recompute_calls(const Module& module);
// A scope that puts the module's buffers back where they were changed: a second run counts no
// statistics again.
class KeptBuffers {
 public:
  explicit KeptBuffers(const Module& module);  // restores them when destroyed
  ~KeptBuffers();
  KeptBuffers(const KeptBuffers&) = delete;
  KeptBuffers& operator=(const KeptBuffers&) = delete;

 private:
  struct Kept {
    Tensor buffer, value;
    int64_t version;
  };
  std::vector<Kept> kept_;
};

}  // namespace recompute

// The results of the function for these arguments, which are copied: tensors, or lists, tuples and maps
// of them, and other values. Throws what the function throws. Calling thread; backward may run on
// another one.
template <class Function, class... Arguments>
auto checkpoint(const Function& function, const Arguments&... arguments) {
  using Own = std::tuple<std::decay_t<Arguments>...>;
  const Own own(arguments...);
  using Result = decltype(std::apply(function, own));
  std::optional<Result> result;
  recompute::run(
      [&] { result.emplace(std::apply(function, own)); },
      [function, structure = with_tensors(own, std::vector<Tensor>(tensors_of(own).size()))](
          const std::vector<Tensor>& tensors) {
        const Own again = with_tensors(structure, tensors);
        if constexpr (std::is_same_v<Function, Module>) {
          const recompute::KeptBuffers kept(function);
          std::apply(function, again);
        } else {
          std::apply(function, again);
        }
      },
      tensors_of(own));
  return std::move(*result);
}

}  // namespace transforms
TENON_NAMESPACE_END
