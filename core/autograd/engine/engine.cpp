// The engine. A run owns all its state, so that runs may overlap in threads and nest in rules.
#include "core/autograd/engine/engine.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <unordered_map>

#include <boost/container/small_vector.hpp>

#include "core/autograd/engine/anomaly.hpp"
#include "core/autograd/engine/grad.hpp"
#include "core/autograd/engine/gradient_check.hpp"
#include "core/autograd/engine/grow_stack.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/node.hpp"
#include "core/autograd/graph/tensor_meta.hpp"
#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/interrupt.hpp"
#include "core/dispatch/call/call.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

// Most runs are small: they allocate nothing for what they know of their nodes. Those of large ones
// double, since what is moved is read from memory.
using Doubling = boost::container::small_vector_options_t<
    boost::container::growth_factor<boost::container::growth_factor_100>>;
template <class T>
using RunVector = boost::container::small_vector<T, 4, void, Doubling>;

// What a run knows of a node.
struct Visit {
  Node* node = nullptr;
  uint32_t waiting = 0;    // gradients still to come, in edges
  uint32_t gradients = 0;  // where the node's buffer begins
  bool needed = true;      // leads to an input that is asked for
  bool captured = false;
  bool queued = false;
  uint32_t next_leaf = 0;  // of the leaves whose gradients wait to be added: index + 1
};
using Visits = RunVector<Visit>;

std::atomic<int64_t> run_counter{1};

// Node -> visit, by open addressing: a run touches it a few times for each edge.
class VisitMap {
 public:
  VisitMap() : slots_(32) {}
  // The index of the node's visit, and whether it is new.
  std::pair<uint32_t, bool> intern(Node* node, Visits& visits) {
    size_t at = hash(node);
    while (slots_[at] != 0) {
      if (visits[slots_[at] - 1].node == node) return {slots_[at] - 1, false};
      at = (at + 1) & (slots_.size() - 1);
    }
    visits.emplace_back().node = node;
    slots_[at] = static_cast<uint32_t>(visits.size());
    if (visits.size() * 2 > slots_.size()) grow(visits);
    return {static_cast<uint32_t>(visits.size() - 1), true};
  }
  const Visit* find(const Node* node, const Visits& visits) const {
    for (size_t at = hash(node); slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      if (visits[slots_[at] - 1].node == node) return &visits[slots_[at] - 1];
    }
    return nullptr;
  }

 private:
  size_t hash(const Node* node) const {
    return (reinterpret_cast<uintptr_t>(node) >> 6) * 0x9e3779b97f4a7c15u >> 20 &
           (slots_.size() - 1);
  }
  void grow(const Visits& visits) {
    slots_.assign(slots_.size() * 2, 0);
    for (uint32_t i = 0; i < visits.size(); ++i) {
      size_t at = hash(visits[i].node);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = i + 1;
    }
  }
  boost::container::small_vector<uint32_t, 32> slots_;  // index + 1; 0: empty
};

struct Capture {
  Node* node;
  uint32_t output;
  bool accumulates;  // a leaf of which the gradient goes into .grad
  TensorRef gradient;
};

class Run final : public EngineRun {
 public:
  Run(BackwardOptions options, bool accumulate_all)
      : options_(options), accumulate_all_(accumulate_all), scope_(own_state()) {}
  ~Run() {
    for (Tensor* gradient : gradients_) {
      if (gradient != nullptr) gradient->release();
    }
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void add_root(Tensor& root, Tensor* seed, size_t index) {
    refresh_history(root);
    const auto where = [&](const char* what) {
      return std::string(what) + (index == 0 ? "" : format_text(" (root {})", index));
    };
    if (!root.requires_grad()) {
      throw Error(TENON_ERROR_GRAPH,
                  where("element of tensors does not require grad and does not have a grad_fn"));
    }
    TensorRef given(seed);
    const Edge& edge = held_.emplace_back(gradient_edge(root));
    if (seed == nullptr) {
      if (root.view.count != 1) {
        throw Error(TENON_ERROR_GRAPH, "{}; the root has shape {}: pass a seed of that shape",
                    where("grad can be implicitly created only for scalar outputs"),
                    shape_text(root.shape()));
      }
      if (dtype_complex(root.view.dtype)) {
        throw Error(TENON_ERROR_GRAPH, "{}; the root is {}: pass a seed, or take real() or abs()",
                    where("grad can be implicitly created only for real scalar outputs"),
                    dtype_text(root.view.dtype));
      }
      given = make_empty(root.view.dtype, root.shape());
      fill(*given, int_value(1));
    } else {
      if (!same_shape(seed->shape(), root.shape())) {
        throw Error(TENON_ERROR_GRAPH, "{} has shape {} but the root has shape {}",
                    where("mismatch in shape: the seed"), shape_text(seed->shape()),
                    shape_text(root.shape()));
      }
      if (!dtype_differentiable(seed->view.dtype) ||
          (seed->has_flag(TENON_TENSOR_SHAPE_ONLY) && !seed->typed())) {
        throw Error(TENON_ERROR_GRAPH, "{} has dtype {} but the root has dtype {}",
                    where("the seed"), dtype_text(seed->view.dtype), dtype_text(root.view.dtype));
      }
      if (seed->view.dtype != root.view.dtype || seed->typed() || root.typed()) {
        given = fit_gradient(std::move(given), edge.node->outputs()[edge.output], *edge.node, 0);
      }
    }
    roots_.push_back({edge.node.get(), edge.output, std::move(given)});
  }

  // Gradients that arrive at the input are kept; with `accumulate`, those of leaves are added to
  // .grad instead.
  void add_capture(Tensor& input, bool accumulate) {
    refresh_history(input);
    if (!input.requires_grad()) {
      throw Error(TENON_ERROR_GRAPH,
                  "one of the inputs does not require grad: gradients can be asked for tensors "
                  "that require grad only");
    }
    const Edge& edge = held_.emplace_back(gradient_edge(input));
    const bool leaf = edge.node->sequence() == kAccumulatorSequence;
    captures_.push_back({edge.node.get(), edge.output, accumulate && leaf, {}});
  }

  void execute() {
    // A rule that runs another backward goes deeper into the stack.
    if (scope_.previous().run != nullptr && stack_is_low()) [[unlikely]] {
      grow_stack([this] { execute_here(); });
    } else {
      execute_here();
    }
  }

  int64_t id() override {
    if (id_ == 0) id_ = run_counter.fetch_add(1, std::memory_order_relaxed);
    return id_;
  }
  const Node* watched() override { return watched_; }
  bool reaches(const Node& node) override {
    const Visit* visit = map_.find(&node, visits_);
    return visit != nullptr && visit->needed;
  }

  void keep(const void* key, std::vector<TensorRef> tensors) override {
    kept_.insert_or_assign(key, std::move(tensors));
  }
  std::optional<std::vector<TensorRef>> take(const void* key) override {
    auto found = kept_.extract(key);
    if (found.empty()) return std::nullopt;
    return std::move(found.mapped());
  }

  TensorRef take_capture(size_t index) { return std::move(captures_[index].gradient); }

 private:
  // What rules and hooks see of their thread.
  ThreadState own_state() {
    ThreadState state = thread_state;
    state.grad_enabled = options_.create_graph;
    state.inference = false;  // gradients outlive the mode
    state.run = this;
    return state;
  }

  void execute_here() {
    discover();
    for (Root& root : roots_)
      deliver(map_.intern(root.node, visits_).first, root.output, std::move(root.seed));
    for (const Root& root : roots_) {
      const uint32_t index = map_.intern(root.node, visits_).first;
      if (visits_[index].waiting == 0) enqueue(index);
    }
    try {
      while (!ready_.empty()) {
        stop_if_interrupted();
        step(take_ready());
      }
      const UninterruptedGuard all_or_none;
      while (first_leaf_ != 0) {
        const Visit& leaf = visits_[first_leaf_ - 1];
        first_leaf_ = leaf.next_leaf;
        accumulate(leaf);
      }
    } catch (...) {
      for (auto undo = retained_.rbegin(); undo != retained_.rend(); ++undo) {
        const std::lock_guard lock(undo->box->mutex);
        undo->box->grad = std::move(undo->before);
      }
      throw;
    }
  }

  void accumulate(const Visit& leaf) {
    Tensor*& gradient = gradients_[leaf.gradients];
    answer_.clear();
    leaf.node->apply({&gradient, 1}, answer_, {options_.create_graph});
    std::exchange(gradient, nullptr)->release();
  }

  struct Root {
    Node* node;
    uint32_t output;
    TensorRef seed;
  };
  struct Ready {
    Ready(uint64_t of_node, uint32_t at) : sequence(of_node), visit(at) {}
    uint64_t sequence;
    uint32_t visit;
    bool operator<(const Ready& other) const { return sequence < other.sequence; }
  };

  // Walks the graph once: how many gradients each node waits for, and which nodes lead to an input.
  void discover() {
    for (const Capture& capture : captures_) asked_.push_back(capture.node);
    std::sort(asked_.begin(), asked_.end());
    struct Frame {
      explicit Frame(uint32_t at) : visit(at) {}
      uint32_t visit;
      uint32_t edge = 0;
    };
    RunVector<Frame> stack;
    const auto enter = [&](Node* node) -> uint32_t {
      const auto [index, fresh] = map_.intern(node, visits_);
      if (fresh) {
        Visit& visit = visits_[index];
        visit.gradients = static_cast<uint32_t>(gradients_.size());
        gradients_.resize(gradients_.size() + node->outputs().size());
        visit.captured = std::binary_search(asked_.begin(), asked_.end(), node);
        visit.needed = accumulate_all_ || visit.captured;
        stack.emplace_back(index);
      }
      return index;
    };
    for (const Root& root : roots_) {
      enter(root.node);
      while (!stack.empty()) {
        Frame& frame = stack.back();
        const uint32_t parent = frame.visit;
        const std::span<Edge> edges = visits_[parent].node->edges();
        if (frame.edge < edges.size()) {
          Node* child = edges[frame.edge++].node.get();
          if (child == nullptr) continue;
          const uint32_t index = enter(child);  // moves `frame`
          ++visits_[index].waiting;
          continue;
        }
        stack.pop_back();
        if (visits_[parent].needed) continue;
        for (const Edge& edge : edges) {
          if (!edge.node) continue;
          const Visit& child = visits_[map_.intern(edge.node.get(), visits_).first];
          if (child.needed) {
            visits_[parent].needed = true;
            break;
          }
        }
      }
    }
  }

  void deliver(uint32_t index, uint32_t output, TensorRef gradient) {
    Tensor*& place = gradients_[visits_[index].gradients + output];
    if (place == nullptr) {
      place = gradient.give();
      return;
    }
    TensorRef sum = add_gradients(TensorRef::take(std::exchange(place, nullptr)), gradient.get(),
                                  options_.create_graph);
    place = sum.give();
  }

  void enqueue(uint32_t index) {
    if (visits_[index].queued) return;
    visits_[index].queued = true;
    ready_.emplace_back(visits_[index].node->sequence(), index);
    // Of one alone it would read back what was just stored.
    if (ready_.size() > 1) std::push_heap(ready_.begin(), ready_.end());
  }
  uint32_t take_ready() {
    if (ready_.size() > 1) std::pop_heap(ready_.begin(), ready_.end());
    const uint32_t visit = ready_.back().visit;
    ready_.pop_back();
    return visit;
  }

  // All gradients of a node have come: keep those that were asked for, run it, send its answers on.
  void step(uint32_t index) {
    Node& node = *visits_[index].node;
    const std::span<Tensor*> gradients(gradients_.data() + visits_[index].gradients,
                                       node.outputs().size());
    bool any = false;
    for (const Tensor* gradient : gradients) any |= gradient != nullptr;
    NodeExtra* const extra = node.extra_if_any();
    if (extra != nullptr) [[unlikely]] {
      if (visits_[index].needed) {
        run_tensor_hooks(*extra, node, gradients);
        any = false;  // a hook may give what has not come
        for (const Tensor* gradient : gradients) any |= gradient != nullptr;
      }
      keep_retained(*extra, gradients);
    }
    if (node.sequence() == kAccumulatorSequence) {
      step_leaf(index, extra, any);
      return;
    }
    if (visits_[index].captured) {
      for (Capture& capture : captures_) {
        if (capture.node == &node) capture.gradient = TensorRef(gradients[capture.output]);
      }
    }
    // A captured node runs only when there are nodes behind it.
    const bool run =
        visits_[index].needed && (any || node.runs_without_gradients()) && leads_on(index);
    answer_.clear();
    if (run) {
      if (extra != nullptr) [[unlikely]]
        run_hooks_before(*extra, node, gradients);
      const BackwardCall call{options_.create_graph, options_.retain_graph, gradients.data(),
                              accumulate_all_ ? nullptr : this};
      if (thread_state.anomaly != 0) [[unlikely]] {
        watched_ = &node;
        apply_watched(node, gradients, answer_, call, thread_state.anomaly > 1);
        watched_ = nullptr;
      } else {
        node.apply(gradients, answer_, call);
      }
      if (extra != nullptr) [[unlikely]]
        run_hooks_after(*extra, node, answer_, gradients);
    }
    for (Tensor*& gradient : gradients) {
      if (gradient != nullptr) std::exchange(gradient, nullptr)->release();
    }
    const std::span<Edge> edges = node.edges();
    for (size_t i = 0; i < edges.size(); ++i) {
      if (!edges[i].node) continue;
      const uint32_t child = map_.intern(edges[i].node.get(), visits_).first;
      if (run && answer_[i] && visits_[child].needed) {
        const OutputInfo& info = edges[i].node->outputs()[edges[i].output];
        deliver(child, edges[i].output, fit_gradient(std::move(answer_[i]), info, node, i));
      }
      if (--visits_[child].waiting == 0) enqueue(child);
    }
    answer_.clear();
    if (run && !options_.retain_graph) node.release_saved();
  }

  // A leaf's gradient is complete: read when it was asked for, else to be added to .grad.
  void step_leaf(uint32_t index, NodeExtra* extra, bool any) {
    Visit& visit = visits_[index];
    Tensor*& gradient = gradients_[visit.gradients];
    bool adds = any && visit.needed;
    if (visit.captured) {
      for (Capture& capture : captures_) {
        if (capture.node != visit.node) continue;
        adds &= capture.accumulates;
        if (!capture.accumulates) capture.gradient = TensorRef(gradient);
      }
    }
    if (!adds) {
      if (gradient != nullptr) std::exchange(gradient, nullptr)->release();
      return;
    }
    if (extra == nullptr) [[likely]] {
      visit.next_leaf = std::exchange(first_leaf_, index + 1);
      return;
    }
    run_hooks_before(*extra, *visit.node, {&gradient, 1});
    if (!extra->has(TENON_HOOK_POST_ACCUMULATE) && !extra->has(TENON_HOOK_NODE_AFTER)) {
      visit.next_leaf = std::exchange(first_leaf_, index + 1);
      return;
    }
    const TensorRef kept(extra->has(TENON_HOOK_NODE_AFTER) ? gradient : nullptr);
    Tensor* const shown = kept.get();
    accumulate(visit);
    run_post_accumulate_hooks(*extra, static_cast<Accumulator*>(visit.node)->leaf());
    run_hooks_after(*extra, *visit.node, answer_, {&shown, 1});
  }

  bool leads_on(uint32_t index) {
    if (accumulate_all_ || !visits_[index].captured) return true;
    for (const Edge& edge : visits_[index].node->edges()) {
      if (edge.node && visits_[map_.intern(edge.node.get(), visits_).first].needed) return true;
    }
    return false;
  }

  void keep_retained(NodeExtra& extra, std::span<Tensor* const> gradients) {
    for (const NodeExtra::Retained& retained : extra.retained()) {
      Tensor* gradient = gradients[retained.output];
      if (gradient == nullptr) continue;
      const std::lock_guard lock(retained.box->mutex);
      TensorRef& grad = retained.box->grad;
      retained_.push_back({retained.box, grad});
      grad = grad ? add_gradients(TensorRef(grad), gradient, true) : TensorRef(gradient);
    }
  }

  BackwardOptions options_;
  bool accumulate_all_;
  ThreadStateGuard scope_;
  RunVector<Edge> held_;
  RunVector<Root> roots_;
  std::vector<Capture> captures_;
  std::vector<Node*> asked_;
  Visits visits_;
  VisitMap map_;
  RunVector<Tensor*> gradients_;
  RunVector<Ready> ready_;  // a heap: of the nodes that can run, the one recorded last comes first
  std::vector<TensorRef> answer_;
  struct Undo {
    std::shared_ptr<RetainedGrad> box;
    TensorRef before;
  };
  std::vector<Undo> retained_;  // what to put back when the run fails
  std::unordered_map<const void*, std::vector<TensorRef>> kept_;
  uint32_t first_leaf_ = 0;
  int64_t id_ = 0;
  const Node* watched_ = nullptr;
};

void add_roots(Run& run, std::span<Tensor* const> roots, std::span<Tensor* const> seeds) {
  if (roots.empty()) throw Error(TENON_ERROR_ARGUMENT, "no roots were given to take gradients of");
  for (size_t i = 0; i < roots.size(); ++i) {
    if (roots[i] == nullptr) throw Error(TENON_ERROR_ARGUMENT, "root {} is an undefined tensor", i);
    run.add_root(*roots[i], seeds.empty() ? nullptr : seeds[i], i);
  }
}

void add_captures(Run& run, std::span<Tensor* const> inputs, const char* function,
                  bool accumulate) {
  if (inputs.empty())
    throw Error(TENON_ERROR_ARGUMENT,
                "{}(): the list of inputs is empty; omit it to accumulate into all leaves",
                function);
  for (Tensor* input : inputs) {
    if (input == nullptr)
      throw Error(TENON_ERROR_ARGUMENT, "{}(): an input is an undefined tensor", function);
    run.add_capture(*input, accumulate);
  }
}

}  // namespace

void run_backward(std::span<Tensor* const> roots, std::span<Tensor* const> seeds,
                  const std::span<Tensor* const>* inputs, BackwardOptions options) {
  if (options.create_graph) options.retain_graph = true;
  Run run(options, inputs == nullptr);
  add_roots(run, roots, seeds);
  if (inputs != nullptr) add_captures(run, *inputs, "backward", true);
  run.execute();
  if (inputs == nullptr) return;
  for (size_t i = 0; i < inputs->size(); ++i) {
    Tensor* input = (*inputs)[i];
    const TensorMeta* meta = meta_if_any(*input);
    if (meta != nullptr && meta->retained) continue;  // has it already
    if (std::find(inputs->begin(), inputs->begin() + static_cast<std::ptrdiff_t>(i), input) !=
        inputs->begin() + static_cast<std::ptrdiff_t>(i))
      continue;
    if (const TensorRef gradient = run.take_capture(i))
      accumulate_grad(*input, gradient.get(), options.create_graph);
  }
}

std::vector<TensorRef> run_gradients(std::span<Tensor* const> roots, std::span<Tensor* const> seeds,
                                     std::span<Tensor* const> inputs, BackwardOptions options,
                                     Unused unused) {
  if (options.create_graph) options.retain_graph = true;
  Run run(options, false);
  add_captures(run, inputs, "gradients", false);
  add_roots(run, roots, seeds);
  run.execute();
  std::vector<TensorRef> results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    results.push_back(run.take_capture(i));
    if (results.back() || unused == Unused::Null) continue;
    if (unused == Unused::Zeros) {
      results.back() = make_zeros(inputs[i]->view.dtype, inputs[i]->shape());
      if (options.create_graph) set_requires_grad(*results.back(), true);
      continue;
    }
    throw Error(TENON_ERROR_GRAPH,
                "one of the differentiated tensors (input {}) appears to not have been used in the "
                "graph; set allow_unused=true if this is the desired behavior",
                i);
  }
  return results;
}

}  // namespace tenon::core
