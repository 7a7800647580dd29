// Functions that run again when backward needs what they saved.
#include <mutex>
#include <string>

#include <tenon/autograd.hpp>
#include <tenon/parallel.hpp>
#include <tenon/saved_tensors.hpp>
#include <tenon/transforms/checkpoint.hpp>

TENON_NAMESPACE_BEGIN
namespace transforms::recompute {

namespace {

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
thread_local Present present{nullptr, Phase::first};

class PresentScope {
 public:
  PresentScope(Region* region, Phase phase) : before_(std::exchange(present, {region, phase})) {}
  ~PresentScope() { present = before_; }
  PresentScope(const PresentScope&) = delete;
  PresentScope& operator=(const PresentScope&) = delete;

 private:
  Present before_;
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
    std::string sizes;
    for (const int64_t size : shape) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    return std::string(dtype_text(dtype)) + " [" + sizes + "] of " + op;
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

  void first_run(const std::function<void()>& first) {
    const PresentScope scope(this, Phase::first);
    const auto pack = [region = shared_from_this()](const Tensor& tensor, const char* op) {
      return Kept{region, region->add(tensor, op)};
    };
    const SavedTensorsHooks hooks(pack,
                                  [](const Kept& kept) { return kept.region->take(kept.index); });
    first();
    running_ = false;
    computed_.clear();
    // From now on this function computes the arguments of those inside again.
    for (const std::weak_ptr<Region>& each : inner_) {
      if (const std::shared_ptr<Region> inner = each.lock()) inner->forget_function();
    }
  }

  // An inner checkpoint of the first run.
  void add_inner(const std::shared_ptr<Region>& inner) { inner_.push_back(inner); }

  // An inner checkpoint of a second run, which has its arguments again.
  void meet_inner(const std::function<void()>& run, Run again, std::vector<Tensor> arguments) {
    if (next_inner_ == inner_.size())
      throw RuntimeError(
          "checkpoint: the second run has an inner checkpoint that the first run did not have; the "
          "function has to do the same each time");
    const std::shared_ptr<Region> inner = inner_[next_inner_++].lock();
    {
      const PresentScope scope(inner.get(), Phase::passing);
      const auto same = [](const Tensor& tensor) { return tensor; };
      const SavedTensorsHooks hooks(same, same);
      run();
    }
    if (inner != nullptr) inner->remember(std::move(again), std::move(arguments));
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

  void remember(Run again, std::vector<Tensor> tensors) {
    again_ = std::move(again);
    arguments_.clear();
    for (Tensor& tensor : tensors) {
      const int64_t version = tensor.defined() ? tensor.version() : 0;
      Tensor tangent = tensor.defined() ? unpack_dual(tensor).tangent : Tensor();
      arguments_.push_back({std::move(tensor), std::move(tangent), version});
    }
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

}  // namespace

void run(const std::function<void()>& first, Run again, std::vector<Tensor> arguments) {
  if (!GradMode::enabled() || InferenceMode::enabled() || present.phase == Phase::passing)
    return first();
  if (present.phase == Phase::again)
    return present.region->meet_inner(first, std::move(again), std::move(arguments));
  const auto region =
      std::make_shared<Region>(present.region, std::move(again), std::move(arguments));
  if (present.region != nullptr) present.region->add_inner(region);
  region->first_run(first);
}

KeptBuffers::KeptBuffers(const Module& module) {
  for (const Tensor& buffer : module.buffers())
    kept_.push_back({buffer, buffer.clone(), buffer.version()});
}
KeptBuffers::~KeptBuffers() {
  const NoGrad off;
  for (const Kept& kept : kept_) {
    if (kept.buffer.version() != kept.version) Tensor(kept.buffer).copy_(kept.value);
  }
}

}  // namespace transforms::recompute
TENON_NAMESPACE_END
