// Typed wrappers of the shipped ops. Generated from their schemas by tools/generate_ops: do not
// edit.
#pragma once

#include "tenon/op.hpp"

// clang-format off
TENON_NAMESPACE_BEGIN

inline Tensor abs(const Tensor& input, const Tensor& out = {}) {
  static const Op op("abs");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor acos(const Tensor& input, const Tensor& out = {}) {
  static const Op op("acos");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor add(const Argument& input, const Argument& other, const Scalar& alpha = 1,
        const Tensor& out = {}) {
  static const Op op("add");
  return detail::call_values<Tensor, 4>(op.handle(), {input.value(), other.value(),
        Argument(alpha).value(), Argument(out).value()});
}
inline Tensor add_(const Tensor& input, const Argument& other, const Scalar& alpha = 1) {
  static const Op op("add_");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(), other.value(),
        Argument(alpha).value()});
}
inline Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2,
        const Scalar& beta = 1, const Scalar& alpha = 1) {
  static const Op op("addmm");
  return detail::call_values<Tensor, 5>(op.handle(), {Argument(input).value(),
        Argument(mat1).value(), Argument(mat2).value(), Argument(beta).value(),
        Argument(alpha).value()});
}
inline Tensor all(const Tensor& input, const Argument& dim = none, bool keepdim = false) {
  static const Op op("all");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(), dim.value(),
        Argument(keepdim).value()});
}
inline Tensor amax(const Tensor& input, const Argument& dim = none, bool keepdim = false) {
  static const Op op("amax");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(), dim.value(),
        Argument(keepdim).value()});
}
inline Tensor amin(const Tensor& input, const Argument& dim = none, bool keepdim = false) {
  static const Op op("amin");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(), dim.value(),
        Argument(keepdim).value()});
}
inline Tensor any(const Tensor& input, const Argument& dim = none, bool keepdim = false) {
  static const Op op("any");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(), dim.value(),
        Argument(keepdim).value()});
}
inline Tensor arange(const Scalar& start, const Argument& end = none, const Scalar& step = 1,
        DType dtype = DType::none, const Tensor& like = {}) {
  static const Op op("arange");
  return detail::call_values<Tensor, 5>(op.handle(), {Argument(start).value(), end.value(),
        Argument(step).value(), Argument(dtype).value(), Argument(like).value()});
}
inline Tensor argmax(const Tensor& input, const Argument& dim = none, bool keepdim = false) {
  static const Op op("argmax");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(), dim.value(),
        Argument(keepdim).value()});
}
inline Tensor argmin(const Tensor& input, const Argument& dim = none, bool keepdim = false) {
  static const Op op("argmin");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(), dim.value(),
        Argument(keepdim).value()});
}
inline Tensor as_strided(const Tensor& input, const Argument& size, const Argument& stride,
        int64_t storage_offset = 0) {
  static const Op op("as_strided");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(input).value(), size.value(),
        stride.value(), Argument(storage_offset).value()});
}
inline Tensor as_strided_scatter(const Tensor& input, const Tensor& src, const Argument& size,
        const Argument& stride, int64_t storage_offset = 0) {
  static const Op op("as_strided_scatter");
  return detail::call_values<Tensor, 5>(op.handle(), {Argument(input).value(),
        Argument(src).value(), size.value(), stride.value(), Argument(storage_offset).value()});
}
inline Tensor asin(const Tensor& input, const Tensor& out = {}) {
  static const Op op("asin");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor atan(const Tensor& input, const Tensor& out = {}) {
  static const Op op("atan");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor atan2(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("atan2");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor bitwise_and(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("bitwise_and");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor bitwise_not(const Tensor& input, const Tensor& out = {}) {
  static const Op op("bitwise_not");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor bitwise_or(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("bitwise_or");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor bitwise_xor(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("bitwise_xor");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor bmm(const Tensor& input, const Tensor& mat2) {
  static const Op op("bmm");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(mat2).value()});
}
inline Tensor cat(const std::vector<Tensor>& tensors, int64_t dim = 0) {
  static const Op op("cat");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(tensors).value(),
        Argument(dim).value()});
}
inline Tensor ceil(const Tensor& input, const Tensor& out = {}) {
  static const Op op("ceil");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline std::vector<Tensor> chunk(const Tensor& input, int64_t chunks, int64_t dim = 0) {
  static const Op op("chunk");
  return detail::call_values<std::vector<Tensor>, 3>(op.handle(), {Argument(input).value(),
        Argument(chunks).value(), Argument(dim).value()});
}
inline Tensor clamp(const Tensor& input, const Argument& min = none, const Argument& max = none,
        const Tensor& out = {}) {
  static const Op op("clamp");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(input).value(), min.value(),
        max.value(), Argument(out).value()});
}
inline Tensor clone(const Tensor& input) {
  static const Op op("clone");
  return detail::call_values<Tensor, 1>(op.handle(), {Argument(input).value()});
}
inline Tensor contiguous(const Tensor& input) {
  static const Op op("contiguous");
  return detail::call_values<Tensor, 1>(op.handle(), {Argument(input).value()});
}
inline Tensor copy_(const Tensor& input, const Tensor& source) {
  static const Op op("copy_");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(source).value()});
}
inline Tensor cos(const Tensor& input, const Tensor& out = {}) {
  static const Op op("cos");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor cosh(const Tensor& input, const Tensor& out = {}) {
  static const Op op("cosh");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor count_nonzero(const Tensor& input, const Argument& dim = none) {
  static const Op op("count_nonzero");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(), dim.value()});
}
inline Tensor cumsum(const Tensor& input, int64_t dim) {
  static const Op op("cumsum");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(dim).value()});
}
inline Tensor div(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("div");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor div_(const Tensor& input, const Argument& other) {
  static const Op op("div_");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(), other.value()});
}
inline Tensor dot(const Tensor& input, const Tensor& other) {
  static const Op op("dot");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(other).value()});
}
inline Tensor empty(const Argument& size, DType dtype = DType::none, const Tensor& like = {}) {
  static const Op op("empty");
  return detail::call_values<Tensor, 3>(op.handle(), {size.value(), Argument(dtype).value(),
        Argument(like).value()});
}
inline Tensor eq(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("eq");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor erf(const Tensor& input, const Tensor& out = {}) {
  static const Op op("erf");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor exp(const Tensor& input, const Tensor& out = {}) {
  static const Op op("exp");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor exp2(const Tensor& input, const Tensor& out = {}) {
  static const Op op("exp2");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor expand(const Tensor& input, const Argument& size) {
  static const Op op("expand");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(), size.value()});
}
inline Tensor expand_as(const Tensor& input, const Tensor& other) {
  static const Op op("expand_as");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(other).value()});
}
inline Tensor expm1(const Tensor& input, const Tensor& out = {}) {
  static const Op op("expm1");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor eye(int64_t n, const Argument& m = none, DType dtype = DType::none,
        const Tensor& like = {}) {
  static const Op op("eye");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(n).value(), m.value(),
        Argument(dtype).value(), Argument(like).value()});
}
inline Tensor fill_(const Tensor& input, const Scalar& value) {
  static const Op op("fill_");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(value).value()});
}
inline Tensor flatten(const Tensor& input, int64_t start_dim = 0, int64_t end_dim = -1) {
  static const Op op("flatten");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(start_dim).value(), Argument(end_dim).value()});
}
inline Tensor flip(const Tensor& input, const Argument& dims) {
  static const Op op("flip");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(), dims.value()});
}
inline Tensor floor(const Tensor& input, const Tensor& out = {}) {
  static const Op op("floor");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor floor_divide(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("floor_divide");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor full(const Argument& size, const Scalar& value, DType dtype = DType::none,
        const Tensor& like = {}) {
  static const Op op("full");
  return detail::call_values<Tensor, 4>(op.handle(), {size.value(), Argument(value).value(),
        Argument(dtype).value(), Argument(like).value()});
}
inline Tensor full_like(const Tensor& input, const Scalar& value, DType dtype = DType::none) {
  static const Op op("full_like");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(value).value(), Argument(dtype).value()});
}
inline Tensor gather(const Tensor& input, int64_t dim, const Tensor& index) {
  static const Op op("gather");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(dim).value(), Argument(index).value()});
}
inline Tensor ge(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("ge");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor gt(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("gt");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor index_add(const Tensor& input, int64_t dim, const Tensor& index,
        const Tensor& source) {
  static const Op op("index_add");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(input).value(),
        Argument(dim).value(), Argument(index).value(), Argument(source).value()});
}
inline Tensor index_select(const Tensor& input, int64_t dim, const Tensor& index) {
  static const Op op("index_select");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(dim).value(), Argument(index).value()});
}
inline Tensor isfinite(const Tensor& input) {
  static const Op op("isfinite");
  return detail::call_values<Tensor, 1>(op.handle(), {Argument(input).value()});
}
inline Tensor isinf(const Tensor& input) {
  static const Op op("isinf");
  return detail::call_values<Tensor, 1>(op.handle(), {Argument(input).value()});
}
inline Tensor isnan(const Tensor& input) {
  static const Op op("isnan");
  return detail::call_values<Tensor, 1>(op.handle(), {Argument(input).value()});
}
inline Tensor le(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("le");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps,
        DType dtype = DType::none, const Tensor& like = {}) {
  static const Op op("linspace");
  return detail::call_values<Tensor, 5>(op.handle(), {Argument(start).value(),
        Argument(end).value(), Argument(steps).value(), Argument(dtype).value(),
        Argument(like).value()});
}
inline Tensor log(const Tensor& input, const Tensor& out = {}) {
  static const Op op("log");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor log10(const Tensor& input, const Tensor& out = {}) {
  static const Op op("log10");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor log1p(const Tensor& input, const Tensor& out = {}) {
  static const Op op("log1p");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor log2(const Tensor& input, const Tensor& out = {}) {
  static const Op op("log2");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor logical_and(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("logical_and");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor logical_not(const Tensor& input, const Tensor& out = {}) {
  static const Op op("logical_not");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor logical_or(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("logical_or");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor logical_xor(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("logical_xor");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor logsumexp(const Tensor& input, const Argument& dim = none, bool keepdim = false) {
  static const Op op("logsumexp");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(), dim.value(),
        Argument(keepdim).value()});
}
inline Tensor lt(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("lt");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor masked_fill(const Tensor& input, const Tensor& mask, const Scalar& value) {
  static const Op op("masked_fill");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(mask).value(), Argument(value).value()});
}
inline Tensor matmul(const Tensor& input, const Tensor& other) {
  static const Op op("matmul");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(other).value()});
}
inline std::tuple<Tensor, Tensor> max(const Tensor& input, int64_t dim, bool keepdim = false) {
  static const Op op("max");
  return detail::call_values<std::tuple<Tensor, Tensor>, 3>(op.handle(), {Argument(input).value(),
        Argument(dim).value(), Argument(keepdim).value()});
}
inline Tensor maximum(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("maximum");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor mean(const Tensor& input, const Argument& dim = none, bool keepdim = false,
        DType dtype = DType::none, const Tensor& out = {}) {
  static const Op op("mean");
  return detail::call_values<Tensor, 5>(op.handle(), {Argument(input).value(), dim.value(),
        Argument(keepdim).value(), Argument(dtype).value(), Argument(out).value()});
}
inline std::tuple<Tensor, Tensor> min(const Tensor& input, int64_t dim, bool keepdim = false) {
  static const Op op("min");
  return detail::call_values<std::tuple<Tensor, Tensor>, 3>(op.handle(), {Argument(input).value(),
        Argument(dim).value(), Argument(keepdim).value()});
}
inline Tensor minimum(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("minimum");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor mm(const Tensor& input, const Tensor& mat2, const Tensor& out = {}) {
  static const Op op("mm");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(mat2).value(), Argument(out).value()});
}
inline Tensor mul(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("mul");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor mul_(const Tensor& input, const Argument& other) {
  static const Op op("mul_");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(), other.value()});
}
inline Tensor mv(const Tensor& input, const Tensor& vec) {
  static const Op op("mv");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(vec).value()});
}
inline Tensor narrow(const Tensor& input, int64_t dim, int64_t start, int64_t length) {
  static const Op op("narrow");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(input).value(),
        Argument(dim).value(), Argument(start).value(), Argument(length).value()});
}
inline Tensor ne(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("ne");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor neg(const Tensor& input, const Tensor& out = {}) {
  static const Op op("neg");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor normal_(const Tensor& input, double mean = 0.0, double std = 1.0) {
  static const Op op("normal_");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(mean).value(), Argument(std).value()});
}
inline Tensor one_hot(const Tensor& input, int64_t num_classes) {
  static const Op op("one_hot");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(num_classes).value()});
}
inline Tensor ones(const Argument& size, DType dtype = DType::none, const Tensor& like = {}) {
  static const Op op("ones");
  return detail::call_values<Tensor, 3>(op.handle(), {size.value(), Argument(dtype).value(),
        Argument(like).value()});
}
inline Tensor ones_like(const Tensor& input, DType dtype = DType::none) {
  static const Op op("ones_like");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(dtype).value()});
}
inline Tensor outer(const Tensor& input, const Tensor& vec2) {
  static const Op op("outer");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(vec2).value()});
}
inline Tensor permute(const Tensor& input, const Argument& dims) {
  static const Op op("permute");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(), dims.value()});
}
inline Tensor pow(const Argument& input, const Argument& exponent, const Tensor& out = {}) {
  static const Op op("pow");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), exponent.value(),
        Argument(out).value()});
}
inline Tensor prod(const Tensor& input, const Argument& dim = none, bool keepdim = false,
        DType dtype = DType::none) {
  static const Op op("prod");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(input).value(), dim.value(),
        Argument(keepdim).value(), Argument(dtype).value()});
}
inline Tensor rand(const Argument& size, DType dtype = DType::none, const Tensor& like = {}) {
  static const Op op("rand");
  return detail::call_values<Tensor, 3>(op.handle(), {size.value(), Argument(dtype).value(),
        Argument(like).value()});
}
inline Tensor randint(int64_t low, int64_t high, const Argument& size, DType dtype = DType::none,
        const Tensor& like = {}) {
  static const Op op("randint");
  return detail::call_values<Tensor, 5>(op.handle(), {Argument(low).value(), Argument(high).value(),
        size.value(), Argument(dtype).value(), Argument(like).value()});
}
inline Tensor randn(const Argument& size, DType dtype = DType::none, const Tensor& like = {}) {
  static const Op op("randn");
  return detail::call_values<Tensor, 3>(op.handle(), {size.value(), Argument(dtype).value(),
        Argument(like).value()});
}
inline Tensor randperm(int64_t n, DType dtype = DType::none) {
  static const Op op("randperm");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(n).value(),
        Argument(dtype).value()});
}
inline Tensor reciprocal(const Tensor& input, const Tensor& out = {}) {
  static const Op op("reciprocal");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor relu(const Tensor& input, const Tensor& out = {}) {
  static const Op op("relu");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor relu_(const Tensor& input) {
  static const Op op("relu_");
  return detail::call_values<Tensor, 1>(op.handle(), {Argument(input).value()});
}
inline Tensor relu_backward(const Tensor& gradient, const Tensor& output, const Tensor& out = {}) {
  static const Op op("relu_backward");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(gradient).value(),
        Argument(output).value(), Argument(out).value()});
}
inline Tensor remainder(const Argument& input, const Argument& other, const Tensor& out = {}) {
  static const Op op("remainder");
  return detail::call_values<Tensor, 3>(op.handle(), {input.value(), other.value(),
        Argument(out).value()});
}
inline Tensor reshape(const Tensor& input, const Argument& shape) {
  static const Op op("reshape");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(), shape.value()});
}
inline Tensor round(const Tensor& input, const Tensor& out = {}) {
  static const Op op("round");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor rsqrt(const Tensor& input, const Tensor& out = {}) {
  static const Op op("rsqrt");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor scatter_add(const Tensor& input, int64_t dim, const Tensor& index,
        const Tensor& src) {
  static const Op op("scatter_add");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(input).value(),
        Argument(dim).value(), Argument(index).value(), Argument(src).value()});
}
inline Tensor select(const Tensor& input, int64_t dim, int64_t index) {
  static const Op op("select");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(dim).value(), Argument(index).value()});
}
inline Tensor select_backward(const Tensor& grad, const Argument& input_size, int64_t dim,
        int64_t index) {
  static const Op op("select_backward");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(grad).value(), input_size.value(),
        Argument(dim).value(), Argument(index).value()});
}
inline Tensor select_scatter(const Tensor& input, const Tensor& src, int64_t dim, int64_t index) {
  static const Op op("select_scatter");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(input).value(),
        Argument(src).value(), Argument(dim).value(), Argument(index).value()});
}
inline Tensor sigmoid(const Tensor& input, const Tensor& out = {}) {
  static const Op op("sigmoid");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor sign(const Tensor& input, const Tensor& out = {}) {
  static const Op op("sign");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor sin(const Tensor& input, const Tensor& out = {}) {
  static const Op op("sin");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor sinh(const Tensor& input, const Tensor& out = {}) {
  static const Op op("sinh");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor slice(const Tensor& input, int64_t dim = 0, const Argument& start = none,
        const Argument& end = none, int64_t step = 1) {
  static const Op op("slice");
  return detail::call_values<Tensor, 5>(op.handle(), {Argument(input).value(),
        Argument(dim).value(), start.value(), end.value(), Argument(step).value()});
}
inline Tensor slice_backward(const Tensor& grad, const Argument& input_size, int64_t dim = 0,
        const Argument& start = none, const Argument& end = none, int64_t step = 1) {
  static const Op op("slice_backward");
  return detail::call_values<Tensor, 6>(op.handle(), {Argument(grad).value(), input_size.value(),
        Argument(dim).value(), start.value(), end.value(), Argument(step).value()});
}
inline Tensor slice_scatter(const Tensor& input, const Tensor& src, int64_t dim = 0,
        const Argument& start = none, const Argument& end = none, int64_t step = 1) {
  static const Op op("slice_scatter");
  return detail::call_values<Tensor, 6>(op.handle(), {Argument(input).value(),
        Argument(src).value(), Argument(dim).value(), start.value(), end.value(),
        Argument(step).value()});
}
inline std::vector<Tensor> split(const Tensor& input, const Argument& split_size, int64_t dim = 0) {
  static const Op op("split");
  return detail::call_values<std::vector<Tensor>, 3>(op.handle(), {Argument(input).value(),
        split_size.value(), Argument(dim).value()});
}
inline Tensor sqrt(const Tensor& input, const Tensor& out = {}) {
  static const Op op("sqrt");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor square(const Tensor& input, const Tensor& out = {}) {
  static const Op op("square");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor squeeze(const Tensor& input, const Argument& dim = none) {
  static const Op op("squeeze");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(), dim.value()});
}
inline Tensor stack(const std::vector<Tensor>& tensors, int64_t dim = 0) {
  static const Op op("stack");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(tensors).value(),
        Argument(dim).value()});
}
inline Tensor std(const Tensor& input, const Argument& dim = none, bool keepdim = false,
        int64_t correction = 1) {
  static const Op op("std");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(input).value(), dim.value(),
        Argument(keepdim).value(), Argument(correction).value()});
}
inline Tensor sub(const Argument& input, const Argument& other, const Scalar& alpha = 1,
        const Tensor& out = {}) {
  static const Op op("sub");
  return detail::call_values<Tensor, 4>(op.handle(), {input.value(), other.value(),
        Argument(alpha).value(), Argument(out).value()});
}
inline Tensor sub_(const Tensor& input, const Argument& other, const Scalar& alpha = 1) {
  static const Op op("sub_");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(), other.value(),
        Argument(alpha).value()});
}
inline Tensor sum(const Tensor& input, const Argument& dim = none, bool keepdim = false,
        DType dtype = DType::none, const Tensor& out = {}) {
  static const Op op("sum");
  return detail::call_values<Tensor, 5>(op.handle(), {Argument(input).value(), dim.value(),
        Argument(keepdim).value(), Argument(dtype).value(), Argument(out).value()});
}
inline Tensor sum_to_size(const Tensor& input, const Argument& size) {
  static const Op op("sum_to_size");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(), size.value()});
}
inline Tensor t(const Tensor& input) {
  static const Op op("t");
  return detail::call_values<Tensor, 1>(op.handle(), {Argument(input).value()});
}
inline Tensor tan(const Tensor& input, const Tensor& out = {}) {
  static const Op op("tan");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor tanh(const Tensor& input, const Tensor& out = {}) {
  static const Op op("tanh");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline Tensor to(const Tensor& input, DType dtype) {
  static const Op op("to");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(dtype).value()});
}
inline Tensor transpose(const Tensor& input, int64_t dim0, int64_t dim1) {
  static const Op op("transpose");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(dim0).value(), Argument(dim1).value()});
}
inline Tensor tril(const Tensor& input, int64_t diagonal = 0) {
  static const Op op("tril");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(diagonal).value()});
}
inline Tensor triu(const Tensor& input, int64_t diagonal = 0) {
  static const Op op("triu");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(diagonal).value()});
}
inline Tensor trunc(const Tensor& input, const Tensor& out = {}) {
  static const Op op("trunc");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(out).value()});
}
inline std::vector<Tensor> unbind(const Tensor& input, int64_t dim = 0) {
  static const Op op("unbind");
  return detail::call_values<std::vector<Tensor>, 2>(op.handle(), {Argument(input).value(),
        Argument(dim).value()});
}
inline Tensor uniform_(const Tensor& input, double low = 0.0, double high = 1.0) {
  static const Op op("uniform_");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(low).value(), Argument(high).value()});
}
inline Tensor unsqueeze(const Tensor& input, int64_t dim) {
  static const Op op("unsqueeze");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(dim).value()});
}
inline Tensor var(const Tensor& input, const Argument& dim = none, bool keepdim = false,
        int64_t correction = 1) {
  static const Op op("var");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(input).value(), dim.value(),
        Argument(keepdim).value(), Argument(correction).value()});
}
inline Tensor view(const Tensor& input, const Argument& shape) {
  static const Op op("view");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(), shape.value()});
}
inline Tensor where(const Tensor& condition, const Argument& input, const Argument& other,
        const Tensor& out = {}) {
  static const Op op("where");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(condition).value(), input.value(),
        other.value(), Argument(out).value()});
}
inline Tensor zero_(const Tensor& input) {
  static const Op op("zero_");
  return detail::call_values<Tensor, 1>(op.handle(), {Argument(input).value()});
}
inline Tensor zeros(const Argument& size, DType dtype = DType::none, const Tensor& like = {}) {
  static const Op op("zeros");
  return detail::call_values<Tensor, 3>(op.handle(), {size.value(), Argument(dtype).value(),
        Argument(like).value()});
}
inline Tensor zeros_like(const Tensor& input, DType dtype = DType::none) {
  static const Op op("zeros_like");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(dtype).value()});
}
namespace data {
inline Tensor read_csv(std::string_view path, bool header = false,
        std::string_view delimiter = ",") {
  static const Op op("data.read_csv");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(path).value(),
        Argument(header).value(), Argument(delimiter).value()});
}
inline Tensor read_npy(std::string_view path) {
  static const Op op("data.read_npy");
  return detail::call_values<Tensor, 1>(op.handle(), {Argument(path).value()});
}
inline void write_npy(std::string_view path, const Tensor& input) {
  static const Op op("data.write_npy");
  return detail::call_values<void, 2>(op.handle(), {Argument(path).value(),
        Argument(input).value()});
}
}  // namespace data

namespace nn::functional {
inline Tensor adaptive_avg_pool1d(const Tensor& input, const Argument& output_size) {
  static const Op op("nn.functional.adaptive_avg_pool1d");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        output_size.value()});
}
inline Tensor adaptive_avg_pool2d(const Tensor& input, const Argument& output_size) {
  static const Op op("nn.functional.adaptive_avg_pool2d");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        output_size.value()});
}
inline Tensor adaptive_avg_pool3d(const Tensor& input, const Argument& output_size) {
  static const Op op("nn.functional.adaptive_avg_pool3d");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        output_size.value()});
}
inline Tensor adaptive_max_pool1d(const Tensor& input, const Argument& output_size) {
  static const Op op("nn.functional.adaptive_max_pool1d");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        output_size.value()});
}
inline std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input,
        const Argument& output_size) {
  static const Op op("nn.functional.adaptive_max_pool1d_with_indices");
  return detail::call_values<std::tuple<Tensor, Tensor>, 2>(op.handle(), {Argument(input).value(),
        output_size.value()});
}
inline Tensor avg_pool2d(const Tensor& input, const Argument& kernel_size,
        const Argument& stride = none, const Argument& padding = 0, bool ceil_mode = false,
        bool count_include_pad = true) {
  static const Op op("nn.functional.avg_pool2d");
  return detail::call_values<Tensor, 6>(op.handle(), {Argument(input).value(), kernel_size.value(),
        stride.value(), padding.value(), Argument(ceil_mode).value(),
        Argument(count_include_pad).value()});
}
inline Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
        const Argument& stride = 1, const Argument& padding = 0, const Argument& dilation = 1,
        int64_t groups = 1) {
  static const Op op("nn.functional.conv2d");
  return detail::call_values<Tensor, 7>(op.handle(), {Argument(input).value(),
        Argument(weight).value(), Argument(bias).value(), stride.value(), padding.value(),
        dilation.value(), Argument(groups).value()});
}
inline Tensor conv2d_input(const Argument& input_size, const Tensor& weight,
        const Tensor& grad_output, const Argument& stride = 1, const Argument& padding = 0,
        const Argument& dilation = 1, int64_t groups = 1) {
  static const Op op("nn.functional.conv2d_input");
  return detail::call_values<Tensor, 7>(op.handle(), {input_size.value(), Argument(weight).value(),
        Argument(grad_output).value(), stride.value(), padding.value(), dilation.value(),
        Argument(groups).value()});
}
inline Tensor conv2d_weight(const Tensor& input, const Argument& weight_size,
        const Tensor& grad_output, const Argument& stride = 1, const Argument& padding = 0,
        const Argument& dilation = 1, int64_t groups = 1) {
  static const Op op("nn.functional.conv2d_weight");
  return detail::call_values<Tensor, 7>(op.handle(), {Argument(input).value(), weight_size.value(),
        Argument(grad_output).value(), stride.value(), padding.value(), dilation.value(),
        Argument(groups).value()});
}
inline Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight = {},
        int64_t ignore_index = -100, std::string_view reduction = "mean",
        double label_smoothing = 0.0) {
  static const Op op("nn.functional.cross_entropy");
  return detail::call_values<Tensor, 6>(op.handle(), {Argument(input).value(),
        Argument(target).value(), Argument(weight).value(), Argument(ignore_index).value(),
        Argument(reduction).value(), Argument(label_smoothing).value()});
}
inline Tensor dropout(const Tensor& input, double p = 0.5, bool training = true) {
  static const Op op("nn.functional.dropout");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(), Argument(p).value(),
        Argument(training).value()});
}
inline Tensor elu(const Tensor& input, double alpha = 1.0) {
  static const Op op("nn.functional.elu");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(alpha).value()});
}
inline Tensor embedding(const Tensor& input, const Tensor& weight,
        const Argument& padding_idx = none) {
  static const Op op("nn.functional.embedding");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(weight).value(), padding_idx.value()});
}
inline Tensor gelu(const Tensor& input) {
  static const Op op("nn.functional.gelu");
  return detail::call_values<Tensor, 1>(op.handle(), {Argument(input).value()});
}
inline Tensor l1_loss(const Tensor& input, const Tensor& target,
        std::string_view reduction = "mean") {
  static const Op op("nn.functional.l1_loss");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(target).value(), Argument(reduction).value()});
}
inline Tensor layer_norm(const Tensor& input, const Argument& normalized_shape,
        const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-05) {
  static const Op op("nn.functional.layer_norm");
  return detail::call_values<Tensor, 5>(op.handle(), {Argument(input).value(),
        normalized_shape.value(), Argument(weight).value(), Argument(bias).value(),
        Argument(eps).value()});
}
inline Tensor leaky_relu(const Tensor& input, double negative_slope = 0.01) {
  static const Op op("nn.functional.leaky_relu");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(negative_slope).value()});
}
inline Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {}) {
  static const Op op("nn.functional.linear");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(weight).value(), Argument(bias).value()});
}
inline Tensor log_softmax(const Tensor& input, int64_t dim) {
  static const Op op("nn.functional.log_softmax");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(dim).value()});
}
inline Tensor max_pool2d(const Tensor& input, const Argument& kernel_size,
        const Argument& stride = none, const Argument& padding = 0, const Argument& dilation = 1,
        bool ceil_mode = false) {
  static const Op op("nn.functional.max_pool2d");
  return detail::call_values<Tensor, 6>(op.handle(), {Argument(input).value(), kernel_size.value(),
        stride.value(), padding.value(), dilation.value(), Argument(ceil_mode).value()});
}
inline std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input,
        const Argument& kernel_size, const Argument& stride = none, const Argument& padding = 0,
        const Argument& dilation = 1, bool ceil_mode = false) {
  static const Op op("nn.functional.max_pool2d_with_indices");
  return detail::call_values<std::tuple<Tensor, Tensor>, 6>(op.handle(), {Argument(input).value(),
        kernel_size.value(), stride.value(), padding.value(), dilation.value(),
        Argument(ceil_mode).value()});
}
inline Tensor mse_loss(const Tensor& input, const Tensor& target,
        std::string_view reduction = "mean") {
  static const Op op("nn.functional.mse_loss");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(target).value(), Argument(reduction).value()});
}
inline Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight = {},
        int64_t ignore_index = -100, std::string_view reduction = "mean") {
  static const Op op("nn.functional.nll_loss");
  return detail::call_values<Tensor, 5>(op.handle(), {Argument(input).value(),
        Argument(target).value(), Argument(weight).value(), Argument(ignore_index).value(),
        Argument(reduction).value()});
}
inline Tensor silu(const Tensor& input) {
  static const Op op("nn.functional.silu");
  return detail::call_values<Tensor, 1>(op.handle(), {Argument(input).value()});
}
inline Tensor softmax(const Tensor& input, int64_t dim) {
  static const Op op("nn.functional.softmax");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(input).value(),
        Argument(dim).value()});
}
inline Tensor softplus(const Tensor& input, double beta = 1.0, double threshold = 20.0) {
  static const Op op("nn.functional.softplus");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(input).value(),
        Argument(beta).value(), Argument(threshold).value()});
}
}  // namespace nn::functional

namespace nn::grad {
inline Tensor adaptive_avg_pool(const Tensor& grad_output, const Argument& input_size,
        int64_t dimensions) {
  static const Op op("nn.grad.adaptive_avg_pool");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(grad_output).value(),
        input_size.value(), Argument(dimensions).value()});
}
inline Tensor avg_pool2d(const Tensor& grad_output, const Argument& input_size,
        const Argument& kernel_size, const Argument& stride = none, const Argument& padding = 0,
        bool ceil_mode = false, bool count_include_pad = true) {
  static const Op op("nn.grad.avg_pool2d");
  return detail::call_values<Tensor, 7>(op.handle(), {Argument(grad_output).value(),
        input_size.value(), kernel_size.value(), stride.value(), padding.value(),
        Argument(ceil_mode).value(), Argument(count_include_pad).value()});
}
inline Tensor cross_entropy(const Tensor& grad_output, const Tensor& input, const Tensor& target,
        const Tensor& weight = {}, int64_t ignore_index = -100, std::string_view reduction = "mean",
        double label_smoothing = 0.0) {
  static const Op op("nn.grad.cross_entropy");
  return detail::call_values<Tensor, 7>(op.handle(), {Argument(grad_output).value(),
        Argument(input).value(), Argument(target).value(), Argument(weight).value(),
        Argument(ignore_index).value(), Argument(reduction).value(),
        Argument(label_smoothing).value()});
}
inline Tensor embedding(const Tensor& grad_output, const Tensor& indices, int64_t rows,
        const Argument& padding_idx = none) {
  static const Op op("nn.grad.embedding");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(grad_output).value(),
        Argument(indices).value(), Argument(rows).value(), padding_idx.value()});
}
inline Tensor gelu(const Tensor& grad_output, const Tensor& input) {
  static const Op op("nn.grad.gelu");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(grad_output).value(),
        Argument(input).value()});
}
inline std::tuple<Tensor, Tensor, Tensor> layer_norm(const Tensor& grad_output, const Tensor& input,
        const Tensor& mean, const Tensor& rstd, const Tensor& weight,
        const Argument& normalized_shape, double eps) {
  static const Op op("nn.grad.layer_norm");
  return detail::call_values<std::tuple<Tensor, Tensor, Tensor>, 7>(op.handle(), {
        Argument(grad_output).value(), Argument(input).value(), Argument(mean).value(),
        Argument(rstd).value(), Argument(weight).value(), normalized_shape.value(),
        Argument(eps).value()});
}
inline Tensor log_softmax(const Tensor& grad_output, const Tensor& output, int64_t dim) {
  static const Op op("nn.grad.log_softmax");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(grad_output).value(),
        Argument(output).value(), Argument(dim).value()});
}
inline Tensor max_pool(const Tensor& grad_output, const Tensor& indices, const Argument& input_size,
        int64_t dimensions) {
  static const Op op("nn.grad.max_pool");
  return detail::call_values<Tensor, 4>(op.handle(), {Argument(grad_output).value(),
        Argument(indices).value(), input_size.value(), Argument(dimensions).value()});
}
inline Tensor nll_loss(const Tensor& grad_output, const Tensor& target, const Tensor& weight,
        const Argument& input_size, int64_t ignore_index = -100,
        std::string_view reduction = "mean", double label_smoothing = 0.0) {
  static const Op op("nn.grad.nll_loss");
  return detail::call_values<Tensor, 7>(op.handle(), {Argument(grad_output).value(),
        Argument(target).value(), Argument(weight).value(), input_size.value(),
        Argument(ignore_index).value(), Argument(reduction).value(),
        Argument(label_smoothing).value()});
}
inline Tensor silu(const Tensor& grad_output, const Tensor& input) {
  static const Op op("nn.grad.silu");
  return detail::call_values<Tensor, 2>(op.handle(), {Argument(grad_output).value(),
        Argument(input).value()});
}
inline Tensor smoothed_nll_loss(const Tensor& input, const Tensor& target,
        const Tensor& weight = {}, int64_t ignore_index = -100, std::string_view reduction = "mean",
        double label_smoothing = 0.0) {
  static const Op op("nn.grad.smoothed_nll_loss");
  return detail::call_values<Tensor, 6>(op.handle(), {Argument(input).value(),
        Argument(target).value(), Argument(weight).value(), Argument(ignore_index).value(),
        Argument(reduction).value(), Argument(label_smoothing).value()});
}
inline Tensor softmax(const Tensor& grad_output, const Tensor& output, int64_t dim) {
  static const Op op("nn.grad.softmax");
  return detail::call_values<Tensor, 3>(op.handle(), {Argument(grad_output).value(),
        Argument(output).value(), Argument(dim).value()});
}
}  // namespace nn::grad

namespace optim {
inline Tensor adam_step_(const Tensor& parameter, const Tensor& gradient,
        const Tensor& first_moment, const Tensor& second_moment, int64_t step, double learning_rate,
        double beta1 = 0.9, double beta2 = 0.999, double epsilon = 1e-08,
        double weight_decay = 0.0) {
  static const Op op("optim.adam_step_");
  return detail::call_values<Tensor, 10>(op.handle(), {Argument(parameter).value(),
        Argument(gradient).value(), Argument(first_moment).value(), Argument(second_moment).value(),
        Argument(step).value(), Argument(learning_rate).value(), Argument(beta1).value(),
        Argument(beta2).value(), Argument(epsilon).value(), Argument(weight_decay).value()});
}
inline Tensor sgd_step_(const Tensor& parameter, const Tensor& gradient,
        const Tensor& momentum_buffer, double learning_rate, double momentum = 0.0,
        double dampening = 0.0, double weight_decay = 0.0, bool nesterov = false) {
  static const Op op("optim.sgd_step_");
  return detail::call_values<Tensor, 8>(op.handle(), {Argument(parameter).value(),
        Argument(gradient).value(), Argument(momentum_buffer).value(),
        Argument(learning_rate).value(), Argument(momentum).value(), Argument(dampening).value(),
        Argument(weight_decay).value(), Argument(nesterov).value()});
}
}  // namespace optim


// ---- methods ----
inline Tensor Tensor::abs(const Tensor& out) const {
  return v1::abs(*this, out);
}
inline Tensor Tensor::acos(const Tensor& out) const {
  return v1::acos(*this, out);
}
inline Tensor Tensor::add(const Argument& other, const Scalar& alpha, const Tensor& out) const {
  return v1::add(*this, other, alpha, out);
}
inline Tensor Tensor::add_(const Argument& other, const Scalar& alpha) const {
  return v1::add_(*this, other, alpha);
}
inline Tensor Tensor::addmm(const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
        const Scalar& alpha) const {
  return v1::addmm(*this, mat1, mat2, beta, alpha);
}
inline Tensor Tensor::all(const Argument& dim, bool keepdim) const {
  return v1::all(*this, dim, keepdim);
}
inline Tensor Tensor::amax(const Argument& dim, bool keepdim) const {
  return v1::amax(*this, dim, keepdim);
}
inline Tensor Tensor::amin(const Argument& dim, bool keepdim) const {
  return v1::amin(*this, dim, keepdim);
}
inline Tensor Tensor::any(const Argument& dim, bool keepdim) const {
  return v1::any(*this, dim, keepdim);
}
inline Tensor Tensor::argmax(const Argument& dim, bool keepdim) const {
  return v1::argmax(*this, dim, keepdim);
}
inline Tensor Tensor::argmin(const Argument& dim, bool keepdim) const {
  return v1::argmin(*this, dim, keepdim);
}
inline Tensor Tensor::as_strided(const Argument& size, const Argument& stride,
        int64_t storage_offset) const {
  return v1::as_strided(*this, size, stride, storage_offset);
}
inline Tensor Tensor::as_strided_scatter(const Tensor& src, const Argument& size,
        const Argument& stride, int64_t storage_offset) const {
  return v1::as_strided_scatter(*this, src, size, stride, storage_offset);
}
inline Tensor Tensor::asin(const Tensor& out) const {
  return v1::asin(*this, out);
}
inline Tensor Tensor::atan(const Tensor& out) const {
  return v1::atan(*this, out);
}
inline Tensor Tensor::atan2(const Argument& other, const Tensor& out) const {
  return v1::atan2(*this, other, out);
}
inline Tensor Tensor::bitwise_and(const Argument& other, const Tensor& out) const {
  return v1::bitwise_and(*this, other, out);
}
inline Tensor Tensor::bitwise_not(const Tensor& out) const {
  return v1::bitwise_not(*this, out);
}
inline Tensor Tensor::bitwise_or(const Argument& other, const Tensor& out) const {
  return v1::bitwise_or(*this, other, out);
}
inline Tensor Tensor::bitwise_xor(const Argument& other, const Tensor& out) const {
  return v1::bitwise_xor(*this, other, out);
}
inline Tensor Tensor::bmm(const Tensor& mat2) const {
  return v1::bmm(*this, mat2);
}
inline Tensor Tensor::ceil(const Tensor& out) const {
  return v1::ceil(*this, out);
}
inline std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) const {
  return v1::chunk(*this, chunks, dim);
}
inline Tensor Tensor::clamp(const Argument& min, const Argument& max, const Tensor& out) const {
  return v1::clamp(*this, min, max, out);
}
inline Tensor Tensor::clone() const {
  return v1::clone(*this);
}
inline Tensor Tensor::contiguous() const {
  return v1::contiguous(*this);
}
inline Tensor Tensor::copy_(const Tensor& source) const {
  return v1::copy_(*this, source);
}
inline Tensor Tensor::cos(const Tensor& out) const {
  return v1::cos(*this, out);
}
inline Tensor Tensor::cosh(const Tensor& out) const {
  return v1::cosh(*this, out);
}
inline Tensor Tensor::count_nonzero(const Argument& dim) const {
  return v1::count_nonzero(*this, dim);
}
inline Tensor Tensor::cumsum(int64_t dim) const {
  return v1::cumsum(*this, dim);
}
inline Tensor Tensor::div(const Argument& other, const Tensor& out) const {
  return v1::div(*this, other, out);
}
inline Tensor Tensor::div_(const Argument& other) const {
  return v1::div_(*this, other);
}
inline Tensor Tensor::dot(const Tensor& other) const {
  return v1::dot(*this, other);
}
inline Tensor Tensor::eq(const Argument& other, const Tensor& out) const {
  return v1::eq(*this, other, out);
}
inline Tensor Tensor::erf(const Tensor& out) const {
  return v1::erf(*this, out);
}
inline Tensor Tensor::exp(const Tensor& out) const {
  return v1::exp(*this, out);
}
inline Tensor Tensor::exp2(const Tensor& out) const {
  return v1::exp2(*this, out);
}
inline Tensor Tensor::expand(const Argument& size) const {
  return v1::expand(*this, size);
}
inline Tensor Tensor::expand_as(const Tensor& other) const {
  return v1::expand_as(*this, other);
}
inline Tensor Tensor::expm1(const Tensor& out) const {
  return v1::expm1(*this, out);
}
inline Tensor Tensor::fill_(const Scalar& value) const {
  return v1::fill_(*this, value);
}
inline Tensor Tensor::flatten(int64_t start_dim, int64_t end_dim) const {
  return v1::flatten(*this, start_dim, end_dim);
}
inline Tensor Tensor::flip(const Argument& dims) const {
  return v1::flip(*this, dims);
}
inline Tensor Tensor::floor(const Tensor& out) const {
  return v1::floor(*this, out);
}
inline Tensor Tensor::floor_divide(const Argument& other, const Tensor& out) const {
  return v1::floor_divide(*this, other, out);
}
inline Tensor Tensor::full_like(const Scalar& value, DType dtype) const {
  return v1::full_like(*this, value, dtype);
}
inline Tensor Tensor::gather(int64_t dim, const Tensor& index) const {
  return v1::gather(*this, dim, index);
}
inline Tensor Tensor::ge(const Argument& other, const Tensor& out) const {
  return v1::ge(*this, other, out);
}
inline Tensor Tensor::gt(const Argument& other, const Tensor& out) const {
  return v1::gt(*this, other, out);
}
inline Tensor Tensor::index_add(int64_t dim, const Tensor& index, const Tensor& source) const {
  return v1::index_add(*this, dim, index, source);
}
inline Tensor Tensor::index_select(int64_t dim, const Tensor& index) const {
  return v1::index_select(*this, dim, index);
}
inline Tensor Tensor::isfinite() const {
  return v1::isfinite(*this);
}
inline Tensor Tensor::isinf() const {
  return v1::isinf(*this);
}
inline Tensor Tensor::isnan() const {
  return v1::isnan(*this);
}
inline Tensor Tensor::le(const Argument& other, const Tensor& out) const {
  return v1::le(*this, other, out);
}
inline Tensor Tensor::log(const Tensor& out) const {
  return v1::log(*this, out);
}
inline Tensor Tensor::log10(const Tensor& out) const {
  return v1::log10(*this, out);
}
inline Tensor Tensor::log1p(const Tensor& out) const {
  return v1::log1p(*this, out);
}
inline Tensor Tensor::log2(const Tensor& out) const {
  return v1::log2(*this, out);
}
inline Tensor Tensor::logical_and(const Argument& other, const Tensor& out) const {
  return v1::logical_and(*this, other, out);
}
inline Tensor Tensor::logical_not(const Tensor& out) const {
  return v1::logical_not(*this, out);
}
inline Tensor Tensor::logical_or(const Argument& other, const Tensor& out) const {
  return v1::logical_or(*this, other, out);
}
inline Tensor Tensor::logical_xor(const Argument& other, const Tensor& out) const {
  return v1::logical_xor(*this, other, out);
}
inline Tensor Tensor::logsumexp(const Argument& dim, bool keepdim) const {
  return v1::logsumexp(*this, dim, keepdim);
}
inline Tensor Tensor::lt(const Argument& other, const Tensor& out) const {
  return v1::lt(*this, other, out);
}
inline Tensor Tensor::masked_fill(const Tensor& mask, const Scalar& value) const {
  return v1::masked_fill(*this, mask, value);
}
inline Tensor Tensor::matmul(const Tensor& other) const {
  return v1::matmul(*this, other);
}
inline std::tuple<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) const {
  return v1::max(*this, dim, keepdim);
}
inline Tensor Tensor::maximum(const Argument& other, const Tensor& out) const {
  return v1::maximum(*this, other, out);
}
inline Tensor Tensor::mean(const Argument& dim, bool keepdim, DType dtype,
        const Tensor& out) const {
  return v1::mean(*this, dim, keepdim, dtype, out);
}
inline std::tuple<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim) const {
  return v1::min(*this, dim, keepdim);
}
inline Tensor Tensor::minimum(const Argument& other, const Tensor& out) const {
  return v1::minimum(*this, other, out);
}
inline Tensor Tensor::mm(const Tensor& mat2, const Tensor& out) const {
  return v1::mm(*this, mat2, out);
}
inline Tensor Tensor::mul(const Argument& other, const Tensor& out) const {
  return v1::mul(*this, other, out);
}
inline Tensor Tensor::mul_(const Argument& other) const {
  return v1::mul_(*this, other);
}
inline Tensor Tensor::mv(const Tensor& vec) const {
  return v1::mv(*this, vec);
}
inline Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const {
  return v1::narrow(*this, dim, start, length);
}
inline Tensor Tensor::ne(const Argument& other, const Tensor& out) const {
  return v1::ne(*this, other, out);
}
inline Tensor Tensor::neg(const Tensor& out) const {
  return v1::neg(*this, out);
}
inline Tensor Tensor::normal_(double mean, double std) const {
  return v1::normal_(*this, mean, std);
}
inline Tensor Tensor::one_hot(int64_t num_classes) const {
  return v1::one_hot(*this, num_classes);
}
inline Tensor Tensor::ones_like(DType dtype) const {
  return v1::ones_like(*this, dtype);
}
inline Tensor Tensor::outer(const Tensor& vec2) const {
  return v1::outer(*this, vec2);
}
inline Tensor Tensor::permute(const Argument& dims) const {
  return v1::permute(*this, dims);
}
inline Tensor Tensor::pow(const Argument& exponent, const Tensor& out) const {
  return v1::pow(*this, exponent, out);
}
inline Tensor Tensor::prod(const Argument& dim, bool keepdim, DType dtype) const {
  return v1::prod(*this, dim, keepdim, dtype);
}
inline Tensor Tensor::reciprocal(const Tensor& out) const {
  return v1::reciprocal(*this, out);
}
inline Tensor Tensor::relu(const Tensor& out) const {
  return v1::relu(*this, out);
}
inline Tensor Tensor::relu_() const {
  return v1::relu_(*this);
}
inline Tensor Tensor::remainder(const Argument& other, const Tensor& out) const {
  return v1::remainder(*this, other, out);
}
inline Tensor Tensor::reshape(const Argument& shape) const {
  return v1::reshape(*this, shape);
}
inline Tensor Tensor::round(const Tensor& out) const {
  return v1::round(*this, out);
}
inline Tensor Tensor::rsqrt(const Tensor& out) const {
  return v1::rsqrt(*this, out);
}
inline Tensor Tensor::scatter_add(int64_t dim, const Tensor& index, const Tensor& src) const {
  return v1::scatter_add(*this, dim, index, src);
}
inline Tensor Tensor::select(int64_t dim, int64_t index) const {
  return v1::select(*this, dim, index);
}
inline Tensor Tensor::select_scatter(const Tensor& src, int64_t dim, int64_t index) const {
  return v1::select_scatter(*this, src, dim, index);
}
inline Tensor Tensor::sigmoid(const Tensor& out) const {
  return v1::sigmoid(*this, out);
}
inline Tensor Tensor::sign(const Tensor& out) const {
  return v1::sign(*this, out);
}
inline Tensor Tensor::sin(const Tensor& out) const {
  return v1::sin(*this, out);
}
inline Tensor Tensor::sinh(const Tensor& out) const {
  return v1::sinh(*this, out);
}
inline Tensor Tensor::slice(int64_t dim, const Argument& start, const Argument& end,
        int64_t step) const {
  return v1::slice(*this, dim, start, end, step);
}
inline Tensor Tensor::slice_scatter(const Tensor& src, int64_t dim, const Argument& start,
        const Argument& end, int64_t step) const {
  return v1::slice_scatter(*this, src, dim, start, end, step);
}
inline std::vector<Tensor> Tensor::split(const Argument& split_size, int64_t dim) const {
  return v1::split(*this, split_size, dim);
}
inline Tensor Tensor::sqrt(const Tensor& out) const {
  return v1::sqrt(*this, out);
}
inline Tensor Tensor::square(const Tensor& out) const {
  return v1::square(*this, out);
}
inline Tensor Tensor::squeeze(const Argument& dim) const {
  return v1::squeeze(*this, dim);
}
inline Tensor Tensor::std(const Argument& dim, bool keepdim, int64_t correction) const {
  return v1::std(*this, dim, keepdim, correction);
}
inline Tensor Tensor::sub(const Argument& other, const Scalar& alpha, const Tensor& out) const {
  return v1::sub(*this, other, alpha, out);
}
inline Tensor Tensor::sub_(const Argument& other, const Scalar& alpha) const {
  return v1::sub_(*this, other, alpha);
}
inline Tensor Tensor::sum(const Argument& dim, bool keepdim, DType dtype, const Tensor& out) const {
  return v1::sum(*this, dim, keepdim, dtype, out);
}
inline Tensor Tensor::sum_to_size(const Argument& size) const {
  return v1::sum_to_size(*this, size);
}
inline Tensor Tensor::t() const {
  return v1::t(*this);
}
inline Tensor Tensor::tan(const Tensor& out) const {
  return v1::tan(*this, out);
}
inline Tensor Tensor::tanh(const Tensor& out) const {
  return v1::tanh(*this, out);
}
inline Tensor Tensor::to(DType dtype) const {
  return v1::to(*this, dtype);
}
inline Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const {
  return v1::transpose(*this, dim0, dim1);
}
inline Tensor Tensor::tril(int64_t diagonal) const {
  return v1::tril(*this, diagonal);
}
inline Tensor Tensor::triu(int64_t diagonal) const {
  return v1::triu(*this, diagonal);
}
inline Tensor Tensor::trunc(const Tensor& out) const {
  return v1::trunc(*this, out);
}
inline std::vector<Tensor> Tensor::unbind(int64_t dim) const {
  return v1::unbind(*this, dim);
}
inline Tensor Tensor::uniform_(double low, double high) const {
  return v1::uniform_(*this, low, high);
}
inline Tensor Tensor::unsqueeze(int64_t dim) const {
  return v1::unsqueeze(*this, dim);
}
inline Tensor Tensor::var(const Argument& dim, bool keepdim, int64_t correction) const {
  return v1::var(*this, dim, keepdim, correction);
}
inline Tensor Tensor::view(const Argument& shape) const {
  return v1::view(*this, shape);
}
inline Tensor Tensor::zero_() const {
  return v1::zero_(*this);
}
inline Tensor Tensor::zeros_like(DType dtype) const {
  return v1::zeros_like(*this, dtype);
}

// ---- operators: the same ops ----
inline Tensor operator+(const Tensor& a, const Argument& b) { return add(a, b); }
inline Tensor operator+(const Scalar& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Argument& b) { return sub(a, b); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Argument& b) { return mul(a, b); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Argument& b) { return div(a, b); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return div(a, b); }
inline Tensor operator<(const Tensor& a, const Argument& b) { return lt(a, b); }
inline Tensor operator<(const Scalar& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Argument& b) { return le(a, b); }
inline Tensor operator<=(const Scalar& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Argument& b) { return gt(a, b); }
inline Tensor operator>(const Scalar& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Argument& b) { return ge(a, b); }
inline Tensor operator>=(const Scalar& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor& operator+=(Tensor& a, const Argument& b) {
  add_(a, b);
  return a;
}
inline Tensor& operator-=(Tensor& a, const Argument& b) {
  sub_(a, b);
  return a;
}
inline Tensor& operator*=(Tensor& a, const Argument& b) {
  mul_(a, b);
  return a;
}
inline Tensor& operator/=(Tensor& a, const Argument& b) {
  div_(a, b);
  return a;
}

TENON_NAMESPACE_END
// clang-format on
