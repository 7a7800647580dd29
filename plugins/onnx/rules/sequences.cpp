// Operators of sequences.
#include <tenon/plugin.hpp>
#include <tenon/conversion.hpp>

TENON_CONVERSIONS(sequences, "onnx", R"(
ConcatFromSequence:11(input_sequence; axis, new_axis=0) = onnx.concat_from_sequence(input_sequence, axis=axis, new_axis=new_axis)
OptionalHasElement:15(input?) = onnx.has_element(input)
SequenceAt:11(input_sequence, position) = onnx.sequence_at(input_sequence, position)
SequenceConstruct:11(inputs...) = onnx.sequence_construct(inputs)
SequenceEmpty:11(; dtype=1) = onnx.sequence_empty(dtype=dtype)
SequenceErase:11(input_sequence, position?) = onnx.sequence_erase(input_sequence, position)
SequenceInsert:11(input_sequence, tensor, position?) = onnx.sequence_insert(input_sequence, tensor, position)
SequenceLength:11(input_sequence) = onnx.sequence_length(input_sequence)
SplitToSequence:11(input, split?; axis=0, keepdims=1) = onnx.split_to_sequence(input, split, axis=axis, keepdims=keepdims)
)")
