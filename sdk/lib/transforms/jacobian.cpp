// Jacobians from rows and columns.
#include <algorithm>
#include <mutex>
#include <set>

#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>
#include <tenon/transforms/checkpoint.hpp>
#include <tenon/transforms/jacobian.hpp>
#include <tenon/transforms/vmap.hpp>

TENON_NAMESPACE_BEGIN
namespace transforms::derived {

namespace {

using Rows = std::function<Tensors(const Tensor&)>;

// Random numbers of the first row, for each row: it is one function whose Jacobian is taken.
class SameDraws {
 public:
  void begin_row() {
    if (begun_) set_generator_state(start_);
    begun_ = true;
  }

 private:
  Draws start_ = generator_state();
  bool begun_ = false;
};

// Once for each reason, of the first ones: texts may have numbers of the call.
void log_rows(const char* who, const std::string& reason) {
  static std::mutex mutex;
  static std::set<std::string> known;
  constexpr size_t most = 100;
  const std::string line =
      std::string(who) + " computes one row after the other, since all at once fail: " + reason;
  const std::lock_guard lock(mutex);
  if (known.size() >= most || !known.insert(line).second) return;
  service::threads().log(3, "transforms", line.c_str(), static_cast<int64_t>(line.size()));
}

// The results for all rows of a tensor, which are the first dimension of each: of `batched` for a chunk of
// rows at a time, or, where an op within takes no batch, of `function` for one at a time.
Tensors map_rows(const char* who, const Rows& batched, const Rows& function, const Tensor& rows,
                 const JacobianOptions& options) {
  const int64_t count = rows.size(0);
  std::vector<Tensors> lists;  // by result
  SameDraws draws;
  std::string reason;  // why not all at once
  const auto keep = [&](const Tensors& results) {
    lists.resize(results.size());
    for (size_t r = 0; r < results.size(); ++r) lists[r].push_back(results[r]);
  };
  const auto joined = [&] {
    Tensors all;
    for (const Tensors& list : lists) all.push_back(list.size() == 1 ? list[0] : cat(list, 0));
    return all;
  };
  // One row needs no batch, and runs in fewer calls.
  if (count > 1 && options.chunk_size != 1) {
    const int64_t chunk = options.chunk_size == 0 ? count : options.chunk_size;
    try {
      for (int64_t start = 0; start < count; start += chunk) {
        draws.begin_row();
        keep(batched(narrow(rows, 0, start, std::min(chunk, count - start))));
      }
      return joined();
    } catch (const Error& error) {
      if (error.kind() == TENON_ERROR_INTERRUPTED || error.kind() == TENON_ERROR_MEMORY) throw;
      // A function that looks at elements, for example; what fails in the loop, too, is thrown there.
      lists.clear();
      reason = error.what();
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    draws.begin_row();
    Tensors results = function(select(rows, 0, i));
    for (Tensor& result : results) result = unsqueeze(result, 0);
    keep(results);
  }
  if (!reason.empty()) log_rows(who, reason);
  return joined();
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
      rows = map_rows(
          "jacrev", [&](const Tensor& seeds) { return pullback.of_each(r, seeds); },
          [&](const Tensor& seed) { return pullback.of(r, seed); }, basis_of(result), options);
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
    const auto all_columns = [&](const Tensor& rows) {
      const int64_t before = recompute::count_begun();
      Tensors results = vmap(column, 0, 0, {Randomness::same})(rows);
      const bool recorded = std::any_of(results.begin(), results.end(),
                                        [](const Tensor& each) { return each.requires_grad(); });
      // It would run again after its vmap has ended.
      if (recorded && recompute::count_begun() != before)
        throw RuntimeError("jacfwd: a checkpoint is differentiated behind a vmap");
      return results;
    };
    add(map_rows("jacfwd", all_columns, column, basis_of(input), options),
        [&](const Tensor& columns) {
          std::vector<int64_t> shape(columns.shape().begin() + 1, columns.shape().end());
          shape.insert(shape.end(), input.shape().begin(), input.shape().end());
          return reshape(movedim(columns, {0}, {-1}), shape);
        });
  }
  return parts;
}

}  // namespace transforms::derived
TENON_NAMESPACE_END
