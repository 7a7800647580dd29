// Batch rules (<tenon/transforms/batch_rules.hpp>).
#include <tenon/transforms/batch_rules.hpp>

TENON_BATCH_RULES(operators, R"(
onnx.isinf, onnx.sign, onnx.bit_shift: elementwise
onnx.shape, onnx.size, onnx.eye_like, onnx.has_element, onnx.sequence_length: once
onnx.arg_extremum, onnx._runtime.arg_extremum, onnx.hardmax: dims(axis)
onnx.conv_integer, onnx.qlinear_conv: fold(x=3) where rank(w) == 3
onnx.conv_integer, onnx.qlinear_conv: fold(x=4) where rank(w) == 4
onnx.conv_integer, onnx.qlinear_conv: fold(x=5) where rank(w) == 5
onnx.qlinear_matmul: leading(a=2, b=2) where rank(a) >= 2, rank(b) >= 2
onnx.tfidf_vectorizer: fold(X=2)
onnx.multinomial, onnx.random_like: random
onnx.nonzero: refuse("the number of elements that are not zero differs between samples")
onnx.non_max_suppression: refuse("the number of boxes that are selected differs between samples")
onnx.range: refuse("elements decide about the length of the result")
onnx.constant_of_shape: refuse("elements decide about the shape of the result")
onnx.write_tensor: refuse("samples would be written into one file; write the whole batch")
)")
