// vmap: a function of one sample, run on a batch of samples at once.
//
//   const auto distance = [](const Tensor& a, const Tensor& b) { return sum((a - b) * (a - b)); };
//   const Tensor all = vmap(distance)(rows, other_rows);             // one number for each row
//   const Tensor each = vmap(distance, {0, none})(rows, one_row);    // the second is the same for all
//   const Tensor table = vmap(vmap(distance, {none, 0}), {0, none})(rows, other_rows);
//
// The function gets tensors of the shape of one sample (batched.hpp) and calls ops as ever: each op
// runs once for all samples, by its batch rule; without one in a loop over them.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/transforms/batched.hpp"
#include "tenon/transforms/structure.hpp"

TENON_NAMESPACE_BEGIN
namespace transforms {

// One dimension for all arguments or results, or one for each of them; `none`: not batched.
class BatchDims {
 public:
  struct Dim {                                    // dimension of the batch, or none
    Dim(int dimension) : value(dimension) {}      // negative: from the end
    Dim(int64_t dimension) : value(dimension) {}  // negative: from the end
    Dim(None) {}                                  // not batched
    std::optional<int64_t> value;                 // none: not batched
  };
  BatchDims(int dimension) : dims_{Dim(dimension)}, for_all_(true) {}  // for all arguments
  BatchDims(None) : dims_{Dim(none)}, for_all_(true) {}                // none is batched
  BatchDims(std::initializer_list<Dim> dims) : dims_(dims) {}          // one for each
  BatchDims(std::vector<Dim> dims) : dims_(std::move(dims)) {}         // one for each

  bool for_all() const { return for_all_; }                            // one entry for all
  int64_t size() const { return static_cast<int64_t>(dims_.size()); }  // entries
  // None: not batched.
  std::optional<int64_t> at(size_t i) const { return dims_[for_all_ ? 0 : i].value; }

 private:
  std::vector<Dim> dims_;
  bool for_all_ = false;
};

struct VmapOptions {                          // options of vmap
  Randomness randomness = Randomness::error;  // behaviour of random ops
  int64_t chunk_size = 0;                     // samples that run at once; 0: all
};

namespace vmapped {

// A level as long as the scope lives.
class LevelScope {
 public:
  LevelScope(int64_t size, Randomness randomness) {  // enters a level
    transforms_level* level = nullptr;
    call_slot(service_table().begin, size, static_cast<uint32_t>(randomness), &level);
    level_ = Level::take(level);
    vmap_began.store(true, std::memory_order_relaxed);
  }
  ~LevelScope() { service_table().end(level_.get(), nullptr); }
  LevelScope(const LevelScope&) = delete;
  LevelScope& operator=(const LevelScope&) = delete;
  const Level& level() const { return level_; }  // the entered one

 private:
  Level level_;
};

// A tensor among the arguments, with its place for messages.
struct Input {
  Tensor* tensor;              // in the arguments
  std::optional<int64_t> dim;  // none: not batched
  size_t argument;             // from 0
};

// The size of the batch. ValueError where there is none, or several.
inline int64_t batch_size(const std::vector<Input>& inputs) {
  int64_t size = -1;
  bool same = true;
  std::string sizes;
  for (const Input& input : inputs) {
    if (!input.dim) continue;
    const int64_t found = input.tensor->size(*input.dim);
    sizes += (sizes.empty() ? "argument " : ", argument ") + std::to_string(input.argument) +
             " has " + std::to_string(found) + " samples at dimension " +
             std::to_string(*input.dim);
    same = same && (size < 0 || size == found);
    size = found;
  }
  if (size < 0)
    throw ValueError(
        "vmap: no argument is batched: give a tensor and its batch dimension in in_dims");
  if (!same) throw ValueError("vmap: the batch sizes differ: " + sizes);
  return size;
}

// The tensors of all arguments, with their dimensions. IndexError and ValueError where in_dims do
// not fit.
template <class Arguments>
std::vector<Input> find_inputs(Arguments& arguments, const BatchDims& in_dims) {
  constexpr size_t count = std::tuple_size_v<Arguments>;
  if (!in_dims.for_all() && in_dims.size() != static_cast<int64_t>(count))
    throw ValueError("vmap: in_dims has " + std::to_string(in_dims.size()) +
                     " entries, and the function is called with " + std::to_string(count) +
                     " arguments; give one for each");
  std::vector<Input> inputs;
  size_t index = 0;
  const auto look = [&](auto& argument) {
    using T = std::decay_t<decltype(argument)>;
    const std::optional<int64_t> dim = in_dims.at(index);
    if (!Structure<T>::tensors && dim && !in_dims.for_all())
      throw ValueError("vmap: in_dims has " + std::to_string(*dim) + " for argument " +
                       std::to_string(index) + ", which holds no tensor; give none for it");
    Structure<T>::visit(argument, [&](Tensor& tensor) {
      std::optional<int64_t> own = dim;
      if (!tensor.defined()) own.reset();
      if (own && (*own < -tensor.dim() || *own >= tensor.dim()))
        throw IndexError("vmap: in_dims has " + std::to_string(*own) + " for argument " +
                         std::to_string(index) + ", a tensor of " + std::to_string(tensor.dim()) +
                         " dimensions");
      inputs.push_back({&tensor, own, index});
    });
    ++index;
  };
  std::apply([&](auto&... each) { (look(each), ...); }, arguments);
  return inputs;
}

// The results of one run, without their level.
template <class Result>
void open_results(Result& result, const Level& level, const BatchDims& out_dims) {
  static_assert(Structure<Result>::tensors,
                "the function that vmap runs returns tensors, or lists, tuples and maps of them");
  int64_t count = 0;
  Structure<Result>::visit(result, [&](Tensor&) { ++count; });
  if (!out_dims.for_all() && out_dims.size() != count)
    throw ValueError("vmap: out_dims has " + std::to_string(out_dims.size()) +
                     " entries, and the function gives " + std::to_string(count) +
                     " tensors; give one for each");
  size_t index = 0;
  Structure<Result>::visit(result, [&](Tensor& tensor) {
    const std::optional<int64_t> dim = out_dims.at(index);
    const std::string place = "result " + std::to_string(index++);
    if (!tensor.defined()) throw TypeError("vmap: " + place + " is an undefined tensor");
    if (!dim) {
      if (batched_by(tensor, level) != nullptr)
        throw ValueError("vmap: out_dims has none for " + place +
                         ", which differs between samples; give its dimension");
      return;
    }
    if (*dim < -tensor.dim() - 1 || *dim > tensor.dim())
      throw IndexError("vmap: out_dims has " + std::to_string(*dim) + " for " + place +
                       ", which has " + std::to_string(tensor.dim() + 1) +
                       " dimensions with the batch");
    tensor = unbatch(tensor, level, *dim);
  });
}

template <class Function, class Arguments>
auto run(const Function& function, Arguments& arguments, const std::vector<Input>& inputs,
         int64_t size, const BatchDims& out_dims, Randomness randomness) {
  const LevelScope scope(size, randomness);
  for (const Input& input : inputs) {
    if (input.dim) *input.tensor = batch(*input.tensor, scope.level(), *input.dim);
  }
  auto result = std::apply([&](const auto&... each) { return function(each...); }, arguments);
  open_results(result, scope.level(), out_dims);
  return result;
}

}  // namespace vmapped

// The function that vmap returns. Any thread may call it.
template <class Function>
class Vmapped {
 public:
  // See vmap.
  Vmapped(Function function, BatchDims in_dims, BatchDims out_dims, VmapOptions options)
      : function_(std::move(function)),
        in_dims_(std::move(in_dims)),
        out_dims_(std::move(out_dims)),
        options_(options) {
    if (options.chunk_size < 0)
      throw ValueError("vmap: chunk_size is " + std::to_string(options.chunk_size) +
                       ", expected a number of samples, or 0 for all at once");
  }

  template <class... Arguments>
  auto operator()(const Arguments&... arguments) const {  // on a batch
    std::tuple<std::decay_t<Arguments>...> own{arguments...};
    const std::vector<vmapped::Input> inputs = vmapped::find_inputs(own, in_dims_);
    const int64_t size = vmapped::batch_size(inputs);
    const int64_t chunk = options_.chunk_size;
    if (chunk == 0 || size <= chunk)
      return vmapped::run(function_, own, inputs, size, out_dims_, options_.randomness);
    return run_chunks(own, inputs, size, chunk);
  }

 private:
  template <class Arguments>
  auto run_chunks(Arguments& own, const std::vector<vmapped::Input>& inputs, int64_t size,
                  int64_t chunk) const {
    std::vector<Tensor> whole;
    whole.reserve(inputs.size());
    for (const vmapped::Input& input : inputs) whole.push_back(*input.tensor);
    using Result =
        decltype(vmapped::run(function_, own, inputs, size, out_dims_, options_.randomness));
    std::optional<Result> first;
    std::vector<std::vector<Tensor>> pieces;  // by result
    for (int64_t start = 0; start < size; start += chunk) {
      const int64_t length = std::min(chunk, size - start);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].dim)
          *inputs[i].tensor = narrow(whole[i], *inputs[i].dim, start, length);
        else
          *inputs[i].tensor = whole[i];
      }
      Result result = vmapped::run(function_, own, inputs, length, out_dims_, options_.randomness);
      size_t index = 0;
      Structure<Result>::visit(result, [&](Tensor& tensor) {
        if (pieces.size() == index) pieces.emplace_back();
        pieces[index++].push_back(tensor);
      });
      if (!first) first.emplace(std::move(result));
    }
    size_t index = 0;
    Structure<Result>::visit(*first, [&](Tensor& tensor) {
      if (const std::optional<int64_t> dim = out_dims_.at(index)) tensor = cat(pieces[index], *dim);
      ++index;
    });
    return std::move(*first);
  }

  Function function_;
  BatchDims in_dims_, out_dims_;
  VmapOptions options_;
};

// `function` of one sample as a function of a batch. in_dims: the batch dimension of each argument, or
// one for all; none for an argument that all samples share, and for one that holds no tensor. An
// argument is a tensor, a list, tuple or map of tensors, which have one dimension in common, or any
// other value, which the function gets as it is. out_dims: where results have the batch; one for each
// tensor, or one for all. Calls throw ValueError and IndexError where dims and sizes do not fit, and
// what the function throws.
template <class Function>
Vmapped<std::decay_t<Function>> vmap(Function&& function, BatchDims in_dims = 0,
                                     BatchDims out_dims = 0, VmapOptions options = {}) {
  return {static_cast<Function&&>(function), std::move(in_dims), std::move(out_dims), options};
}

}  // namespace transforms

using transforms::vmap;  // NOLINT(misc-unused-using-decls)

TENON_NAMESPACE_END
