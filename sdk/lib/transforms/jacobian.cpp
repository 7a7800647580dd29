// Jacobians from rows and columns.
#include <tenon/ops.hpp>
#include <tenon/transforms/jacobian.hpp>

TENON_NAMESPACE_BEGIN
namespace transforms::derived {

namespace {

// Calls the function for each row of a tensor, and joins its results along a new first dimension.
Tensors map_rows(const std::function<Tensors(const Tensor&)>& function, const Tensor& rows,
                 const JacobianOptions&) {
  std::vector<Tensors> lists;  // by result
  for (int64_t i = 0; i < rows.size(0); ++i) {
    const Tensors results = function(select(rows, 0, i));
    lists.resize(results.size());
    for (size_t r = 0; r < results.size(); ++r) lists[r].push_back(results[r]);
  }
  Tensors joined;
  for (const Tensors& list : lists) joined.push_back(stack(list, 0));
  return joined;
}

void check_options(const char* who, const JacobianOptions& options) {
  if (options.chunk_size < 0)
    throw ValueError(std::string(who) + ": chunk_size is " + std::to_string(options.chunk_size) +
                     ", expected a number of rows, or 0 for all at once");
}

void check_real(const char* who, const char* what, const Tensor& tensor) {
  if (is_floating(tensor.dtype())) return;
  throw TypeError(std::string(who) + ": " + what + " is " + dtype_text(tensor.dtype()) +
                  ", and a Jacobian is that of real numbers; " +
                  (is_complex(tensor.dtype()) ? "take it of view_as_real() of the tensor"
                                              : "convert it with to(float32)"));
}

// One row for each element: 1 there and 0 elsewhere, in the shape of the tensor.
Tensor basis_of(const Tensor& tensor) {
  const int64_t count = tensor.numel();
  std::vector<int64_t> shape = tensor.sizes();
  shape.insert(shape.begin(), count);
  Tensor rows = zeros(shape, f32);
  for (int64_t i = 0; i < count; ++i) rows.data<float>()[i * (count + 1)] = 1;
  return rows.to(tensor.dtype());
}

std::vector<int64_t> joined_shape(const Tensor& front, const Tensor& back) {
  std::vector<int64_t> shape = front.sizes();
  shape.insert(shape.end(), back.shape().begin(), back.shape().end());
  return shape;
}

}  // namespace

std::vector<Tensors> jacobian_rows(const Pullback& pullback, const Tensors& inputs,
                                   const JacobianOptions& options) {
  check_options("jacrev", options);
  for (const Tensor& input : inputs) check_real("jacrev", "an input", input);
  std::vector<Tensors> parts;
  for (size_t r = 0; r < pullback.results().size(); ++r) {
    const Tensor& result = pullback.results()[r];
    check_real("jacrev", "a result", result);
    Tensors rows;
    if (result.numel() != 0) {
      rows = map_rows([&](const Tensor& seed) { return pullback.of(r, seed); }, basis_of(result),
                      options);
    }
    Tensors jacobians;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::vector<int64_t> shape = joined_shape(result, inputs[i]);
      jacobians.push_back(rows.empty() ? zeros(shape, result.dtype()) : reshape(rows[i], shape));
    }
    parts.push_back(std::move(jacobians));
  }
  return parts;
}

std::vector<Tensors> jacobian_columns(const std::function<Tensors(const Tensors&)>& derivative,
                                      const Tensors& inputs, const JacobianOptions& options) {
  check_options("jacfwd", options);
  Tensors nothing;
  for (const Tensor& input : inputs) {
    check_real("jacfwd", "an input", input);
    nothing.push_back(zeros(input.sizes(), input.dtype()));
  }
  std::vector<Tensors> parts;
  const auto add = [&](const Tensors& results, const auto& jacobian) {
    parts.resize(results.size());
    for (size_t r = 0; r < results.size(); ++r) parts[r].push_back(jacobian(results[r]));
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = inputs[i];
    if (input.numel() == 0) {
      add(derivative(nothing),
          [&](const Tensor& result) { return zeros(joined_shape(result, input), result.dtype()); });
      continue;
    }
    const auto column = [&](const Tensor& tangent) {
      Tensors tangents = nothing;
      tangents[i] = tangent;
      Tensors results = derivative(tangents);
      for (const Tensor& result : results) check_real("jacfwd", "a result", result);
      return results;
    };
    add(map_rows(column, basis_of(input), options), [&](const Tensor& columns) {
      std::vector<int64_t> shape(columns.shape().begin() + 1, columns.shape().end());
      shape.insert(shape.end(), input.shape().begin(), input.shape().end());
      return reshape(movedim(columns, {0}, {-1}), shape);
    });
  }
  return parts;
}

}  // namespace transforms::derived
TENON_NAMESPACE_END
