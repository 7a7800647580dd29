#include "chain.hpp"

#include <algorithm>
#include <cstring>

#include <tenon/parallel.hpp>
#include <tenon/tensor.hpp>

namespace onnx {

using tenon::Tensor, tenon::Value;

namespace {

// Elements of a block: 64 KiB of f32, so that a few of them fit into the second-level cache. With more
// threads each op shares a block among them, in pieces that are worth a thread.
constexpr int64_t kBlock = 16384;
constexpr int64_t kPiece = 65536;

int64_t block_size() {
  const int64_t threads = tenon::thread_count();
  return threads > 1 ? threads * kPiece : kBlock;
}

Value value_of_tensor(Tensor tensor) {
  tenon_value value{};
  value.tag = TENON_VALUE_TENSOR;
  value.as.tensor = tensor.give();
  return Value(value);
}

bool contains(const std::vector<uint32_t>& slots, uint32_t slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

bool is_plain(const tenon_tensor_view& view) {
  constexpr uint32_t others =
      TENON_TENSOR_TYPED | TENON_TENSOR_HAS_TANGENT | TENON_TENSOR_SHAPE_ONLY;
  return (view.flags & others) == 0 && view.device == 0;
}

class Finder {
 public:
  Finder(const Body& body, const ValueOf& value_of) : body_(body), value_of_(value_of) {}

  Chain find(size_t first) {
    const int64_t least = 2 * block_size();
    for (size_t i = first; i < body_.steps.size() && add(body_.steps[i]); ++i) {
      if (chain_.like.view_record().count < least) return {};
    }
    if (chain_.steps < 2) return {};
    for (const uint32_t slot : chain_.results) {
      bool released = false;
      for (size_t i = 0; i < chain_.steps && !released; ++i)
        released = contains(body_.steps[first + i].released, slot);
      if (!released) chain_.outputs.push_back(slot);
    }
    return std::move(chain_);
  }

 private:
  // Whether the step continues the chain.
  bool add(const Step& step) {
    if (!step.pointwise || step.kind != Step::Kind::call || step.results[0] < 0) return false;
    reads_shape_ = false;
    const size_t known = chain_.inputs.size();
    for (const StepArgument& argument : step.arguments) {
      for (const Source& source : argument.sources) {
        if (admits(argument, source)) continue;
        chain_.inputs.resize(known);
        return false;
      }
    }
    if (!reads_shape_ || rank_of_numbers_ > chain_.like.dim()) return false;
    chain_.results.push_back(static_cast<uint32_t>(step.results[0]));
    ++chain_.steps;
    return true;
  }

  bool admits(const StepArgument& argument, const Source& source) {
    if (source.kind == Source::Kind::none) return true;
    const bool in_frame = source.kind == Source::Kind::frame;
    if (in_frame && contains(chain_.results, source.index)) return reads(argument);
    const tenon_value value = value_of_(source);
    if (value.tag != TENON_VALUE_TENSOR) return value.tag != TENON_VALUE_TENSOR_LIST;
    const tenon_tensor_view& view = *tenon_tensor_get_view(value.as.tensor);
    if (!is_plain(view)) return false;
    if (view.count == 1) {
      rank_of_numbers_ = std::max(rank_of_numbers_, static_cast<int64_t>(view.rank));
      return true;
    }
    const Tensor& tensor = Tensor::borrow(value.as.tensor);
    if (!in_frame || !tensor.is_contiguous()) return false;
    if (!chain_.like.defined()) {
      chain_.like = tensor;
    } else if (tensor.sizes() != chain_.like.sizes()) {
      return false;
    }
    if (!contains(chain_.inputs, source.index)) chain_.inputs.push_back(source.index);
    return reads(argument);
  }
  // An argument that is a number for the op would be read from a block.
  bool reads(const StepArgument& argument) {
    reads_shape_ = true;
    return argument.as == StepArgument::As::value || argument.as == StepArgument::As::tensors;
  }

  const Body& body_;
  const ValueOf& value_of_;
  Chain chain_;
  bool reads_shape_ = false;
  int64_t rank_of_numbers_ = 0;
};

}  // namespace

Chain chain_at(const Body& body, size_t first, const ValueOf& value_of) {
  const std::vector<Step>& steps = body.steps;
  if (first + 1 >= steps.size() || !steps[first].pointwise || !steps[first + 1].pointwise)
    return {};
  return Finder(body, value_of).find(first);
}

ChainRun::ChainRun(const Body& body, size_t first, const Chain& chain, std::vector<Value>& frame)
    : body_(body),
      first_(first),
      chain_(chain),
      frame_(frame),
      count_(chain.like.numel()),
      block_(block_size()),
      shape_(static_cast<size_t>(chain.like.dim()), 1) {
  for (const uint32_t slot : chain.inputs) inputs_.push_back(frame[slot].tensor());
  outputs_.resize(chain.outputs.size());
}

void ChainRun::give_blocks(int64_t begin) {
  size_ = std::min(block_, count_ - begin);
  shape_.back() = size_;
  std::vector<int64_t> steps(shape_.size(), size_);
  steps.back() = 1;
  const auto rank = static_cast<int64_t>(shape_.size());
  const tenon::IntList shape(shape_.data(), rank), strides(steps.data(), rank);
  for (size_t i = 0; i < inputs_.size(); ++i)
    frame_[chain_.inputs[i]] =
        value_of_tensor(tenon::alias_tensor(inputs_[i], shape, strides, begin));
}

bool ChainRun::is_block(const Value& value) const {
  if (!value.is_tensor() || !value.tensor().defined()) return false;
  const Tensor& tensor = value.tensor();
  return is_plain(tensor.view_record()) && tensor.is_contiguous() && tensor.sizes() == shape_;
}

bool ChainRun::keep_blocks(int64_t begin) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Tensor& block = frame_[chain_.outputs[i]].tensor();
    Tensor& whole = outputs_[i];
    if (!whole.defined()) whole = tenon::empty_tensor(chain_.like.shape(), block.dtype());
    if (whole.dtype() != block.dtype()) return false;
    const auto bytes = static_cast<size_t>(tenon::element_size(block.dtype()));
    std::memcpy(static_cast<char*>(whole.view_record().data) + static_cast<size_t>(begin) * bytes,
                block.view_record().data, static_cast<size_t>(size_) * bytes);
  }
  return true;
}

void ChainRun::finish() {
  undo();
  for (size_t i = 0; i < outputs_.size(); ++i)
    frame_[chain_.outputs[i]] = value_of_tensor(std::move(outputs_[i]));
  for (size_t i = 0; i < chain_.steps; ++i) {
    for (const uint32_t slot : body_.steps[first_ + i].released) frame_[slot] = Value();
  }
}

void ChainRun::undo() {
  for (size_t i = 0; i < inputs_.size(); ++i)
    frame_[chain_.inputs[i]] = value_of_tensor(inputs_[i]);
  for (const uint32_t slot : chain_.results) frame_[slot] = Value();
}

}  // namespace onnx
