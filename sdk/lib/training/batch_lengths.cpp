#include "batch_lengths.hpp"

#include <algorithm>
#include <functional>

#include <tenon/kernel/shape.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

// Lengths that the model has lists for, each once, the longest first.
std::vector<int64_t> known_lengths(const Prepared& opened, const Tensor& inputs) {
  std::vector<int64_t> lengths;
  std::string layouts;
  const std::vector<int64_t> given = inputs.sizes();
  for (const PreparedList& list : opened.lists()) {
    layouts += (layouts.empty() ? "" : "; ") + list.arguments;
    if (list.layouts.size() != 1) continue;
    const Tensor& layout = list.layouts.front();
    const std::vector<int64_t> sizes = layout.sizes();
    if (layout.dtype() == inputs.dtype() && sizes.size() == given.size() && sizes.front() > 0 &&
        std::equal(sizes.begin() + 1, sizes.end(), given.begin() + 1))
      lengths.push_back(sizes.front());
  }
  if (lengths.empty())
    throw ValueError(lib::format_text(
        "the prepared model is for {}, and the samples are {}{}; prepare it for batches of them",
        layouts, dtype_text(inputs.dtype()), kernel::shape_text(inputs.shape())));
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

}  // namespace

std::vector<int64_t> equal_lengths(int64_t count, int64_t length) {
  std::vector<int64_t> lengths(static_cast<size_t>(count / length), length);
  if (count % length != 0) lengths.push_back(count % length);
  return lengths;
}

std::vector<int64_t> listed_lengths(const Prepared& opened, const Tensor& inputs) {
  const std::vector<int64_t> known = known_lengths(opened, inputs);
  const int64_t count = inputs.size(0);
  struct Cut {
    int64_t batches = 0,
            last = 0;  // the least number of batches, and one of them; 0: there are none
  };
  std::vector<Cut> cuts(static_cast<size_t>(count) + 1);  // by number of samples
  for (int64_t n = 1; n <= count; ++n) {
    Cut& cut = cuts[static_cast<size_t>(n)];
    for (const int64_t length : known) {
      if (length > n) continue;
      const Cut& before = cuts[static_cast<size_t>(n - length)];
      if (n > length && before.last == 0) continue;
      if (cut.last == 0 || before.batches + 1 < cut.batches) cut = {before.batches + 1, length};
    }
  }
  std::vector<int64_t> lengths;
  for (int64_t n = count; n > 0; n -= lengths.back()) {
    if (cuts[static_cast<size_t>(n)].last == 0) {
      std::string texts;
      for (const int64_t length : known)
        texts += (texts.empty() ? "" : ", ") + std::to_string(length);
      throw ValueError(lib::format_text(
          "the prepared model is for batches of {} samples, which do not add up to {}; prepare it "
          "for batches of {}, too",
          texts, count, count % known.front()));
    }
    lengths.push_back(cuts[static_cast<size_t>(n)].last);
  }
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  return lengths;
}

}  // namespace training

TENON_NAMESPACE_END
