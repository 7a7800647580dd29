// The engine. A run owns all its state, so that runs may overlap in threads and nest in rules.
//
//   add_root, add_capture   note where gradients begin, and which of them the caller reads
//   discover                walks the graph once (discover.cpp): each node gets a Visit, which counts
//                           the gradients that it waits for and says whether anything needs it
//   deliver                 adds a gradient to the place of a node's output
//   enqueue, take_ready     of the nodes that wait for nothing, the one recorded last runs first
//   step                    runs one node: its hooks, retained gradients and captures, then its
//                           rule; delivers the results along its edges, and enqueues nodes that
//                           wait no more
//   step_leaf, accumulate   leaves are put aside, and added to .grad when all rules have run, so
//                           that an error leaves every .grad as it was
#include "core/autograd/engine/engine.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <unordered_map>

#include "core/autograd/engine/anomaly.hpp"
#include "core/autograd/engine/discover.hpp"
#include "core/autograd/engine/grad.hpp"
#include "core/autograd/engine/gradient_check.hpp"
#include "core/autograd/engine/grow_stack.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/node.hpp"
#include "core/autograd/graph/tensor_meta.hpp"
#include "core/autograd/typed/typed.hpp"
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

std::atomic<int64_t> run_counter{1};

// Room for the gradients of a node, which the thread's next run takes over.
struct SpareRoom {
  ~SpareRoom() { ended = true; }
  std::vector<TensorRef> gradients;
  static constinit thread_local bool ended;  // the thread's objects are destroyed
};
constinit thread_local bool SpareRoom::ended = false;
thread_local SpareRoom spare_room;

struct Capture {
  Node* node;
  uint32_t output;
  bool accumulates;  // a leaf of which the gradient goes into .grad
  TensorRef gradient;
};

class Run final : public EngineRun {
 public:
  Run(BackwardOptions options, bool accumulate_all)
      : options_(options), scope_(own_state()), graph_{accumulate_all, {}} {
    if (!SpareRoom::ended) produced_.swap(spare_room.gradients);
  }
  ~Run() {
    produced_.clear();
    if (!SpareRoom::ended && produced_.capacity() <= kMostSpare)
      produced_.swap(spare_room.gradients);
    for (Tensor* gradient : graph_.gradients) {
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
      given = moved_to(std::move(given), root);
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
        given = moved_to(std::move(given), root);
        given = fit_gradient(std::move(given), edge.node->outputs()[edge.output], *edge.node, 0);
      }
    }
    graph_.roots.push_back({edge.node.get(), edge.output, std::move(given)});
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
    graph_.captured.push_back(edge.node.get());
  }

  void execute() {
    // A rule that runs another backward goes deeper into the stack.
    if (scope_.previous().run == nullptr) return execute_here();
    with_stack([this] { execute_here(); });
  }

  int64_t id() override {
    if (id_ == 0) id_ = run_counter.fetch_add(1, std::memory_order_relaxed);
    return id_;
  }
  const Node* running() override { return running_; }
  bool reaches(const Node& node) override {
    const Visit* visit = graph_.map.find(&node, graph_.visits);
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
  // State of the thread as rules and hooks see it.
  ThreadState own_state() {
    ThreadState state = thread_state;
    state.grad_enabled = options_.create_graph;
    state.inference = false;  // gradients outlive the mode
    state.run = this;
    return state;
  }

  void execute_here() {
    graph_.discover();
    for (GradientRoot& root : graph_.roots)
      deliver(graph_.map.intern(root.node, graph_.visits).first, root.output, std::move(root.seed));
    for (const GradientRoot& root : graph_.roots) {
      const uint32_t index = graph_.map.intern(root.node, graph_.visits).first;
      if (graph_.visits[index].waiting == 0) enqueue(index);
    }
    try {
      while (!ready_.empty()) {
        stop_if_interrupted();
        step(take_ready());
      }
      const UninterruptedGuard all_or_none;
      while (first_leaf_ != 0) {
        const Visit& leaf = graph_.visits[first_leaf_ - 1];
        first_leaf_ = leaf.next_leaf;
        accumulate(leaf);
      }
    } catch (...) {
      running_ = nullptr;
      for (auto undo = retained_.rbegin(); undo != retained_.rend(); ++undo) {
        const std::lock_guard lock(undo->box->mutex);
        undo->box->grad = std::move(undo->before);
      }
      throw;
    }
  }

  void accumulate(const Visit& leaf) {
    Tensor*& gradient = graph_.gradients[leaf.gradients];
    produced_.clear();
    leaf.node->apply({&gradient, 1}, produced_, {options_.create_graph});
    std::exchange(gradient, nullptr)->release();
  }

  struct Ready {
    Ready(uint64_t of_node, uint32_t at) : sequence(of_node), visit(at) {}
    uint64_t sequence;
    uint32_t visit;
    bool operator<(const Ready& other) const { return sequence < other.sequence; }
  };

  void deliver(uint32_t index, uint32_t output, TensorRef gradient) {
    Tensor*& place = graph_.gradients[graph_.visits[index].gradients + output];
    if (place == nullptr) {
      place = gradient.give();
      return;
    }
    TensorRef sum = add_gradients(TensorRef::take(std::exchange(place, nullptr)), gradient.get(),
                                  options_.create_graph);
    place = sum.give();
  }

  void enqueue(uint32_t index) {
    if (graph_.visits[index].queued) return;
    graph_.visits[index].queued = true;
    ready_.emplace_back(graph_.visits[index].node->sequence(), index);
    // A heap of one would read back what was just stored.
    if (ready_.size() > 1) std::push_heap(ready_.begin(), ready_.end());
  }
  uint32_t take_ready() {
    if (ready_.size() > 1) std::pop_heap(ready_.begin(), ready_.end());
    const uint32_t visit = ready_.back().visit;
    ready_.pop_back();
    return visit;
  }

  // All gradients of a node have come: keeps those that are captured or retained, runs it, delivers
  // its results.
  [[gnu::always_inline]] void step(uint32_t index) {
    Node& node = *graph_.visits[index].node;
    if (node.module != 0) thread_state.module = node.module;  // leaves have none
    const std::span<Tensor*> gradients(graph_.gradients.data() + graph_.visits[index].gradients,
                                       node.outputs().size());
    bool any = false;
    for (const Tensor* gradient : gradients) any |= gradient != nullptr;
    NodeExtra* const extra = node.extra_if_any();
    if (extra != nullptr) [[unlikely]] {
      if (graph_.visits[index].needed) {
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
    if (graph_.visits[index].captured) {
      for (Capture& capture : captures_) {
        if (capture.node == &node) capture.gradient = TensorRef(gradients[capture.output]);
      }
    }
    // A captured node runs only when it leads to needed nodes.
    const bool run =
        graph_.visits[index].needed && (any || node.runs_without_gradients()) && leads_on(index);
    produced_.clear();
    if (run) {
      running_ = &node;
      if (extra != nullptr) [[unlikely]]
        run_hooks_before(*extra, node, gradients);
      const BackwardCall call{options_.create_graph, options_.retain_graph, options_.traced,
                              gradients.data(), graph_.all_needed ? nullptr : this};
      if (thread_state.anomaly != 0) [[unlikely]] {
        apply_watched(node, gradients, produced_, call, thread_state.anomaly > 1);
      } else {
        node.apply(gradients, produced_, call);
      }
      if (extra != nullptr) [[unlikely]]
        run_hooks_after(*extra, node, produced_, gradients);
      running_ = nullptr;
    }
    for (Tensor*& gradient : gradients) {
      if (gradient != nullptr) std::exchange(gradient, nullptr)->release();
    }
    const std::span<Edge> edges = node.edges();
    for (size_t i = 0; i < edges.size(); ++i) {
      if (!edges[i].node) continue;
      const uint32_t child = graph_.map.intern(edges[i].node.get(), graph_.visits).first;
      if (run && produced_[i] && graph_.visits[child].needed) {
        const OutputInfo& info = edges[i].node->outputs()[edges[i].output];
        deliver(child, edges[i].output, fit_gradient(std::move(produced_[i]), info, node, i));
      }
      if (--graph_.visits[child].waiting == 0) enqueue(child);
    }
    thread_state.module = scope_.previous().module;
    produced_.clear();
    if (run && !options_.retain_graph) node.release_saved();
  }

  // A leaf's gradient is complete: captured, else to be added to .grad.
  void step_leaf(uint32_t index, NodeExtra* extra, bool any) {
    Visit& visit = graph_.visits[index];
    Tensor*& gradient = graph_.gradients[visit.gradients];
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
    if (!extra->has_kind(TENON_HOOK_POST_ACCUMULATE) && !extra->has_kind(TENON_HOOK_NODE_AFTER)) {
      visit.next_leaf = std::exchange(first_leaf_, index + 1);
      return;
    }
    const TensorRef kept(extra->has_kind(TENON_HOOK_NODE_AFTER) ? gradient : nullptr);
    Tensor* const shown = kept.get();
    accumulate(visit);
    run_post_accumulate_hooks(*extra, static_cast<Accumulator*>(visit.node)->leaf());
    run_hooks_after(*extra, *visit.node, produced_, {&shown, 1});
  }

  bool leads_on(uint32_t index) {
    if (graph_.all_needed || !graph_.visits[index].captured) return true;
    for (const Edge& edge : graph_.visits[index].node->edges()) {
      if (edge.node &&
          graph_.visits[graph_.map.intern(edge.node.get(), graph_.visits).first].needed)
        return true;
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

  static constexpr size_t kMostSpare = 64;
  BackwardOptions options_;
  ThreadStateGuard scope_;
  RunGraph graph_;
  RunVector<Edge> held_;
  std::vector<Capture> captures_;
  RunVector<Ready> ready_;  // a heap: of the nodes that can run, the one recorded last comes first
  std::vector<TensorRef> produced_;
  struct Undo {
    std::shared_ptr<RetainedGrad> box;
    TensorRef before;
  };
  std::vector<Undo> retained_;  // put back when the run fails
  std::unordered_map<const void*, std::vector<TensorRef>> kept_;
  uint32_t first_leaf_ = 0;
  int64_t id_ = 0;
  const Node* running_ = nullptr;
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
      results.back() = make_zeros_in(memory_type(inputs[i]->view.type), inputs[i]->view.dtype,
                                     inputs[i]->shape(), inputs[i]);
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
