// Tensors of random shapes, layouts and dtypes, and their lines as doubles: for references that walk
// elements.
#pragma once

#include <limits>
#include <random>
#include <vector>

#include "compare.hpp"

namespace random_inputs {

using tenon::DType;
using tenon::Tensor;
using Sizes = std::vector<int64_t>;

class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}
  int64_t below(int64_t count) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(count));
  }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }
  // Sizes of 0 and 1 among them.
  Sizes shape(int64_t least_rank = 0, int64_t most_rank = 4) {
    Sizes sizes;
    for (int64_t i = between(least_rank, most_rank); i > 0; --i)
      sizes.push_back(chance(8) ? 0 : between(1, 5));
    return sizes;
  }
  DType dtype() {
    return of(std::vector<DType>{tenon::f32, tenon::f64, tenon::f64, tenon::boolean, tenon::u8,
                                 tenon::i8, tenon::i16, tenon::i32, tenon::i64});
  }
  // Few different numbers, so that many are equal; NaN, infinities and both zeros where `special`.
  Tensor tensor(const Sizes& sizes, DType dtype, bool special = true) {
    const Tensor result = tenon::empty_tensor(
        tenon::IntList(sizes.data(), static_cast<int64_t>(sizes.size())), dtype);
    // Complex ones are drawn part by part.
    const int64_t count = result.numel() * (tenon::is_complex(dtype) ? 2 : 1);
    tenon::visit(tenon::real_dtype(dtype), [&](auto zero) {
      using T = decltype(zero);
      T* to = static_cast<T*>(result.view_record().data);
      for (int64_t i = 0; i < count; ++i) {
        to[i] = static_cast<T>(std::is_signed_v<T> ? between(-4, 4) : between(0, 6));
        if constexpr (std::is_floating_point_v<T>) {
          const T inf = std::numeric_limits<T>::infinity();
          to[i] *= static_cast<T>(0.37);
          if (special && chance(15))
            to[i] = of(std::vector<T>{inf, -inf, std::numeric_limits<T>::quiet_NaN(), T{0}, -T{0}});
        }
      }
    });
    return laid_out(result);
  }

 private:
  // The elements in another layout: dimensions in another order, steps between elements.
  Tensor laid_out(const Tensor& tensor) {
    if (tensor.dim() == 0 || chance(40)) return tensor;
    Sizes order;
    for (int64_t i = 0; i < tensor.dim(); ++i) order.insert(order.begin() + between(0, i), i);
    const Tensor turned = tensor.permute(order).contiguous();
    Sizes back(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    if (chance(50)) return turned.permute(back);
    return tenon::stack({turned, turned}, -1).select(-1, 0).permute(back);
  }
  std::mt19937_64 engine_;
};

// The elements of a tensor along one dimension, line by line, as doubles.
struct LinesOf {
  std::vector<std::vector<double>> lines;
  LinesOf(const Tensor& tensor, int64_t dim) {
    const Tensor last = tensor.dim() == 0 ? tensor.reshape({1}) : tensor.transpose(dim, -1);
    const int64_t size = last.size(-1);
    const std::vector<double> all = last.to_vector<double>();
    for (size_t i = 0; size != 0 && i < all.size(); i += static_cast<size_t>(size)) {
      lines.emplace_back(all.begin() + static_cast<int64_t>(i),
                         all.begin() + static_cast<int64_t>(i) + size);
    }
  }
};

inline bool same_number(double a, double b) { return a == b || (a != a && b != b); }

}  // namespace random_inputs
