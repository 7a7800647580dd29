// Sequences: lists of tensors as values of a model.
#include "common.hpp"

namespace {

using namespace onnx;

// A place from 0 in a sequence; `end`: the place behind the last one counts too.
size_t place_in(int64_t position, int64_t size, bool end) {
  const int64_t place = position < 0 ? position + size : position;
  if (place < 0 || place > size || (place == size && !end))
    throw tenon::IndexError("the position " + std::to_string(position) +
                            " is out of range for a sequence of " + std::to_string(size));
  return static_cast<size_t>(place);
}
std::vector<Tensor> copy_of(TensorList list) {
  std::vector<Tensor> copies;
  for (const Tensor& one : list) copies.push_back(one.clone());
  return copies;
}
std::vector<Tensor> tensors_of(TensorList list) { return {list.begin(), list.end()}; }

struct SequenceConstruct {
  static constexpr auto schema = "onnx.sequence_construct(Tensor[] inputs) -> Tensor[]";
  static constexpr auto doc = "The sequence of the tensors.";
  static constexpr bool composite = true;
  static constexpr bool any_dtype = true;
  static std::vector<Tensor> forward(TensorList inputs) { return copy_of(inputs); }
};
struct SequenceEmpty {
  static constexpr auto schema = "onnx.sequence_empty(*, dtype? dtype=None) -> Tensor[]";
  static constexpr auto doc = "A sequence without tensors.";
  static std::vector<Tensor> forward(DType) { return {}; }
};
struct SequenceAt {
  static constexpr auto schema =
      "onnx.sequence_at(Tensor[] input_sequence, int position) -> Tensor";
  static constexpr auto samples =
      R"([{"input_sequence": [{"shape": [2]}, {"shape": [3]}], "position": -1}])";
  static constexpr auto doc = "The tensor at a position; negative ones count from the end.";
  static constexpr bool composite = true;
  static Tensor forward(TensorList list, int64_t position) {
    return list[static_cast<int64_t>(place_in(position, list.size(), false))].clone();
  }
};
struct SequenceInsert {
  static constexpr auto schema =
      "onnx.sequence_insert(Tensor[] input_sequence, Tensor tensor, int? position=None) -> "
      "Tensor[]";
  static constexpr auto samples =
      R"([{"input_sequence": [{"shape": [2]}], "tensor": {"shape": [3]}, "position": 0}])";
  static constexpr auto doc = "The sequence with a tensor at the position, or at the end.";
  static constexpr bool composite = true;
  static std::vector<Tensor> forward(TensorList list, const Tensor& tensor,
                                     std::optional<int64_t> position) {
    std::vector<Tensor> result = copy_of(list);
    const size_t place = place_in(position.value_or(list.size()), list.size(), true);
    result.insert(result.begin() + static_cast<int64_t>(place), tensor.clone());
    return result;
  }
};
struct SequenceErase {
  static constexpr auto schema =
      "onnx.sequence_erase(Tensor[] input_sequence, int? position=None) -> Tensor[]";
  static constexpr auto samples =
      R"([{"input_sequence": [{"shape": [2]}, {"shape": [3]}], "position": 0}])";
  static constexpr auto doc =
      "The sequence without the tensor at the position, or without the last.";
  static constexpr bool composite = true;
  static std::vector<Tensor> forward(TensorList list, std::optional<int64_t> position) {
    std::vector<Tensor> result = copy_of(list);
    const size_t place = place_in(position.value_or(-1), list.size(), false);
    result.erase(result.begin() + static_cast<int64_t>(place));
    return result;
  }
};
struct SequenceLength {
  static constexpr auto schema = "onnx.sequence_length(Tensor[] input_sequence) -> Tensor";
  static constexpr auto samples = R"([{"input_sequence": [{"shape": [2]}]}])";
  static constexpr auto doc = "The number of tensors, as i64.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(TensorList list) { return tenon::full(IntList(), list.size(), tenon::i64); }
};
struct SplitToSequence {
  static constexpr auto schema =
      "onnx.split_to_sequence(Tensor(a) input, Tensor? split=None, *, int axis=0, bool "
      "keepdims=True) -> Tensor(a)[]";
  static constexpr auto samples = R"([{"input": {"shape": [3, 2]}}])";
  static constexpr auto doc =
      "Parts along axis: of the sizes of split, of one size, or of 1 and without the axis where "
      "not "
      "keepdims.";
  static constexpr bool composite = true;
  static std::vector<Tensor> forward(const Tensor& input, const Tensor& split, int64_t axis,
                                     bool keepdims) {
    const int64_t dim = axis_of(axis, input.dim()), size = input.shape()[dim];
    if (!split.defined() && !keepdims) return tenon::unbind(input, dim);
    std::vector<int64_t> sizes;
    if (split.defined() && split.dim() > 0) {
      sizes = split.to_vector<int64_t>();
    } else {
      const int64_t each = split.defined() ? split.item<int64_t>() : 1;
      if (each < 1)
        throw tenon::ValueError("onnx.split_to_sequence(): the size of parts is below 1");
      for (int64_t at = 0; at < size; at += each) sizes.push_back(std::min(each, size - at));
    }
    return tenon::split(input, list_of(sizes), dim);
  }
};
struct ConcatFromSequence {
  static constexpr auto schema =
      "onnx.concat_from_sequence(Tensor[] input_sequence, *, int axis, bool new_axis=False) -> "
      "Tensor";
  static constexpr auto samples =
      R"([{"input_sequence": [{"shape": [2]}, {"shape": [2]}], "axis": 0}])";
  static constexpr auto doc = "The tensors joined along axis, or along a new one.";
  static constexpr bool composite = true;
  static Tensor forward(TensorList list, int64_t axis, bool new_axis) {
    return new_axis ? tenon::stack(tensors_of(list), axis) : tenon::cat(tensors_of(list), axis);
  }
};

struct HasElement {
  static constexpr auto schema = "onnx.has_element(any input=None) -> Tensor";
  static constexpr auto samples = R"([{}])";
  static constexpr auto doc = "Whether a value is given, as a bool.";
  static constexpr bool zero_gradient = true;
  static Tensor forward(const Argument& input) {
    return tenon::full(IntList(), input.value().tag != TENON_VALUE_NONE, tenon::boolean);
  }
};

}  // namespace
TENON_OP(HasElement)
TENON_OP(SequenceConstruct)
TENON_OP(SequenceEmpty)
TENON_OP(SequenceAt)
TENON_OP(SequenceInsert)
TENON_OP(SequenceErase)
TENON_OP(SequenceLength)
TENON_OP(SplitToSequence)
TENON_OP(ConcatFromSequence)
