// Complex numbers: their parts, as views, and numbers made of parts.
//
// Gradients follow PyTorch: of a real loss L by z it is dL/d(real) + i dL/d(imag). So the rule of a
// function that has a complex derivative multiplies by the derivative's conjugate.
#include <tenon/kernel/complex.hpp>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

// The parts at `offset` (0: real, 1: imaginary) of complex elements.
Tensor part_view(const Tensor& input, int64_t offset) {
  Shape strides(input.strides());
  for (int64_t i = 0; i < strides.rank; ++i) strides[i] *= 2;
  return alias_tensor_as(input, real_dtype(input.dtype()), input.shape(), strides, offset);
}
void check_complex(const char* op, const Tensor& input, const char* remedy) {
  if (is_complex(input.dtype())) return;
  throw TypeError(std::string(op) + "(): 'input' must be c64 or c128, got " +
                  dtype_text(input.dtype()) + "; " + remedy);
}

struct Real {
  static constexpr auto schema = "real(Tensor(a) input) -> Tensor(a)";
  static constexpr auto doc =
      "The real parts of complex elements, as a view; a real input itself. In-place changes of the "
      "view are not recorded.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3], "dtype": "c128"}},
                                      {"input": {"shape": [2, 3]}}])";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input) {
    return is_complex(input.dtype()) ? part_view(input, 0) : input;
  }
  static Tensor backward(Context&, const Tensor& g) { return g; }
};

struct Imag {
  static constexpr auto schema = "imag(Tensor(a) input) -> Tensor(a)";
  static constexpr auto doc =
      "The imaginary parts of complex elements, as a view; real inputs are refused. In-place "
      "changes "
      "of the view are not recorded.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3], "dtype": "c128"}}])";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input) {
    check_complex("imag", input, "the imaginary parts of real numbers are zeros_like() of them");
    return part_view(input, 1);
  }
  static Tensor backward(Context&, const Tensor& g) {
    return view_as_complex(stack(std::vector<Tensor>{zeros_like(g), g}, -1));
  }
};

struct ViewAsReal {
  static constexpr auto schema = "view_as_real(Tensor(a) input) -> Tensor(a)";
  static constexpr auto doc =
      "Complex elements as pairs of a real and an imaginary part, in a new last dimension of size "
      "2: "
      "a view. In-place changes of it are not recorded.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3], "dtype": "c128"}}])";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input) {
    check_complex("view_as_real", input, "real tensors need no view");
    kernel::check_rank("view_as_real", input.dim() + 1);
    Shape shape(input.shape()), strides(input.strides());
    for (int64_t i = 0; i < strides.rank; ++i) strides[i] *= 2;
    shape.push(2);
    strides.push(1);
    return alias_tensor_as(input, real_dtype(input.dtype()), shape, strides, 0);
  }
  static Tensor backward(Context&, const Tensor& g) { return view_as_complex(g.contiguous()); }
};

struct ViewAsComplex {
  static constexpr auto schema = "view_as_complex(Tensor(a) input) -> Tensor(a)";
  static constexpr auto doc =
      "Pairs in the last dimension, which has size 2 and stride 1, as complex elements: a view. "
      "f32 gives c64, f64 c128. In-place changes of it are not recorded.";
  // The op speaks of the layout: another one is refused.
  static constexpr auto samples = R"([{"input": {"shape": [3, 2]}, "check": {"layouts": false}}])";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input) {
    const DType dtype = input.dtype();
    // Pairs of f16 and bf16 would not be views of c64 elements.
    if (dtype != f32 && dtype != f64) {
      throw TypeError(std::string("view_as_complex(): 'input' must be f32 or f64, got ") +
                      dtype_text(dtype) + "; convert it with to()");
    }
    const int64_t last = input.dim() - 1;
    if (last < 0 || input.shape()[last] != 2) {
      throw ValueError(
          "view_as_complex(): the last dimension of 'input' must have size 2, got shape " +
          shape_text(input.shape()));
    }
    Shape shape(input.shape()), strides(input.strides());
    bool whole = input.strides()[last] == 1;
    shape.erase(last);
    strides.erase(last);
    for (int64_t i = 0; i < strides.rank; ++i) {
      whole = whole && (strides[i] % 2 == 0 || shape[i] <= 1);
      strides[i] /= 2;
    }
    if (!whole && input.numel() != 0) {
      throw ValueError(
          "view_as_complex(): the last dimension of 'input' must have stride 1 and all "
          "others even strides, got strides " +
          shape_text(input.strides()) + "; make it contiguous() first");
    }
    return alias_tensor_as(input, complex_dtype(dtype), shape, strides, 0);
  }
  static Tensor backward(Context&, const Tensor& g) { return view_as_real(g); }
};

struct ConjPhysical {
  static constexpr auto schema = "conj_physical(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}}, {"input": {"shape": [2, 2], "dtype": "c128"}}])";
  static constexpr auto doc = "A copy with the imaginary parts negated; of real numbers a copy.";
  static constexpr uint32_t dtypes = computed_dtypes | complex_dtypes;
  static constexpr auto element = [](auto x) {
    if constexpr (is_complex_number<decltype(x)>)
      return std::conj(x);
    else
      return x;
  };
  static Tensor backward(Context&, const Tensor& g) { return conjugate(g); }
  static constexpr auto jvp = pointwise;
};

struct Conj {
  static constexpr auto schema = "conj(Tensor(a) input) -> Tensor(a)";
  static constexpr bool may_copy = true;
  static constexpr auto doc =
      "The imaginary parts negated, in a copy; real numbers are returned as they are.";
  static constexpr auto samples = R"([{"input": {"shape": [2, 3], "dtype": "c128"}},
                                      {"input": {"shape": [2, 3]}}])";
  static constexpr auto jvp = JvpKind::linear;
  static Tensor forward(const Tensor& input) {
    return is_complex(input.dtype()) ? conj_physical(input) : input;
  }
  static Tensor backward(Context&, const Tensor& g) { return conjugate(g); }
};

struct Angle {
  static constexpr auto schema = "angle(Tensor input, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "The angle of complex numbers to the positive real axis, in [-pi, pi]; of real numbers pi "
      "where "
      "they are negative, else 0. Integers give f32. NaN stays NaN.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input) {
    if (is_complex(input.dtype())) return atan2(imag(input), real(input));
    const Tensor x = is_floating(input.dtype()) ? input : input.to(f32);
    return where(isnan(x), x, where(lt(x, 0), pi, zeros_like(x)));
  }
  static constexpr double pi = 3.14159265358979323846;
};

void check_parts(const char* op, const char* a_name, const Tensor& a, const char* b_name,
                 const Tensor& b) {
  kernel::check_dtype(op, a_name, a.dtype(), floating_dtypes);
  kernel::check_same_dtype(op, a_name, a, b_name, b);
}

struct Complex {
  static constexpr auto schema =
      "complex(Tensor real, Tensor imag, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "Complex numbers of two parts of one floating dtype, broadcast: c128 of f64, else c64.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& real, const Tensor& imag) {
    check_parts("complex", "real", real, "imag", imag);
    const DType part = real_dtype(complex_dtype(real.dtype()));
    const tenon_tensor* const both[] = {real.handle(), imag.handle()};
    int64_t sizes[TENON_MAX_RANK], rank = 0;
    tenon::detail::check(service::tensors().broadcast_shapes, both, 2, sizes, &rank);
    const IntList shape(sizes, rank);
    kernel::check_rank("complex", rank + 1);
    return view_as_complex(
        stack(std::vector<Tensor>{real.to(part).expand(shape), imag.to(part).expand(shape)}, -1));
  }
};

struct Polar {
  static constexpr auto schema =
      "polar(Tensor abs, Tensor angle, *, Tensor(a!)? out=None) -> Tensor";
  static constexpr auto doc =
      "Complex numbers of a size and an angle of one floating dtype, broadcast: abs * exp(i * "
      "angle). c128 of f64, else c64.";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& abs, const Tensor& angle) {
    check_parts("polar", "abs", abs, "angle", angle);
    static const Op make("complex");
    return make.call<Tensor>(abs * cos(angle), abs * sin(angle));
  }
};

}  // namespace

TENON_OPS(Real, Imag, ViewAsReal, ViewAsComplex, Conj, Angle, Complex, Polar)
TENON_OPS_WITH_IN_PLACE(ConjPhysical)
