// einsum: sums of products of elements, by an equation of labels.
#include <algorithm>
#include <cctype>
#include <cstring>

#include "contraction.hpp"

namespace {

using blas::Labelled;
using tenon::Tensor;
using tenon::TensorList;

[[noreturn]] void refuse(const std::string& text) { throw tenon::ValueError("einsum(): " + text); }

// Labels: 0 to 25 for A to Z, 26 to 51 for a to z, from 52 on the dimensions of ellipses, the last
// dimension first.
constexpr int kLetters = 52, kLabels = kLetters + TENON_MAX_RANK;
int label_of(char c) { return c < 'a' ? c - 'A' : c - 'a' + 26; }
std::string letter_of(int label) {
  return label >= kLetters
             ? "..."
             : std::string(1, static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26));
}

// The labels of one operand or of the output; `ellipsis` is where "..." was, or -1.
struct Term {
  std::vector<int> labels;
  int64_t ellipsis = -1;

  Term(std::string_view text, std::string_view equation) {
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == ' ') continue;
      if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
        labels.push_back(label_of(c));
      } else if (text.substr(i, 3) == "..." && ellipsis < 0) {
        ellipsis = static_cast<int64_t>(labels.size());
        i += 2;
      } else {
        refuse("'" + std::string(1, c) + "' cannot be there in the equation '" +
               std::string(equation) + "'; operands are letters and one '...'");
      }
    }
  }
  // With the labels of `count` dimensions in place of the ellipsis.
  std::vector<int> expanded(int64_t count) const {
    std::vector<int> all = labels;
    for (int64_t i = 0; i < count && ellipsis >= 0; ++i)
      all.insert(all.begin() + ellipsis, kLetters + static_cast<int>(i));
    return all;
  }
};

struct Equation {
  std::vector<Term> inputs;
  std::vector<Term> output;  // one or none

  explicit Equation(std::string_view text) {
    const size_t arrow = text.find("->");
    std::string_view left = text.substr(0, arrow);
    while (true) {
      const size_t comma = left.find(',');
      inputs.emplace_back(left.substr(0, comma), text);
      if (comma == std::string_view::npos) break;
      left.remove_prefix(comma + 1);
    }
    if (arrow != std::string_view::npos) output.emplace_back(text.substr(arrow + 2), text);
  }
};

// The diagonal of two dimensions takes the place of the first one.
Labelled with_single_labels(Labelled x) {
  for (size_t i = 0; i < x.labels.size(); ++i) {
    for (size_t k = x.labels.size() - 1; k > i; --k) {
      if (x.labels[k] != x.labels[i]) continue;
      std::vector<int64_t> order, shape;
      for (size_t d = 0; d < x.labels.size(); ++d) {
        if (d != i && d != k) order.push_back(static_cast<int64_t>(d));
      }
      for (const int64_t d : order) shape.push_back(x.tensor.shape()[d]);
      const int64_t n = x.tensor.shape()[static_cast<int64_t>(i)];
      order.insert(order.end(), {static_cast<int64_t>(i), static_cast<int64_t>(k)});
      shape.push_back(n * n);
      const Tensor diagonal =
          x.tensor.permute(order).reshape(shape).slice(-1, tenon::none, tenon::none, n + 1);
      std::vector<int64_t> back;
      const auto last = static_cast<int64_t>(shape.size()) - 1;
      for (int64_t d = 0; d < last; ++d) back.push_back(d);
      back.insert(back.begin() + static_cast<int64_t>(i), last);
      x.tensor = diagonal.permute(back);
      x.labels.erase(x.labels.begin() + static_cast<int64_t>(k));
    }
  }
  return x;
}

Labelled operand_of(const Term& term, const Tensor& tensor, size_t place, int64_t* sizes) {
  const auto named = static_cast<int64_t>(term.labels.size());
  if (term.ellipsis < 0 ? named != tensor.dim() : named > tensor.dim()) {
    refuse("operand " + std::to_string(place) + " has " + std::to_string(named) +
           " labels but shape " + blas::shape_text(tensor));
  }
  Labelled x{tensor, term.expanded(tensor.dim() - named)};
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    int64_t& size = sizes[x.labels[static_cast<size_t>(i)]];
    const int64_t found = tensor.shape()[i];
    for (int64_t k = 0; k < i; ++k) {
      if (x.labels[static_cast<size_t>(k)] == x.labels[static_cast<size_t>(i)] &&
          tensor.shape()[k] != found) {
        refuse("label '" + letter_of(x.labels[static_cast<size_t>(i)]) +
               "' is there twice, for sizes " + std::to_string(tensor.shape()[k]) + " and " +
               std::to_string(found) + " of operand " + std::to_string(place));
      }
    }
    if (size > 1 || size == 0) {
      if (found != size && found != 1) {
        refuse("label '" + letter_of(x.labels[static_cast<size_t>(i)]) + "' has size " +
               std::to_string(size) + ", but " + std::to_string(found) + " in operand " +
               std::to_string(place));
      }
    } else {
      size = found;
    }
  }
  return with_single_labels(std::move(x));
}

std::vector<int> output_of(const Equation& equation, const std::vector<int>& counts,
                           int64_t ellipsis) {
  if (!equation.output.empty()) {
    const std::vector<int> labels = equation.output[0].expanded(ellipsis);
    for (size_t i = 0; i < labels.size(); ++i) {
      if (counts[static_cast<size_t>(labels[i])] == 0)
        refuse("label '" + letter_of(labels[i]) + "' of the output is in no operand");
      if (blas::position_of(labels, labels[i]) != static_cast<int64_t>(i))
        refuse("label '" + letter_of(labels[i]) + "' is twice in the output");
    }
    return labels;
  }
  std::vector<int> labels;
  for (int64_t i = ellipsis - 1; i >= 0; --i) labels.push_back(kLetters + static_cast<int>(i));
  for (int label = 0; label < kLetters; ++label) {
    if (counts[static_cast<size_t>(label)] == 1) labels.push_back(label);
  }
  return labels;
}

struct Einsum {
  static constexpr auto schema = "einsum(str equation, Tensor[] operands) -> Tensor";
  static constexpr auto samples =
      R"([{"equation": "ij,jk->ik", "operands": [{"shape": [2, 3]}, {"shape": [3, 2]}]},
          {"equation": "...ij,...j", "operands": [{"shape": [2, 2, 3]}, {"shape": [3]}]},
          {"equation": "ii->i", "operands": [{"shape": [3, 3]}]},
          {"equation": "ab,bc,cd->da", "operands": [{"shape": [2, 2]}, {"shape": [2, 3]}, {"shape": [3, 2]}]}])";
  static constexpr auto doc =
      "Sums of products of elements. The equation, 'ij,jk->ik', labels each dimension of each "
      "operand by a letter; '...' are dimensions that are broadcast. Labels that the output lacks "
      "are summed over; a label twice in one operand is its diagonal. Without '->' the output is "
      "'...' and the letters that are there once, in alphabetical order. Operands are multiplied "
      "from left to right, each by a matrix product.";
  static constexpr bool composite = true;

  static Tensor forward(std::string_view text, TensorList operands) {
    const Equation equation(text);
    if (static_cast<int64_t>(equation.inputs.size()) != operands.size()) {
      refuse("the equation '" + std::string(text) + "' is of " +
             std::to_string(equation.inputs.size()) + " operands, got " +
             std::to_string(operands.size()));
    }
    int64_t sizes[kLabels], ellipsis = 0;
    std::fill(sizes, sizes + kLabels, 1);
    std::vector<int> counts(kLabels, 0);
    std::vector<Labelled> all;
    for (size_t i = 0; i < equation.inputs.size(); ++i) {
      const Term& term = equation.inputs[i];
      const Tensor& tensor = operands[static_cast<int64_t>(i)];
      if (tensor.dtype() == tenon::boolean) blas::throw_bool("einsum");
      if (tensor.dtype() != operands[0].dtype()) {
        throw tenon::TypeError("einsum(): operand 0 is " +
                               std::string(tenon::dtype_text(operands[0].dtype())) +
                               " but operand " + std::to_string(i) + " is " +
                               tenon::dtype_text(tensor.dtype()) + "; convert one with to()");
      }
      all.push_back(operand_of(term, tensor, i, sizes));
      for (const int label : term.labels) ++counts[static_cast<size_t>(label)];
      if (term.ellipsis < 0) continue;
      const int64_t own = tensor.dim() - static_cast<int64_t>(term.labels.size());
      ellipsis = std::max(ellipsis, own);
      for (int64_t k = 0; k < own; ++k) ++counts[static_cast<size_t>(kLetters + k)];
    }
    return product(std::move(all), output_of(equation, counts, ellipsis), operands);
  }

 private:
  static Tensor product(std::vector<Labelled> all, const std::vector<int>& output,
                        TensorList operands) {
    // How many of the operands that are left have a label; the output counts as one.
    std::vector<int> uses(kLabels, 0);
    for (const int label : output) ++uses[static_cast<size_t>(label)];
    for (const Labelled& x : all) {
      for (const int label : x.labels) ++uses[static_cast<size_t>(label)];
    }
    const auto leave = [&](const Labelled& x) {
      for (const int label : x.labels) --uses[static_cast<size_t>(label)];
    };
    Labelled result = all[0];
    leave(all[0]);
    for (size_t i = 1; i < all.size(); ++i) {
      leave(all[i]);
      std::vector<bool> keep(uses.size());
      for (size_t label = 0; label < keep.size(); ++label) keep[label] = uses[label] > 0;
      result = blas::contract(std::move(result), std::move(all[i]), keep);
    }
    result = blas::summed(result, [&](int label) { return blas::position_of(output, label) >= 0; });
    std::vector<int64_t> order;
    order.reserve(output.size());
    for (const int label : output) order.push_back(blas::position_of(result.labels, label));
    Tensor tensor = result.tensor.permute(order);
    // A result that no product has made must not share the operand's memory.
    const bool shared =
        tenon::service::tensors().shares_storage(tensor.handle(), operands[0].handle()) != 0;
    return shared ? tensor * 1 : tensor;
  }
};

}  // namespace
TENON_OP(Einsum)
