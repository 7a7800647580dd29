// pad, and constant_pad_nd, which it calls.
#include <algorithm>
#include <vector>

#include "dimensions.hpp"

using namespace tenon;
using namespace math;

namespace {

// How much a dimension grows on both sides: `pad` has pairs, the last dimension first.
struct Margins {
  int64_t before = 0, after = 0;
};
std::vector<Margins> read_margins(const char* op, IntList pad, int64_t rank) {
  if (pad.size() % 2 != 0 || pad.size() / 2 > rank) {
    throw ValueError(std::string(op) + "(): pad " + shape_text(pad) +
                     " must have a pair for each of at most " + std::to_string(rank) +
                     " dimensions, the last one first");
  }
  std::vector<Margins> margins(static_cast<size_t>(rank));
  for (int64_t i = 0; i < pad.size() / 2; ++i)
    margins[static_cast<size_t>(rank - 1 - i)] = {pad[2 * i], pad[2 * i + 1]};
  return margins;
}
Shape padded_shape(const char* op, IntList shape, const std::vector<Margins>& margins) {
  Shape result(shape);
  for (int64_t i = 0; i < shape.size(); ++i) {
    const auto [before, after] = margins[static_cast<size_t>(i)];
    const bool overflows = __builtin_add_overflow(result[i], before, &result[i]) ||
                           __builtin_add_overflow(result[i], after, &result[i]);
    const bool cut = before < -shape[i] || after < -shape[i] || (!overflows && result[i] < 0);
    if (!cut && !overflows) continue;
    throw ValueError(std::string(op) + "(): dimension " + std::to_string(i) + " with size " +
                     std::to_string(shape[i]) + ", padded by " + std::to_string(before) + " and " +
                     std::to_string(after) +
                     (cut ? ", would lose more elements than it has"
                          : ", has more elements than can be addressed"));
  }
  return result;
}

struct ConstantPadNd {
  static constexpr auto schema =
      "constant_pad_nd(Tensor input, int[] pad, Scalar value=0) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "pad": [1, 2]},
          {"input": {"shape": [2, 3]}, "pad": [-1, 1, 0, 2], "value": 0.5}])";
  static constexpr auto doc =
      "input with `value` around it: pad has two numbers for each dimension, the last one first; "
      "negative ones cut elements off. value is converted to the dtype of input, as fill_ does.";
  static constexpr bool any_dtype = true;
  static Tensor forward(const Tensor& input, IntList pad, const Scalar& value) {
    constexpr auto op = "constant_pad_nd";
    const std::vector<Margins> margins = read_margins(op, pad, input.dim());
    const Shape shape = padded_shape(op, input.shape(), margins);
    if (!value.fits(input.dtype())) {
      throw ValueError("constant_pad_nd(): value " + value.text() + " does not fit the " +
                       dtype_text(input.dtype()) + " input: convert it to a wider dtype with to()");
    }
    const Tensor result = empty_tensor(shape, input.dtype());
    fill_elements(result, value);
    // The part of the input that stays, and its place.
    Shape kept;
    int64_t from = 0, to = 0;
    for (int64_t i = 0; i < shape.rank; ++i) {
      const Margins& margin = margins[static_cast<size_t>(i)];
      const int64_t skipped = std::max<int64_t>(0, -margin.before);
      const int64_t end = std::min(input.shape()[i], input.shape()[i] + margin.after);
      kept.push(std::max<int64_t>(0, end - skipped));
      if (kept[i] == 0) return result;
      from += skipped * input.strides()[i];
      to += std::max<int64_t>(0, margin.before) * result.strides()[i];
    }
    copy_elements(alias_tensor(result, kept, result.strides(), to),
                  alias_tensor(input, kept, input.strides(), from));
    return result;
  }
  // The other way round: what was added is cut off, what was cut off is zeros.
  static Tensor backward(ContextOf<ConstantPadNd>& c, const Tensor& g) {
    std::vector<int64_t> opposite;
    for (const int64_t size : c["pad"_arg]) opposite.push_back(-size);
    return constant_pad_nd(g, opposite, 0);
  }
  static Tensor jvp(ContextOf<ConstantPadNd>& c, const Tensor& tangent) {
    return constant_pad_nd(tangent, c["pad"_arg], 0);
  }
};

enum class Mode { constant, reflect, replicate, circular };
Mode mode_of(std::string_view name) {
  constexpr std::pair<const char*, Mode> names[] = {{"constant", Mode::constant},
                                                    {"reflect", Mode::reflect},
                                                    {"replicate", Mode::replicate},
                                                    {"circular", Mode::circular}};
  for (const auto& [known, mode] : names) {
    if (name == known) return mode;
  }
  throw ValueError("pad(): mode is '" + std::string(name) +
                   "'; choose constant, reflect, replicate or circular");
}

// Which element of a dimension is at `at`, before its first or after its last.
int64_t source_of(Mode mode, int64_t at, int64_t size) {
  if (mode == Mode::replicate) return std::clamp<int64_t>(at, 0, size - 1);
  if (mode == Mode::circular) return at < 0 ? at + size : at >= size ? at - size : at;
  return at < 0 ? -at : at >= size ? 2 * size - 2 - at : at;
}
void check_margin(Mode mode, int64_t margin, int64_t dim, int64_t size) {
  const int64_t most = mode == Mode::reflect    ? size - 1
                       : mode == Mode::circular ? size
                       : size == 0              ? 0
                                                : INT64_MAX;
  if (margin <= std::max<int64_t>(0, most)) return;
  constexpr const char* names[] = {"constant", "reflect", "replicate", "circular"};
  throw ValueError("pad(): mode " + std::string(names[static_cast<int>(mode)]) +
                   " pads dimension " + std::to_string(dim) + " with size " + std::to_string(size) +
                   " by at most " + std::to_string(std::max<int64_t>(0, most)) + ", not " +
                   std::to_string(margin));
}

struct Pad {
  static constexpr auto schema =
      "pad(Tensor input, int[] pad, str mode=\"constant\", Scalar? value=None) -> Tensor";
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3]}, "pad": [1, 2]},
          {"input": {"shape": [2, 3]}, "pad": [1, 2, 1, 0], "mode": "reflect"},
          {"input": {"shape": [2, 3]}, "pad": [1, 4], "mode": "replicate"},
          {"input": {"shape": [2, 3]}, "pad": [-1, 2], "mode": "circular"}])";
  static constexpr auto doc =
      "input with elements around it: pad has two numbers for each dimension, the last one first; "
      "negative ones cut elements off. The mode says what is added: `value` (0), elements "
      "reflected "
      "at the first and last one (fewer than there are), those repeated, or the elements from the "
      "other end (at most all).";
  static constexpr bool composite = true;
  static Tensor forward(const Tensor& input, IntList pad, std::string_view mode,
                        const std::optional<Scalar>& value) {
    const Mode how = mode_of(mode);
    if (how == Mode::constant) return constant_pad_nd(input, pad, value ? *value : Scalar(0));
    if (value) {
      throw ValueError("pad(): mode " + std::string(mode) + " takes no value: leave it out");
    }
    const std::vector<Margins> margins = read_margins("pad", pad, input.dim());
    const Shape shape = padded_shape("pad", input.shape(), margins);
    Tensor result = input;
    for (int64_t i = 0; i < shape.rank; ++i) {
      const auto [before, after] = margins[static_cast<size_t>(i)];
      if (before == 0 && after == 0) continue;
      const int64_t size = input.shape()[i];
      check_margin(how, before, i, size);
      check_margin(how, after, i, size);
      const Tensor index = empty_tensor({shape[i]}, i64);
      for (int64_t k = 0; k < shape[i]; ++k)
        index.data<int64_t>()[k] = source_of(how, k - before, size);
      result = result.index_select(i, index);
    }
    return result.is_same(input) ? clone(input) : result;
  }
};

}  // namespace

TENON_OPS(ConstantPadNd, Pad)
