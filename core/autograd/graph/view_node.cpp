// Gradients of views and of bases that were changed through a view.

#include <span>
#include <utility>
#include <vector>

#include "core/autograd/engine/gradient_check.hpp"
#include "core/autograd/graph/history.hpp"
#include "core/autograd/graph/node_block.hpp"
#include "core/autograd/graph/op_node.hpp"
#include "core/autograd/record/inplace.hpp"
#include "core/autograd/typed/typed.hpp"
#include "core/dispatch/table/core_ops.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"
#include "core/tensor/shape.hpp"

namespace tenon::core {

namespace {

// Shape, strides and offset of a view in its base's storage.
struct ViewLayout {
  Sizes shape, strides;
  int64_t offset = 0;  // elements from the base's first
};

ViewLayout layout_of(const Tensor& view, const Tensor& base) {
  ViewLayout layout;
  layout.shape = sizes_of(view.shape());
  layout.strides = sizes_of(view.strides());
  const auto bytes =
      static_cast<const char*>(view.view.data) - static_cast<const char*>(base.view.data);
  layout.offset = view.view.data == nullptr ? 0 : bytes / dtype_bytes(base.view.dtype);
  return layout;
}

class ViewNode final : public Node {
 public:
  ViewNode(const NodeBlock& block, Edge base_edge, const Tensor& view, const Tensor& base)
      : Node(block), layout_(layout_of(view, base)), base_shape_(sizes_of(base.shape())) {
    edges_[0] = std::move(base_edge);
    outputs_[0].type = memory_type(view.view.type);  // its gradient is that of plain data
  }
  const char* name() const override { return "AsStridedBackward0"; }
  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& produced,
             const BackwardCall&) override {
    if (gradients[0] == nullptr) {
      produced.emplace_back();
      return;
    }
    if (may_overlap(layout_.shape, layout_.strides)) {
      produced.push_back(add_in_place(*gradients[0]));
      return;
    }
    const TensorRef zeros =
        make_zeros_in(outputs_[0].type, gradients[0]->view.dtype, base_shape_, gradients[0]);
    produced.push_back(core_ops::as_strided_scatter(*zeros, *gradients[0], layout_.shape,
                                                    layout_.strides, layout_.offset));
  }

 private:
  // Elements that share memory share its gradient.
  TensorRef add_in_place(Tensor& gradient) const {
    const int64_t base_count = element_count(base_shape_);
    const TensorRef zeros =
        make_zeros_in(outputs_[0].type, gradient.view.dtype, {&base_count, 1}, &gradient);
    const int64_t count = gradient.view.count;
    TensorRef positions = make_empty(TENON_I64, {&count, 1});
    for (int64_t i = 0; i < count; ++i) {
      int64_t place = layout_.offset;
      for (int64_t d = layout_.shape.rank - 1, rest = i; d >= 0; --d) {
        place += rest % layout_.shape.values[d] * layout_.strides.values[d];
        rest /= layout_.shape.values[d];
      }
      static_cast<int64_t*>(positions->view.data)[i] = place;
    }
    if (outputs_[0].type != 0) positions = moved_to(std::move(positions), gradient);
    const TensorRef row = core_ops::reshape(gradient, {&count, 1});
    const TensorRef whole = core_ops::index_add(*zeros, 0, *positions, *row);
    return core_ops::reshape(*whole, base_shape_);
  }
  ViewLayout layout_;
  Sizes base_shape_;
};

class CopySlicesNode final : public Node {
 public:
  CopySlicesNode(const NodeBlock& block, Edge base_edge, ViewChange change, const Tensor& view,
                 const Tensor& base)
      : Node(block), change_(std::move(change)), layout_(layout_of(view, base)) {
    edges_[0] = std::move(base_edge);
    const std::span<const Edge> inner = change_.node->edges();
    for (size_t i = 0; i < inner.size(); ++i) {
      // The view's own old history is part of the base's.
      if (i != change_.slot) edges_[i + 1] = inner[i];
    }
    outputs_[0].type = memory_type(base.view.type);  // its gradient is that of plain data
  }
  const char* name() const override { return "CopySlices"; }
  const Implementation* implementation() const override { return change_.node->implementation(); }
  bool released() const override { return change_.node->released(); }
  // The other results of the change may still need what it saved.
  void release_saved() override {
    if (change_.node->outputs().size() == 1) change_.node->release_saved();
  }
  void detach_saved(const Storage& storage) override { change_.node->detach_saved(storage); }
  void apply(std::span<Tensor* const> gradients, std::vector<TensorRef>& produced,
             const BackwardCall& call) override {
    if (gradients[0] == nullptr) {
      produced.resize(edge_count_);
      return;
    }
    const TensorRef whole = core_ops::contiguous(*gradients[0]);
    const TensorRef slice =
        core_ops::as_strided(*whole, layout_.shape, layout_.strides, layout_.offset);
    std::vector<TensorRef> inner;
    std::vector<Tensor*> given(change_.node->outputs().size());
    given[change_.output] = slice.get();
    change_.node->apply(given, inner,
                        {call.create_graph, call.retain_graph, call.traced, nullptr, call.run,
                         change_.slot, edges_[0].node.get()});
    TensorRef own = change_.slot < inner.size() ? inner[change_.slot] : TensorRef();
    if (own) {
      const OutputInfo part{slice->view.shape, slice->view.dtype, slice->view.rank, true,
                            outputs_[0].type};
      own = fit_gradient(std::move(own), part, *change_.node, change_.slot);
    } else {
      own = make_zeros_in(outputs_[0].type, slice->view.dtype, slice->shape(), slice.get());
    }
    produced.push_back(
        core_ops::as_strided_scatter(*whole, *own, layout_.shape, layout_.strides, layout_.offset));
    for (size_t i = 1; i < edge_count_; ++i)
      produced.push_back(i - 1 < inner.size() && i - 1 != change_.slot ? inner[i - 1]
                                                                       : TensorRef());
  }

 private:
  const ViewChange change_;
  const ViewLayout layout_;
};

}  // namespace

NodeRef make_view_node(const Tensor& view, Tensor& base) {
  const Tensor* const output = &view;
  NodeBlock block(sizeof(ViewNode), 1, {&output, 1});
  return block.make<ViewNode>(gradient_edge(base), view, base);
}

NodeRef make_copy_slices_node(ViewChange change, const Tensor& view, Tensor& base) {
  const Tensor* const output = &base;
  NodeBlock block(sizeof(CopySlicesNode), change.node->edges().size() + 1, {&output, 1});
  return block.make<CopySlicesNode>(gradient_edge(base), std::move(change), view, base);
}

}  // namespace tenon::core
