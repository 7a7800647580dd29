// The product of two labelled tensors, through bmm.
#include "contraction.hpp"

#include <algorithm>

namespace blas {

namespace {

Tensor ordered(const Labelled& x, const std::vector<int>& labels) {
  std::vector<int64_t> order;
  bool sorted = true;
  for (const int label : labels) {
    order.push_back(position_of(x.labels, label));
    sorted = sorted && order.back() == static_cast<int64_t>(order.size()) - 1;
  }
  return sorted ? x.tensor : x.tensor.permute(order);
}

int64_t size_of(const Labelled& x, int label) {
  return x.tensor.shape()[position_of(x.labels, label)];
}
int64_t count_of(const Labelled& x, const std::vector<int>& labels) {
  int64_t count = 1;
  for (const int label : labels) count *= size_of(x, label);
  return count;
}

// Dimensions of size 1 that are larger in the other disappear: what is left is not broadcast.
void drop_broadcast(Labelled& x, const Labelled& other) {
  for (int64_t i = static_cast<int64_t>(x.labels.size()) - 1; i >= 0; --i) {
    const int label = x.labels[static_cast<size_t>(i)];
    if (x.tensor.shape()[i] != 1 || position_of(other.labels, label) < 0 ||
        size_of(other, label) == 1)
      continue;
    x.tensor = x.tensor.squeeze(i);
    x.labels.erase(x.labels.begin() + i);
  }
}

// With a dimension of 1 for each label of `all` that it lacks.
Tensor spread(const Labelled& x, const std::vector<int>& all) {
  std::vector<int> own;
  std::vector<int64_t> shape;
  for (const int label : all) {
    const bool has = position_of(x.labels, label) >= 0;
    if (has) own.push_back(label);
    shape.push_back(has ? size_of(x, label) : 1);
  }
  return ordered(x, own).reshape(shape);
}

std::vector<int> joined(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

int64_t position_of(const std::vector<int>& labels, int label) {
  const auto at = std::find(labels.begin(), labels.end(), label);
  return at == labels.end() ? -1 : at - labels.begin();
}

Labelled contract(Labelled a, Labelled b, const std::vector<bool>& keep) {
  drop_broadcast(a, b);
  drop_broadcast(b, a);
  const auto kept = [&](int label) { return keep[static_cast<size_t>(label)]; };
  const auto stays = [&](const Labelled& other) {
    return [&](int label) { return kept(label) || position_of(other.labels, label) >= 0; };
  };
  a = summed(a, stays(b));
  b = summed(b, stays(a));
  std::vector<int> batch, left, right, inner;
  for (const int label : a.labels) {
    if (position_of(b.labels, label) < 0)
      left.push_back(label);
    else
      (kept(label) ? batch : inner).push_back(label);
  }
  for (const int label : b.labels) {
    if (position_of(a.labels, label) < 0) right.push_back(label);
  }
  Labelled result;
  result.labels = joined(joined(batch, left), right);
  if (inner.empty()) {
    result.tensor = spread(a, result.labels) * spread(b, result.labels);
    return result;
  }
  const int64_t batches = count_of(a, batch), rows = count_of(a, left), depth = count_of(a, inner),
                columns = count_of(b, right);
  std::vector<int64_t> shape;
  for (const int label : joined(batch, left)) shape.push_back(size_of(a, label));
  for (const int label : right) shape.push_back(size_of(b, label));
  const Tensor first = ordered(a, joined(joined(batch, left), inner));
  const Tensor second = ordered(b, joined(joined(batch, inner), right));
  const Tensor product =
      batch.empty()
          ? first.reshape({rows, depth}).mm(second.reshape({depth, columns}))
          : first.reshape({batches, rows, depth}).bmm(second.reshape({batches, depth, columns}));
  result.tensor = product.reshape(shape);
  return result;
}

}  // namespace blas
