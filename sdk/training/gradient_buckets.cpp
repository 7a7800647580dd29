// Buckets of gradients on their way between ranks.
#include <algorithm>
#include <numeric>

#include <tenon/autograd.hpp>
#include <tenon/ops.hpp>
#include <tenon/training/gradient_buckets.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

// What the hooks of parameters share with the object.
struct GradientBuckets::State {
  std::vector<Tensor> parameters;
  std::vector<Hook> hooks;
  std::vector<size_t> order;      // in which gradients were complete, before there is a plan
  std::vector<Bucket> buckets;    // empty: there is no plan yet
  std::vector<size_t> bucket_of;  // of each parameter
  size_t next = 0;                // the bucket that begins next
  Op begin{"distributed.begin_all_reduce_"}, wait{"distributed.wait"},
      progress{"distributed.progress"};

  void arrived(size_t parameter);
  void fill(Bucket& bucket) const;
  void begin_next();
};

namespace {

// f16 and bf16 are summed in f32.
int64_t bytes_of(const Tensor& parameter) {
  return parameter.numel() * static_cast<int64_t>(element_size(compute_dtype(parameter.dtype())));
}

}  // namespace

GradientBuckets::GradientBuckets(const Ranks& ranks, std::vector<Tensor> parameters)
    : ranks_(ranks) {
  if (ranks_.alone()) return;
  state_ = std::make_unique<State>();
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
  progress.call<void>();
}

void GradientBuckets::State::fill(Bucket& bucket) const {
  const int64_t count = static_cast<int64_t>(bucket.parameters.size());
  const int64_t flags = bucket.buffer.numel() - count;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& parameter = parameters[bucket.parameters[static_cast<size_t>(i)]];
    const Tensor gradient = parameter.grad();
    const Tensor place =
        narrow(bucket.buffer, 0, bucket.offsets[static_cast<size_t>(i)], parameter.numel());
    if (gradient.defined())
      copy_elements(place, gradient.detach().reshape({-1}));
    else
      fill_elements(place, 0);
    fill_elements(narrow(bucket.buffer, 0, flags + i, 1), gradient.defined() ? 1 : 0);
  }
}

void GradientBuckets::State::begin_next() {
  const NoGrad no_grad;
  Bucket& bucket = buckets[next++];
  fill(bucket);
  bucket.handle = begin.call<int64_t>(bucket.buffer);
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
  std::vector<int64_t> sizes;
  for (int64_t k = 0; k < order.numel(); ++k) {
    const auto parameter = static_cast<size_t>(order.data<int64_t>()[k]);
    const Tensor& tensor = state.parameters[parameter];
    const DType dtype = compute_dtype(tensor.dtype());
    const bool fits =
        !state.buckets.empty() &&
        compute_dtype(state.parameters[state.buckets.back().parameters.front()].dtype()) == dtype &&
        sizes.back() + bytes_of(tensor) <= ranks_.bucket_bytes();
    if (!fits) {
      state.buckets.emplace_back();
      sizes.push_back(0);
    }
    Bucket& bucket = state.buckets.back();
    bucket.offsets.push_back(sizes.back() / static_cast<int64_t>(element_size(dtype)));
    bucket.parameters.push_back(parameter);
    sizes.back() += bytes_of(tensor);
    state.bucket_of[parameter] = state.buckets.size() - 1;
  }
  for (size_t k = 0; k < state.buckets.size(); ++k) {
    Bucket& bucket = state.buckets[k];
    const DType dtype = compute_dtype(state.parameters[bucket.parameters.front()].dtype());
    bucket.buffer = empty_tensor({sizes[k] / static_cast<int64_t>(element_size(dtype)) +
                                  static_cast<int64_t>(bucket.parameters.size())},
                                 dtype);
  }
}

void GradientBuckets::finish() {
  if (ranks_.alone()) return;
  const NoGrad no_grad;
  State& state = *state_;
  if (state.buckets.empty()) plan();
  while (state.next < state.buckets.size()) state.begin_next();
  for (Bucket& bucket : state.buckets) {
    state.wait.call<void>(bucket.handle);
    const int64_t count = static_cast<int64_t>(bucket.parameters.size());
    const int64_t flags = bucket.buffer.numel() - count;
    for (int64_t i = 0; i < count; ++i) {
      Tensor& parameter = state.parameters[bucket.parameters[static_cast<size_t>(i)]];
      if (narrow(bucket.buffer, 0, flags + i, 1).item() == 0) continue;  // on no rank
      Tensor gradient = parameter.grad();
      if (!gradient.defined()) {
        gradient = empty_tensor(parameter.shape(), parameter.dtype());
        parameter.set_grad(gradient);
      }
      copy_elements(
          gradient.detach(),
          narrow(bucket.buffer, 0, bucket.offsets[static_cast<size_t>(i)], parameter.numel())
              .reshape(parameter.shape()));
    }
    bucket.missing = bucket.parameters.size();
  }
  state.next = 0;
}

}  // namespace training

TENON_NAMESPACE_END
