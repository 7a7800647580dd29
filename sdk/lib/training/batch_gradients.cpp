// Shares and parts of batches, and how their gradients are put together.
#include <cmath>
#include <map>

#include <tenon/autograd.hpp>
#include <tenon/ops.hpp>
#include <tenon/parallel.hpp>
#include <tenon/training/batch_gradients.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

// The rows of part `index` of `count`: as equal as whole rows can be.
Samples part_of(const Samples& batch, int64_t index, int64_t count) {
  const int64_t rows = batch.count();
  const int64_t begin = index * rows / count, end = (index + 1) * rows / count;
  return batch.narrow(begin, end - begin);
}

// Own draws for one part of one step: ranks that draw differently often continue alike.
class PartDraws {
 public:
  PartDraws(int64_t step, int64_t part) : outer_(generator_state()) {
    Draws own;
    own.seed = Draws{outer_.seed, static_cast<uint64_t>(step)}.bits(part << 32);
    set_generator_state(own);
  }
  ~PartDraws() { set_generator_state(outer_); }
  PartDraws(const PartDraws&) = delete;
  PartDraws& operator=(const PartDraws&) = delete;

 private:
  Draws outer_;
};

void require_finite(size_t rank, double loss) {
  if (std::isfinite(loss)) return;
  throw ValueError(lib::format_text("training diverged: the loss of rank {} is {}", rank,
                                    std::isnan(loss) ? "nan" : "infinite"));
}

}  // namespace

BatchGradients::BatchGradients(const Ranks& ranks, std::function<Tensor(const Samples&)> loss_of,
                               bool sums, std::vector<Tensor> parameters, bool shards)
    : ranks_(ranks),
      loss_of_(std::move(loss_of)),
      sums_(sums),
      parameters_(parameters),
      buckets_(ranks.parts() > 0 ? Ranks() : ranks, std::move(parameters), shards) {}

BatchGradients::Result BatchGradients::operator()(const Samples& batch, int64_t step) {
  if (ranks_.parts() > 0) return parts(batch, step);
  if (!ranks_.alone()) return share(batch, step);
  const double loss = backward(batch, 1);
  return {loss, interrupt_requested()};
}

// The loss of some samples, of which the batch's is the weighted sum.
double BatchGradients::backward(const Samples& part, double weight) {
  const Tensor value = loss_of_(part);
  const double loss = value.item();
  if (!std::isfinite(loss)) return loss;  // the training ends
  if (weight == 1)
    value.backward();
  else
    (value * weight).backward();
  return loss * weight;
}

BatchGradients::Result BatchGradients::share(const Samples& batch, int64_t step) {
  const Samples own = part_of(batch, ranks_.rank(), ranks_.size());
  const auto whole = static_cast<double>(batch.count());
  const auto rank = static_cast<size_t>(ranks_.rank()), size = static_cast<size_t>(ranks_.size());
  // Each rank's loss, then how many ranks stop.
  std::vector<double> numbers(size + 1, 0.0);
  {
    const PartDraws draws(step, ranks_.rank());
    // A rank without a sample goes through the same calls as the others, with one that counts
    // nothing.
    if (own.count() == 0)
      numbers[rank] = backward(batch.narrow(0, 1), 0);
    else
      numbers[rank] = backward(own, sums_ ? 1 : static_cast<double>(own.count()) / whole);
  }
  numbers[size] = interrupt_requested() ? 1 : 0;
  numbers = buckets_.finish(std::move(numbers));
  double total = 0;
  for (size_t k = 0; k < size; ++k) {
    require_finite(k, numbers[k]);
    total += numbers[k];
  }
  return {total, numbers[size] > 0};
}

// The gradients of all parts, each computed alone and added up in their order: the same bits for
// every number of ranks.
BatchGradients::Result BatchGradients::parts(const Samples& batch, int64_t step) {
  const int64_t mine = ranks_.parts() / ranks_.size(), first = ranks_.rank() * mine;
  const auto whole = static_cast<double>(batch.count());
  // One row for each part and dtype: all gradients, each with a flag that it is there.
  std::map<DType, int64_t> widths;
  for (const Tensor& parameter : parameters_)
    widths[compute_dtype(parameter.dtype())] += parameter.numel() + 1;
  std::map<DType, Tensor> rows;
  for (const auto& [dtype, width] : widths) {
    rows[dtype] = empty_tensor({mine, width}, dtype);
    fill_elements(rows[dtype], 0);
  }
  // The losses of the parts, then whether the rank stops.
  const Tensor numbers = empty_tensor({1, mine + 1}, f64);
  fill_elements(numbers, 0);
  for (int64_t k = 0; k < mine; ++k) {
    const Samples part = part_of(batch, first + k, ranks_.parts());
    if (part.count() == 0) continue;
    const PartDraws draws(step, first + k);
    numbers.data<double>()[k] =
        backward(part, sums_ ? 1 : static_cast<double>(part.count()) / whole);
    const NoGrad no_grad;
    std::map<DType, int64_t> at;
    for (Tensor& parameter : parameters_) {
      const DType dtype = compute_dtype(parameter.dtype());
      const Tensor row = rows[dtype].select(0, k);
      int64_t& column = at[dtype];
      if (const Tensor gradient = parameter.grad(); gradient.defined()) {
        copy_elements(narrow(row, 0, column, parameter.numel()), gradient.detach().reshape({-1}));
        fill_elements(narrow(row, 0, column + parameter.numel(), 1), 1);
        parameter.set_grad({});
      }
      column += parameter.numel() + 1;
    }
  }
  if (interrupt_requested()) numbers.data<double>()[mine] = 1;
  const NoGrad no_grad;
  const auto in_order = [](const Tensor& all) {
    Tensor total = all.select(0, 0).clone();
    for (int64_t k = 1; k < all.size(0); ++k) total = total + all.select(0, k);
    return total;
  };
  std::map<DType, Tensor> totals;
  for (const auto& [dtype, own] : rows) totals[dtype] = in_order(ranks_.gather_equal(own));
  std::map<DType, int64_t> at;
  for (Tensor& parameter : parameters_) {
    const DType dtype = compute_dtype(parameter.dtype());
    const Tensor& total = totals[dtype];
    int64_t& column = at[dtype];
    if (narrow(total, 0, column + parameter.numel(), 1).item() != 0) {
      parameter.set_grad(narrow(total, 0, column, parameter.numel())
                             .reshape(parameter.shape())
                             .to(parameter.dtype())
                             .clone());
    }
    column += parameter.numel() + 1;
  }
  const Tensor all = ranks_.gather_equal(numbers);
  Result result{0, false};
  for (int64_t rank = 0; rank < all.size(0); ++rank) {
    const double* const row = all.data<double>() + rank * (mine + 1);
    for (int64_t k = 0; k < mine; ++k) {
      if (!ranks_.alone()) require_finite(static_cast<size_t>(rank), row[k]);
      result.loss += row[k];
    }
    result.stopped = result.stopped || row[mine] > 0;
  }
  return result;
}

}  // namespace training

TENON_NAMESPACE_END
