// Functions that run again when backward needs what they saved.
#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>

#include <tenon/autograd.hpp>
#include <tenon/kernel/shape.hpp>
#include <tenon/module_hooks.hpp>
#include <tenon/parallel.hpp>
#include <tenon/saved_tensors.hpp>
#include <tenon/transforms/checkpoint.hpp>

TENON_NAMESPACE_BEGIN
namespace transforms::recompute {

// Named, because Running, which is not of this file alone, has a Region.
namespace regions {

class Region;

// Work of the thread on a region; inner checkpoints ask for it.
enum class Phase : uint8_t {
  first,    // the function runs for its results
  again,    // it runs for what its ops save
  passing,  // it runs again for the function around it
};
struct Present {
  Region* region;
  Phase phase;
};
static thread_local Present present{nullptr, Phase::first};

class PresentScope {
 public:
  PresentScope(Region* region, Phase phase) : before_(std::exchange(present, {region, phase})) {}
  ~PresentScope() { present = before_; }
  PresentScope(const PresentScope&) = delete;
  PresentScope& operator=(const PresentScope&) = delete;

 private:
  Present before_;
};

// The scopes of a run, as long as it lives.
template <class Pack, class Unpack>
struct Open {
  Open(Region* region, Phase phase, Pack pack, Unpack unpack)
      : present_scope(region, phase), hooks(std::move(pack), std::move(unpack)) {}
  PresentScope present_scope;
  SavedTensorsHooks<Pack, Unpack> hooks;
};

// The tensor that an op saved, by its facts.
struct Saved {
  std::string op;
  DType dtype;
  std::vector<int64_t> shape;
  bool operator==(const Saved& other) const {
    return op == other.op && dtype == other.dtype && shape == other.shape;
  }
  std::string text() const {
    return std::string(dtype_text(dtype)) + " " +
           kernel::shape_text({shape.data(), static_cast<int64_t>(shape.size())}) + " of " + op;
  }
};

// One run of a function whose saved tensors were dropped. All regions of an outermost one share its
// lock, so that any thread may use them.
class Region : public std::enable_shared_from_this<Region> {
 public:
  Region(Region* around, Run again, std::vector<Tensor> arguments)
      : around_(around == nullptr ? nullptr : around->shared_from_this()),
        mutex_(around == nullptr ? std::make_shared<std::recursive_mutex>() : around->mutex_),
        draws_(generator_state()) {
    remember(std::move(again), std::move(arguments));
  }

  // Scopes of the first run.
  std::shared_ptr<void> open_first() {
    const auto pack = [region = shared_from_this()](const Tensor& tensor, const char* op) {
      return Kept{region, region->add(tensor, op)};
    };
    const auto unpack = [](const Kept& kept) { return kept.region->take(kept.index); };
    return std::make_shared<Open<decltype(pack), decltype(unpack)>>(this, Phase::first, pack,
                                                                    unpack);
  }
  void close_first() {
    running_ = false;
    computed_.clear();
    // From now on this function computes the arguments of those inside again.
    for (const std::weak_ptr<Region>& each : inner_) {
      if (const std::shared_ptr<Region> inner = each.lock()) inner->forget_function();
    }
  }

  // An inner checkpoint of the first run.
  void add_inner(const std::shared_ptr<Region>& inner) { inner_.push_back(inner); }
  // The inner checkpoint that a second run has reached; null when its graph is gone.
  std::shared_ptr<Region> next_inner() {
    if (next_inner_ == inner_.size())
      throw RuntimeError(
          "checkpoint: the second run has an inner checkpoint that the first run did not have; the "
          "function has to do the same each time");
    return inner_[next_inner_++].lock();
  }
  // Scopes of a run on the way to what follows.
  static std::shared_ptr<void> open_passing(Region* region) {
    const auto same = [](const Tensor& tensor) { return tensor; };
    return std::make_shared<Open<decltype(same), decltype(same)>>(region, Phase::passing, same,
                                                                  same);
  }
  void remember(Run again, std::vector<Tensor> tensors) {
    again_ = std::move(again);
    arguments_.clear();
    for (Tensor& tensor : tensors) {
      const int64_t version = tensor.defined() ? tensor.version() : 0;
      Tensor tangent = tensor.defined() ? unpack_dual(tensor).tangent : Tensor();
      arguments_.push_back({std::move(tensor), std::move(tangent), version});
    }
  }

 private:
  struct Kept {
    std::shared_ptr<Region> region;
    size_t index;
  };
  struct Argument {
    Tensor tensor;
    Tensor tangent;  // at the innermost level, if it carries one there
    int64_t version;
  };

  size_t add(const Tensor& tensor, const char* op) {
    const std::lock_guard lock(*mutex_);
    saved_.push_back({op, tensor.dtype(), tensor.sizes()});
    computed_.push_back(tensor);
    return saved_.size() - 1;
  }

  void forget_function() {
    again_ = nullptr;
    arguments_.clear();
  }

  Tensor take(size_t index) {
    const std::lock_guard lock(*mutex_);
    if (running_) return computed_[index];
    if (computed_.size() <= index || !computed_[index].defined()) run_again();
    return std::move(computed_[index]);
  }

  // With the tangents of the first run: at their level while it is open, else at another one that is opened for it.
  void call_again() const {
    std::vector<Tensor> tensors;
    bool closed = false;
    for (const Argument& argument : arguments_) {
      tensors.push_back(argument.tensor);
      closed = closed || (argument.tangent.defined() &&
                          !unpack_dual(argument.tensor).tangent.is_same(argument.tangent));
    }
    if (!closed) return again_(tensors);
    const DualLevel level;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (arguments_[i].tangent.defined())
        tensors[i] = make_dual(tensors[i], arguments_[i].tangent);
    }
    again_(tensors);
  }

  void run_again() {
    if (!again_ && around_ != nullptr) around_->run_again();
    if (!again_)
      throw RuntimeError(
          "checkpoint: the function around this one did not run it again; it has to do the same "
          "each time");
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const Argument& argument = arguments_[i];
      if (argument.tensor.defined() && argument.tensor.version() != argument.version)
        throw InplaceError("checkpoint: argument tensor " + std::to_string(i) +
                           " was changed in place after the first run; change a clone of it");
    }
    computed_.clear();
    next_inner_ = 0;
    const Draws later = generator_state();
    set_generator_state(draws_);
    try {
      const PresentScope scope(this, Phase::again);
      const EnableGrad recorded;
      const SavedTensorsHooks hooks(
          [this](const Tensor& tensor, const char* op) {
            keep(tensor, op);
            return tensor;
          },
          // By a backward within the function, or through the history of a tangent.
          [](const Tensor& tensor) { return tensor; });
      call_again();
    } catch (...) {
      set_generator_state(later);
      throw;
    }
    set_generator_state(later);
    if (computed_.size() < saved_.size())
      throw RuntimeError("checkpoint: the second run saved " + std::to_string(computed_.size()) +
                         " tensors, and the first run " + std::to_string(saved_.size()) + ": " +
                         saved_[computed_.size()].text() +
                         " is missing; the function has to do the same each time");
    if (around_ != nullptr && !around_->running_) forget_function();
  }

  void keep(const Tensor& tensor, const char* op) {
    const size_t index = computed_.size();
    const Saved found{op, tensor.dtype(), tensor.sizes()};
    if (index == saved_.size())
      throw RuntimeError(
          "checkpoint: the second run saved " + found.text() +
          ", which the first run did not; the function has to do the same each time");
    if (!(found == saved_[index]))
      throw RuntimeError("checkpoint: saved tensor " + std::to_string(index) + " was " +
                         saved_[index].text() + " in the first run, and is " + found.text() +
                         " in the second; the function has to do the same each time");
    computed_.push_back(tensor);
  }

  const std::shared_ptr<Region> around_;
  const std::shared_ptr<std::recursive_mutex> mutex_;
  Run again_;
  std::vector<Argument> arguments_;
  const Draws draws_;
  std::vector<Saved> saved_;
  std::vector<std::weak_ptr<Region>> inner_;
  // By saved tensor: while the function runs for the first time, in which it may run another
  // backward, and from a second run until they are used.
  std::vector<Tensor> computed_;
  bool running_ = true;
  size_t next_inner_ = 0;
};

}  // namespace regions

using regions::Phase, regions::present, regions::Region;

static thread_local int64_t begun = 0;
int64_t count_begun() { return begun; }

struct Running::State {
  std::shared_ptr<Region> region;  // null where its graph is gone
  bool again = false;              // within a second run of the function around it
  Run run;
  std::vector<Tensor> arguments;
  std::shared_ptr<void> scopes;
};

namespace {
// Whether a vmap gave the tensor, so that it ends with it.
bool is_batched(const Tensor& tensor) {
  if (!tensor.defined() || (tensor.view_record().flags & TENON_TENSOR_TYPED) == 0) return false;
  return std::string_view(service::types().name(tensor.view_record().type)) == "Batched";
}
}  // namespace

Running::Running(Run again, std::vector<Tensor> arguments) {
  if (!GradMode::enabled() || InferenceMode::enabled() || present.phase == Phase::passing) return;
  // The backward may come after the vmap.
  if (std::any_of(arguments.begin(), arguments.end(), is_batched)) return;
  state_ = std::make_unique<State>();
  ++begun;
  state_->again = present.phase == Phase::again;
  if (state_->again) {
    state_->run = std::move(again);
    state_->arguments = std::move(arguments);
    state_->region = present.region->next_inner();
    state_->scopes = Region::open_passing(state_->region.get());
    return;
  }
  state_->region = std::make_shared<Region>(present.region, std::move(again), std::move(arguments));
  if (present.region != nullptr) present.region->add_inner(state_->region);
  state_->scopes = state_->region->open_first();
}
Running::~Running() = default;

void Running::end() {
  if (state_ == nullptr) return;
  state_->scopes.reset();
  if (!state_->again)
    state_->region->close_first();
  else if (state_->region != nullptr)
    state_->region->remember(std::move(state_->run), std::move(state_->arguments));
}

void run(const std::function<void()>& first, Run again, std::vector<Tensor> arguments) {
  Running running(std::move(again), std::move(arguments));
  first();
  running.end();
}

KeptBuffers::KeptBuffers(const Module& module) {
  for (const Tensor& buffer : module.buffers())
    kept_.push_back({buffer, buffer.clone(), buffer.version()});
}
// Copies of one shape and dtype: nothing is refused.
KeptBuffers::~KeptBuffers() {  // NOLINT(bugprone-exception-escape)
  const NoGrad off;
  for (const Kept& kept : kept_) {
    if (kept.buffer.version() != kept.version) Tensor(kept.buffer).copy_(kept.value);
  }
}

namespace {

// Calls of modules that are running, and those that run again.
thread_local std::vector<std::unique_ptr<Running>> module_calls;
thread_local std::vector<tenon_module*> called_again;

// The arguments of a call, with tensors apart.
struct CallArguments {
  std::vector<tenon_value> values;  // tensors are null
  std::vector<std::string> names;   // empty by position

  void call(const Module& module, const std::vector<Tensor>& tensors) const {
    std::vector<tenon_value> positional, named;
    std::vector<tenon_string> keywords;
    size_t next = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      tenon_value value = values[i];
      if (value.tag == TENON_VALUE_TENSOR) value.as.tensor = tensors[next++].handle();
      if (names[i].empty()) {
        positional.push_back(value);
      } else {
        named.push_back(value);
        keywords.push_back({names[i].data(), static_cast<int64_t>(names[i].size())});
      }
    }
    Value results[detail::max_results];
    detail::check(service::modules().call, module.handle(), positional.data(),
                  static_cast<int64_t>(positional.size()), keywords.data(), named.data(),
                  static_cast<int64_t>(named.size()), reinterpret_cast<tenon_value*>(results),
                  int64_t{-1});
  }
};

// A scope in which a call of the module is a second run.
class CalledAgain {
 public:
  explicit CalledAgain(const Module& module) { called_again.push_back(module.handle()); }
  ~CalledAgain() { called_again.pop_back(); }
  CalledAgain(const CalledAgain&) = delete;
  CalledAgain& operator=(const CalledAgain&) = delete;
  static bool is(const Module& module) {
    return !called_again.empty() && called_again.back() == module.handle();
  }
};

void begin_call(const Module& module, const HookValues& inputs) {
  CallArguments arguments;
  std::vector<Tensor> tensors;
  for (int64_t i = 0; i < inputs.size(); ++i) {
    tenon_value value = inputs[i].value();
    if (value.tag == TENON_VALUE_TENSOR) {
      tensors.push_back(Tensor::borrow(std::exchange(value.as.tensor, nullptr)));
    } else if (value.tag > TENON_VALUE_DTYPE) {
      throw TypeError("recompute: input " + std::to_string(i) + " of " + module.type() +
                      " is neither a tensor nor a number, and is not kept for a second run; set "
                      "\"recompute\" on modules inside of it");
    }
    arguments.values.push_back(value);
    arguments.names.emplace_back(inputs.name(i));
  }
  Run again = [module, arguments = std::move(arguments)](const std::vector<Tensor>& given) {
    const CalledAgain called(module);
    const KeptBuffers kept(module);
    arguments.call(module, given);
  };
  module_calls.back() = std::make_unique<Running>(std::move(again), std::move(tensors));
}

}  // namespace

void recompute_calls(const Module& module) {
  module.register_forward_pre_hook([](const Module& called, const HookValues& inputs) {
    if (CalledAgain::is(called)) return;
    module_calls.push_back(nullptr);
    begin_call(called, inputs);
  });
  module.register_forward_hook(
      [](const Module& called, const HookValues&, const HookValues&) {
        if (CalledAgain::is(called)) return;
        const std::unique_ptr<Running> running = std::move(module_calls.back());
        module_calls.pop_back();
        if (running != nullptr) running->end();
      },
      {false, true});
}

}  // namespace transforms::recompute
TENON_NAMESPACE_END
