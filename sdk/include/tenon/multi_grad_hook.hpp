// One hook for the gradients of several tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/hooks.hpp"

TENON_NAMESPACE_BEGIN

// Hooks on several tensors that are removed together.
class MultiHook {
 public:
  explicit MultiHook(std::vector<Hook> hooks) : hooks_(std::move(hooks)) {}  // one for each tensor
  void remove() const {  // removes it from all tensors
    for (const Hook& hook : hooks_) hook.remove();
  }

 private:
  std::vector<Hook> hooks_;
};

enum class MultiHookMode {  // when it runs
  all,  // once for each backward, when every gradient that it takes to the tensors is there
  any   // once for each backward, at the first of them
};

// `function(const std::vector<Tensor>& gradients)`, in the order of `tensors`, undefined where none
// came; with `any` only the one that came is defined. Every tensor must require grad.
template <class Function>
MultiHook register_multi_grad_hook(const std::vector<Tensor>& tensors, Function&& function,
                                   MultiHookMode mode = MultiHookMode::all) {
  // The progress of one backward; several may run at once.
  struct Round {
    int64_t backward;
    size_t left;  // gradients still to come; 0: nothing more is to be done
    std::vector<Tensor> gradients;
  };
  struct Shared {
    Shared(Function&& f, MultiHookMode m) : function(static_cast<Function&&>(f)), mode(m) {}
    std::decay_t<Function> function;
    MultiHookMode mode;
    std::vector<Hook> hooks;
    std::mutex mutex;
    std::vector<Round> rounds;  // the last few, in the order of their begin
  };
  static constexpr size_t kept_rounds = 64;
  const auto shared = std::make_shared<Shared>(static_cast<Function&&>(function), mode);
  for (size_t i = 0; i < tensors.size(); ++i) {
    shared->hooks.push_back(tensors[i].register_hook([shared, i](const Tensor& gradient) {
      if (shared->mode == MultiHookMode::any && !gradient.defined()) return;
      const int64_t backward = service::graph().backward_id();
      std::vector<Tensor> gradients;
      {
        const std::lock_guard<std::mutex> lock(shared->mutex);
        std::vector<Round>& rounds = shared->rounds;
        size_t at = 0;
        while (at < rounds.size() && rounds[at].backward != backward) ++at;
        if (at == rounds.size()) {
          size_t left = 0;
          for (const Hook& hook : shared->hooks) left += hook.awaited() ? 1 : 0;
          if (shared->mode == MultiHookMode::any) left = 1;
          if (at == kept_rounds) {
            rounds.erase(rounds.begin());
            --at;
          }
          rounds.push_back({backward, left, std::vector<Tensor>(shared->hooks.size())});
        }
        Round& round = rounds[at];
        if (round.left == 0) return;
        round.gradients[i] = gradient;
        if (--round.left != 0) return;
        gradients.swap(round.gradients);
      }
      shared->function(const_cast<const std::vector<Tensor>&>(gradients));
    }));
  }
  return MultiHook(shared->hooks);
}

TENON_NAMESPACE_END
