// The adaptive pools: as many windows as the output has elements, each from floor(i * in / out) to
// ceil((i + 1) * in / out).
#include <algorithm>

#include "pooling.hpp"

namespace {

using namespace nn;

// One, two or three spatial dimensions, as three.
struct Grid {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};

  Grid(const char* op, IntList input, IntList output) {
    const int64_t dimensions = output.size();
    for (int64_t i = 0; i < dimensions; ++i) {
      in[3 - dimensions + i] = input[input.size() - dimensions + i];
      out[3 - dimensions + i] = output[i];
      if (output[i] < 0) {
        throw tenon::ValueError(std::string(op) + "(): output_size must not be negative, got " +
                                shape_text(output));
      }
      if (input[input.size() - dimensions + i] < 1) {
        throw tenon::ValueError(std::string(op) + "(): nothing to pool in an input of shape " +
                                shape_text(input));
      }
    }
  }
  int64_t from(int d, int64_t i) const { return i * in[d] / out[d]; }
  int64_t to(int d, int64_t i) const { return ((i + 1) * in[d] - 1) / out[d] + 1; }
  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }

  // body(output position, begin and end of the window in each dimension) for one plane.
  template <class Body>
  void each_window(const Body& body) const {
    int64_t position = 0;
    for (int64_t z = 0; z < out[0]; ++z) {
      for (int64_t y = 0; y < out[1]; ++y) {
        for (int64_t x = 0; x < out[2]; ++x) {
          const int64_t low[3] = {from(0, z), from(1, y), from(2, x)};
          const int64_t high[3] = {to(0, z), to(1, y), to(2, x)};
          body(position++, low, high);
        }
      }
    }
  }
};

// visit(offset in the plane) over a window.
template <class Visit>
void each_element(const Grid& grid, const int64_t* low, const int64_t* high, const Visit& visit) {
  for (int64_t z = low[0]; z < high[0]; ++z) {
    for (int64_t y = low[1]; y < high[1]; ++y) {
      const int64_t row = (z * grid.in[1] + y) * grid.in[2];
      for (int64_t x = low[2]; x < high[2]; ++x) visit(row + x);
    }
  }
}
int64_t window_size(const int64_t* low, const int64_t* high) {
  return (high[0] - low[0]) * (high[1] - low[1]) * (high[2] - low[2]);
}

Tensor average(const char* op, const Tensor& input, IntList output_size) {
  check_pool_input(op, input, output_size.size());
  const Grid grid(op, input.shape(), output_size);
  Tensor result = tenon::empty_tensor(with_last(input.shape(), output_size), input.dtype());
  if (result.numel() == 0) return result;
  const Tensor whole = dense(input);
  const int64_t in = grid.in_size(), out = grid.out_size();
  visit_floating(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = whole.data<const T>();
    T* to = result.data<T>();
    const int64_t planes = Planes(input.shape(), output_size.size()).planes;
    kernel::for_rows(planes, in, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        grid.each_window([&](int64_t position, const int64_t* low, const int64_t* high) {
          T sum = 0;
          each_element(grid, low, high, [&](int64_t i) { sum += from[p * in + i]; });
          to[p * out + position] = sum / static_cast<T>(window_size(low, high));
        });
      }
    });
  });
  return result;
}

template <int d>
struct AdaptiveAvgPool {
  static constexpr auto name = family_text<d>("adaptive_avg_pool{d}d");
  static constexpr auto schema = family_text<d>(
      "nn.functional.adaptive_avg_pool{d}d(Tensor input, int[{d}] output_size) -> Tensor");
  static constexpr auto doc = family_text<d>(
      "The means of {output_size|a grid of|a grid of} windows that cover the last "
      "{dimension|two dimensions|three dimensions}.");
  static constexpr auto saves = "shape(input)";
  static Tensor forward(const Tensor& input, IntList output_size) {
    return average(name, input, output_size);
  }
  static Tensor backward(ContextOf<AdaptiveAvgPool>& c, const Tensor& g) {
    return tenon::nn::grad::adaptive_avg_pool(g, c["input"_arg].shape(), d);
  }
  static constexpr auto jvp = tenon::JvpKind::linear;
};

struct AdaptiveAvgPoolGrad {
  static constexpr auto schema =
      "nn.grad.adaptive_avg_pool(Tensor grad_output, int[] input_size, int dimensions) -> Tensor";
  static constexpr auto doc = "The gradient of the adaptive_avg_pool of as many dimensions.";
  static constexpr auto saves = "shape(grad_output)";

  static Tensor forward(const Tensor& grad_output, IntList input_size, int64_t dimensions) {
    constexpr auto op = "adaptive_avg_pool";
    if (dimensions < 1 || dimensions > 3) {
      throw tenon::ValueError("adaptive_avg_pool(): dimensions must be 1, 2 or 3, got " +
                              std::to_string(dimensions));
    }
    check_pool_input(op, grad_output, dimensions);
    const int64_t rank = grad_output.dim();
    if (input_size.size() != rank || !std::equal(input_size.begin(), input_size.end() - dimensions,
                                                 grad_output.shape().begin())) {
      throw tenon::ValueError("adaptive_avg_pool(): 'grad_output' of shape " +
                              shape_text(grad_output) + " does not fit an input of shape " +
                              shape_text(input_size));
    }
    const Grid grid(op, input_size, {grad_output.shape().end() - dimensions, dimensions});
    Tensor result = tenon::empty_tensor(input_size, grad_output.dtype());
    tenon::fill_elements(result, 0);
    if (result.numel() == 0 || grad_output.numel() == 0) return result;
    const Tensor whole = dense(grad_output);
    const int64_t in = grid.in_size(), out = grid.out_size();
    visit_floating(grad_output.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = whole.data<const T>();
      T* to = result.data<T>();
      kernel::for_rows(Planes(input_size, dimensions).planes, in, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          grid.each_window([&](int64_t position, const int64_t* low, const int64_t* high) {
            const T share = from[p * out + position] / static_cast<T>(window_size(low, high));
            each_element(grid, low, high, [&](int64_t i) { to[p * in + i] += share; });
          });
        }
      });
    });
    return result;
  }
  static Tensor backward(ContextOf<AdaptiveAvgPoolGrad>& c, const Tensor& v) {
    namespace functional = tenon::nn::functional;
    const IntList sizes = output_size(c);
    switch (c["dimensions"_arg]) {
      case 1:
        return functional::adaptive_avg_pool1d(v, sizes);
      case 2:
        return functional::adaptive_avg_pool2d(v, sizes);
      default:
        return functional::adaptive_avg_pool3d(v, sizes);
    }
  }
  static constexpr auto jvp = tenon::JvpKind::linear;

 private:
  static IntList output_size(ContextOf<AdaptiveAvgPoolGrad>& c) {
    const int64_t dimensions = c["dimensions"_arg];
    return {c["grad_output"_arg].shape().end() - dimensions, dimensions};
  }
};

std::tuple<Tensor, Tensor> largest(const char* op, const Tensor& input, IntList output_size) {
  const int64_t dimensions = output_size.size();
  check_pool_input(op, input, dimensions);
  const Grid grid(op, input.shape(), output_size);
  const Shape shape = with_last(input.shape(), output_size);
  Tensor values = tenon::empty_tensor(shape, input.dtype());
  Tensor indices = tenon::empty_tensor(shape, tenon::i64);
  if (values.numel() == 0) return {std::move(values), std::move(indices)};
  const Tensor whole = dense(input);
  const int64_t in = grid.in_size(), out = grid.out_size();
  visit_floating(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = whole.data<const T>();
    T* to = values.data<T>();
    auto* at = indices.data<int64_t>();
    kernel::for_rows(Planes(input.shape(), dimensions).planes, in, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const T* plane = from + p * in;
        grid.each_window([&](int64_t position, const int64_t* low, const int64_t* high) {
          int64_t best = (low[0] * grid.in[1] + low[1]) * grid.in[2] + low[2];
          each_element(grid, low, high, [&](int64_t i) {
            const T value = plane[i];
            if (value > plane[best] || value != value) best = i;
          });
          to[p * out + position] = plane[best];
          at[p * out + position] = best;
        });
      }
    });
  });
  return {std::move(values), std::move(indices)};
}

template <int d>
struct AdaptiveMaxPoolWithIndices {
  static constexpr auto name = family_text<d>("adaptive_max_pool{d}d");
  static constexpr auto schema = family_text<d>(
      "nn.functional.adaptive_max_pool{d}d_with_indices(Tensor input, int[{d}] output_size) -> "
      "(Tensor, Tensor indices)");
  static constexpr auto doc = family_text<d>(
      "The largest elements of {output_size|a grid of|a grid of} windows that cover the last "
      "{dimension|two dimensions|three dimensions}, and their positions in {it|a plane|a volume}.");
  static constexpr auto saves = "shape(input), result1";
  static std::tuple<Tensor, Tensor> forward(const Tensor& input, IntList output_size) {
    return largest(name, input, output_size);
  }
  static Tensor backward(ContextOf<AdaptiveMaxPoolWithIndices>& c, const Tensor& g, const Tensor&) {
    return tenon::nn::grad::max_pool(g, c["indices"_result], c["input"_arg].shape(), d);
  }
  static std::tuple<Tensor, Tensor> jvp(ContextOf<AdaptiveMaxPoolWithIndices>& c, TensorList t) {
    return {pick(t[0], c["indices"_result], d), Tensor()};
  }
};

template <int d>
struct AdaptiveMaxPool {
  static constexpr auto schema = family_text<d>(
      "nn.functional.adaptive_max_pool{d}d(Tensor input, int[{d}] output_size) -> Tensor");
  static constexpr auto doc = family_text<d>(
      "The largest elements of {output_size|a grid of|a grid of} windows that cover the last "
      "{dimension|two dimensions|three dimensions}.");
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, IntList output_size) {
    static const tenon::Op with_indices(
        family_text<d>("nn.functional.adaptive_max_pool{d}d_with_indices"));
    return std::get<0>(with_indices.call<std::tuple<Tensor, Tensor>>(input, output_size));
  }
};

}  // namespace
TENON_OP(AdaptiveAvgPoolGrad)
TENON_OPS_1D_TO_3D(AdaptiveAvgPool)
TENON_OPS_1D_TO_3D(AdaptiveMaxPoolWithIndices)
TENON_OPS_1D_TO_3D(AdaptiveMaxPool)
