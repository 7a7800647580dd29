// Buckets of gradients on their way between ranks.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <tenon/autograd.hpp>
#include <tenon/ops.hpp>
#include <tenon/training/gradient_buckets.hpp>
#include <tenon/training/shard.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

// State that the hooks of parameters share with the object.
struct GradientBuckets::State {
  Ranks ranks;
  bool shards;
  std::vector<Tensor> parameters;
  std::vector<Hook> hooks;
  std::vector<size_t> order;      // in which gradients were complete, before there is a plan
  std::vector<Bucket> buckets;    // empty: there is no plan yet
  std::vector<size_t> bucket_of;  // bucket of each parameter
  size_t next = 0;                // the bucket that begins next
  Op begin{"distributed.begin_all_reduce_"}, wait{"distributed.wait"};
  std::optional<Op> scatter;  // with shards

  // On how many ranks each parameter has a gradient, and what the caller adds.
  std::vector<double> numbers;

  void arrived(size_t parameter);
  // Elements of a bucket's last dimension.
  int64_t extent(const Tensor& parameter) const {
    return shards ? shard_width(ranks, parameter) : parameter.numel();
  }
  bool fits_as_it_is(const Tensor& gradient) const;
  void fill(Bucket& bucket);
  void place(const Bucket& bucket, size_t i, const Tensor& gradient) const;
  void begin_next();
  void receive(Tensor& parameter, const Bucket& bucket, size_t i) const;
};

namespace {

// A gradient of this part of a bucket is reduced where it is: copying it costs more than a message.
constexpr int64_t kAlone = 8;

// f16 and bf16 are summed in f32.
int64_t bytes_of(const Tensor& parameter) {
  return parameter.numel() * static_cast<int64_t>(element_size(compute_dtype(parameter.dtype())));
}

}  // namespace

GradientBuckets::GradientBuckets(const Ranks& ranks, std::vector<Tensor> parameters, bool shards)
    : ranks_(ranks) {
  if (ranks_.alone()) return;
  state_ = std::make_unique<State>();
  state_->ranks = ranks;
  state_->shards = shards;
  if (shards) state_->scatter.emplace("distributed.begin_reduce_scatter");
  state_->parameters = std::move(parameters);
  for (size_t i = 0; i < state_->parameters.size(); ++i) {
    state_->hooks.push_back(state_->parameters[i].register_post_accumulate_grad_hook(
        [state = state_.get(), i](const Tensor&) { state->arrived(i); }));
  }
}

GradientBuckets::~GradientBuckets() {
  if (state_ == nullptr) return;
  for (const Hook& hook : state_->hooks) hook.remove();
}

void GradientBuckets::State::arrived(size_t parameter) {
  if (buckets.empty()) {
    if (std::find(order.begin(), order.end(), parameter) == order.end()) order.push_back(parameter);
    return;
  }
  Bucket& bucket = buckets[bucket_of[parameter]];
  if (bucket.missing > 0) --bucket.missing;
  while (next < buckets.size() && buckets[next].missing == 0) begin_next();
}

bool GradientBuckets::State::fits_as_it_is(const Tensor& gradient) const {
  return gradient.defined() && gradient.is_contiguous() &&
         gradient.dtype() == compute_dtype(gradient.dtype()) &&
         (!shards || gradient.numel() % ranks.size() == 0);
}

// A gradient that fills a bucket alone is reduced where it is.
void GradientBuckets::State::fill(Bucket& bucket) {
  const bool alone = bucket.parameters.size() == 1;
  const int64_t rows = shards ? ranks.size() : 1;
  for (size_t i = 0; i < bucket.parameters.size(); ++i) {
    const Tensor& parameter = parameters[bucket.parameters[i]];
    const Tensor gradient = parameter.grad();
    numbers[bucket.parameters[i]] = gradient.defined() ? 1 : 0;
    if (alone && fits_as_it_is(gradient)) {
      bucket.buffer = gradient.detach();
      if (shards) bucket.buffer = bucket.buffer.reshape({rows, bucket.elements});
      return;
    }
    if (!bucket.buffer.defined() || alone) {
      bucket.buffer = empty_tensor({rows, bucket.elements}, compute_dtype(parameter.dtype()));
      fill_elements(bucket.buffer, 0);
    }
    place(bucket, i, gradient);
  }
}

// A gradient's elements, or zeros, in each row.
void GradientBuckets::State::place(const Bucket& bucket, size_t i, const Tensor& gradient) const {
  const int64_t width = extent(parameters[bucket.parameters[i]]);
  const Tensor columns = narrow(bucket.buffer, 1, bucket.offsets[i], width);
  if (!gradient.defined()) return fill_elements(columns, 0);
  const Tensor flat = gradient.detach().reshape({-1});
  for (int64_t row = 0; row < columns.size(0); ++row) {
    const int64_t first = std::min(row * width, flat.numel());
    const int64_t count = std::min(width, flat.numel() - first);
    copy_elements(narrow(columns.select(0, row), 0, 0, count), narrow(flat, 0, first, count));
  }
}

void GradientBuckets::State::begin_next() {
  const NoGrad no_grad;
  Bucket& bucket = buckets[next++];
  fill(bucket);
  if (!shards) {
    bucket.handle = begin.call<int64_t>(bucket.buffer);
    return;
  }
  if (!bucket.shard.defined())
    bucket.shard = empty_tensor({1, bucket.elements}, bucket.buffer.dtype());
  bucket.handle = scatter->call<int64_t>(bucket.buffer, bucket.shard);
}

void GradientBuckets::plan() {
  State& state = *state_;
  const size_t count = state.parameters.size();
  for (size_t i = 0; i < count; ++i) {
    if (std::find(state.order.begin(), state.order.end(), i) == state.order.end())
      state.order.push_back(i);
  }
  // The first rank's order is everybody's.
  const Tensor order = empty_tensor({static_cast<int64_t>(count)}, i64);
  std::copy(state.order.begin(), state.order.end(), order.data<int64_t>());
  ranks_.share({{"order", order}});
  state.bucket_of.assign(count, 0);
  std::map<DType, Bucket> open;
  const auto close = [&](Bucket& bucket) {
    for (const size_t parameter : bucket.parameters)
      state.bucket_of[parameter] = state.buckets.size();
    state.buckets.push_back(std::exchange(bucket, {}));
  };
  for (int64_t k = 0; k < order.numel(); ++k) {
    const auto parameter = static_cast<size_t>(order.data<int64_t>()[k]);
    const Tensor& tensor = state.parameters[parameter];
    const DType dtype = compute_dtype(tensor.dtype());
    const int64_t bytes = bytes_of(tensor), width = static_cast<int64_t>(element_size(dtype));
    const bool alone = bytes >= ranks_.bucket_bytes() / kAlone;
    Bucket own;
    Bucket& bucket = alone ? own : open[dtype];
    if (bucket.elements * width + bytes > ranks_.bucket_bytes() && !bucket.parameters.empty())
      close(bucket);
    bucket.offsets.push_back(bucket.elements);
    bucket.parameters.push_back(parameter);
    bucket.elements += state.extent(tensor);
    if (alone) close(bucket);
  }
  for (auto& [dtype, bucket] : open)
    if (!bucket.parameters.empty()) close(bucket);
  state.numbers.resize(count);
}

std::vector<double> GradientBuckets::finish(std::vector<double> numbers) {
  if (ranks_.alone()) return numbers;
  const NoGrad no_grad;
  State& state = *state_;
  if (state.buckets.empty()) plan();
  while (state.next < state.buckets.size()) state.begin_next();
  const size_t count = state.parameters.size();
  state.numbers.resize(count);
  state.numbers.insert(state.numbers.end(), numbers.begin(), numbers.end());
  const Tensor sums = from_range(state.numbers.begin(), state.numbers.end());
  const auto begun = state.begin.call<int64_t>(sums);
  for (Bucket& bucket : state.buckets) state.wait.call<void>(bucket.handle);
  state.wait.call<void>(begun);
  for (Bucket& bucket : state.buckets) {
    for (size_t i = 0; i < bucket.parameters.size(); ++i) {
      const size_t at = bucket.parameters[i];
      if (sums.data<double>()[at] > 0) state.receive(state.parameters[at], bucket, i);
    }
    // A gradient itself: its memory is free for that of the next step once the parameter drops it.
    if (bucket.parameters.size() == 1) bucket.buffer = Tensor();
    bucket.missing = bucket.parameters.size();
  }
  state.next = 0;
  std::copy(sums.data<double>() + count, sums.data<double>() + sums.numel(), numbers.begin());
  return numbers;
}

// The sum becomes the gradient, or this rank's shard of it.
void GradientBuckets::State::receive(Tensor& parameter, const Bucket& bucket, size_t i) const {
  Tensor gradient = parameter.grad();
  const bool in_place =
      gradient.defined() && gradient.view_record().data == bucket.buffer.view_record().data;
  if (in_place && !shards) return;
  if (!gradient.defined() || (shards && !gradient.is_contiguous())) {
    gradient = empty_tensor(parameter.shape(), parameter.dtype());
    parameter.set_grad(gradient);
  }
  if (shards) {
    const Tensor own = shard_of(ranks, gradient);
    copy_elements(own, narrow(bucket.shard.select(0, 0), 0, bucket.offsets[i], own.numel()));
    return;
  }
  copy_elements(gradient.detach(),
                narrow(bucket.buffer.reshape({-1}), 0, bucket.offsets[i], parameter.numel())
                    .reshape(parameter.shape()));
}

}  // namespace training

TENON_NAMESPACE_END
