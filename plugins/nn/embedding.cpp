// embedding: rows of a table by index.
#include <algorithm>
#include <cstring>

#include "common.hpp"

namespace {

using namespace nn;

[[noreturn]] void throw_index(int64_t index, int64_t position, int64_t rows) {
  throw tenon::IndexError("embedding(): index " + std::to_string(index) + " at position " +
                          std::to_string(position) + " is out of range for a table of " +
                          std::to_string(rows) + " rows");
}
Tensor indices_of(const Tensor& input) {
  if (tenon::is_floating(input.dtype()) || input.dtype() == tenon::boolean) {
    throw tenon::TypeError(std::string("embedding(): indices must be integers, got ") +
                           tenon::dtype_text(input.dtype()) + "; convert them with to(i64)");
  }
  return tenon::contiguous_as(input, tenon::i64);
}
// A padding index, counted from the end when negative; -1 for none.
int64_t padding_of(const std::optional<int64_t>& padding_idx, int64_t rows) {
  if (!padding_idx) return -1;
  const int64_t wrapped = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  if (wrapped < 0 || wrapped >= rows) {
    throw tenon::IndexError("embedding(): padding_idx " + std::to_string(*padding_idx) +
                            " is out of range for a table of " + std::to_string(rows) + " rows");
  }
  return wrapped;
}

struct Embedding {
  static constexpr auto schema =
      "nn.functional.embedding(Tensor input, Tensor weight, *, int? padding_idx=None) -> Tensor";
  // Not with padding_idx, whose row has no gradient by definition.
  static constexpr auto samples =
      R"([{"input": {"shape": [2, 3], "dtype": "i64", "high": 4}, "weight": {"shape": [4, 3]}}])";
  static constexpr auto doc =
      "The rows of weight that input names; the row padding_idx gets no gradient.";
  static constexpr auto saves = "input, shape(weight)";

  static Tensor forward(const Tensor& input, const Tensor& weight,
                        std::optional<int64_t> padding_idx) {
    if (weight.dim() != 2) {
      throw tenon::ValueError("embedding(): 'weight' must have shape [rows, features], got " +
                              shape_text(weight));
    }
    const Tensor indices = indices_of(input), table = dense(weight);
    const int64_t rows = table.shape()[0], count = indices.numel();
    padding_of(padding_idx, rows);
    Shape shape(input.shape());
    shape.push(table.shape()[1]);
    Tensor result = tenon::empty_tensor(shape, table.dtype());
    const auto bytes = static_cast<size_t>(table.shape()[1] * tenon::element_size(table.dtype()));
    const auto* index = static_cast<const int64_t*>(indices.view_record().data);
    const auto* from = static_cast<const char*>(table.view_record().data);
    auto* to = static_cast<char*>(result.view_record().data);
    const int64_t grain = 1 + 65536 / static_cast<int64_t>(bytes + 1);
    tenon::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (static_cast<uint64_t>(index[i]) >= static_cast<uint64_t>(rows))
          throw_index(index[i], i, rows);
        if (bytes != 0)
          std::memcpy(to + static_cast<size_t>(i) * bytes,
                      from + static_cast<size_t>(index[i]) * bytes, bytes);
      }
    });
    return result;
  }
  static std::array<Tensor, 2> backward(ContextOf<Embedding>& c, const Tensor& g) {
    return needed_gradients(
        c, "weight"_arg = [&] {
          return tenon::nn::grad::embedding(g, c["input"_arg], c["weight"_arg].size(0),
                                            tenon::Argument(c["padding_idx"_arg]));
        });
  }
  static Tensor jvp(ContextOf<Embedding>& c, TensorList t) {
    return tenon::nn::functional::embedding(c["input"_arg], t[1]);
  }
};

struct EmbeddingGrad {
  static constexpr auto schema =
      "nn.grad.embedding(Tensor grad_output, Tensor indices, int rows, *, int? padding_idx=None) "
      "-> Tensor";
  static constexpr auto doc = "The gradient of embedding with respect to its table.";
  static constexpr auto saves = "indices";

  static Tensor forward(const Tensor& grad_output, const Tensor& indices, int64_t rows,
                        std::optional<int64_t> padding_idx) {
    const Tensor index_tensor = indices_of(indices);
    check_floating("embedding", "grad_output", grad_output);
    const int64_t rank = grad_output.dim(), count = index_tensor.numel();
    const auto& sizes = grad_output.shape();
    if (rank != indices.dim() + 1 ||
        !std::equal(sizes.begin(), sizes.end() - 1, indices.shape().begin())) {
      throw tenon::ValueError("embedding(): 'grad_output' of shape " + shape_text(grad_output) +
                              " does not fit indices of shape " + shape_text(indices));
    }
    const int64_t features = sizes[rank - 1], padding = padding_of(padding_idx, rows);
    const Tensor whole = dense(grad_output);
    Tensor result = tenon::empty_tensor({rows, features}, grad_output.dtype());
    tenon::fill_elements(result, 0);
    const auto* index = static_cast<const int64_t*>(index_tensor.view_record().data);
    for (int64_t i = 0; i < count; ++i) {
      if (static_cast<uint64_t>(index[i]) >= static_cast<uint64_t>(rows))
        throw_index(index[i], i, rows);
    }
    visit_floating(grad_output.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = kernel::elements<const T>(whole);
      T* to = kernel::elements<T>(result);
      // Shared out by columns: every thread sees all indices and writes its own part of each row.
      const int64_t grain = std::max<int64_t>(16, 65536 / std::max<int64_t>(count, 1));
      tenon::parallel_for(0, features, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = 0; i < count; ++i) {
          if (index[i] == padding) continue;
          T* row = to + index[i] * features;
          for (int64_t k = begin; k < end; ++k) row[k] += from[i * features + k];
        }
      });
    });
    return result;
  }
  static std::tuple<Tensor, Tensor> backward(ContextOf<EmbeddingGrad>& c, const Tensor& v) {
    const Tensor& indices = c["indices"_arg];
    const Tensor rows = tenon::nn::functional::embedding(indices, v);
    const auto padding_idx = c["padding_idx"_arg];
    if (!padding_idx) return {rows, Tensor()};
    const int64_t padding = padding_of(padding_idx, c["rows"_arg]);
    return {tenon::masked_fill(rows, tenon::eq(indices, padding).unsqueeze(-1), 0), Tensor()};
  }
  static constexpr auto jvp = tenon::multilinear;
};

}  // namespace
TENON_OPS(Embedding, EmbeddingGrad)
