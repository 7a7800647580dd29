// Stage "subsets": the gradient where only some of the inputs require grad, and where only some of the
// results are used.
#include "format.hpp"
#include "op_check.hpp"
#include "recorded_call.hpp"
#include "text.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr size_t kMostInFull =
    4;  // each subset of so many is tried; of more each alone, and all but each

// As bits, but for none and all.
std::vector<uint64_t> subsets(size_t count) {
  std::vector<uint64_t> list;
  if (count < 2 || count > 63) return list;
  const uint64_t all = (uint64_t{1} << count) - 1;
  if (count <= kMostInFull) {
    for (uint64_t subset = 1; subset < all; ++subset) list.push_back(subset);
    return list;
  }
  for (size_t i = 0; i < count; ++i) list.push_back(uint64_t{1} << i);
  for (size_t i = 0; i < count; ++i) list.push_back(all ^ (uint64_t{1} << i));
  return list;
}
bool contains(uint64_t subset, size_t number) { return (subset >> number & 1) != 0; }
std::string text_of(uint64_t subset, size_t count) {
  std::vector<std::string> numbers;
  for (size_t i = 0; i < count; ++i) {
    if (contains(subset, i)) numbers.push_back(std::to_string(i));
  }
  return join(numbers, ", ");
}

std::string input_breach(const SampleCall& call, const std::vector<Tensor>& expected) {
  for (const uint64_t subset : subsets(expected.size())) {
    std::vector<Tensor> some;
    for (size_t i = 0; i < expected.size(); ++i) {
      if (contains(subset, i)) some.push_back(expected[i]);
    }
    const RecordedCall graph(call, copied(call.tensors), subset);
    if (graph.roots().empty()) continue;
    const std::string found = difference(some, graph.gradients(), kExact);
    if (!found.empty())
      return format_text(
          "once where all inputs require grad and once where only {} do, of those that can, the "
          "gradient of input{}",
          text_of(subset, expected.size()), found);
  }
  return "";
}

std::string result_breach(const SampleCall& call) {
  const RecordedCall graph(call, copied(call.tensors));
  const std::vector<Tensor> seeds = graph.seeds();
  for (const uint64_t subset : subsets(seeds.size())) {
    std::vector<Tensor> zeros, absent;
    for (size_t s = 0; s < seeds.size(); ++s) {
      absent.push_back(contains(subset, s) ? seeds[s] : Tensor());
      zeros.push_back(copied(seeds[s]));
      if (!contains(subset, s)) tenon::fill_elements(zeros.back(), 0);
    }
    const std::vector<Tensor> one = graph.gradients(zeros), other = graph.gradients(absent);
    for (size_t i = 0; i < one.size(); ++i) {
      if (!one[i].defined() || !other[i].defined()) continue;  // none counts as zeros
      const std::string found = difference(one[i], other[i], kExact);
      if (!found.empty())
        return format_text(
            "with zeros for the results that are not used, and without them where only {} are, the "
            "gradient of input {}{}",
            text_of(subset, seeds.size()), i, found);
    }
  }
  return "";
}

}  // namespace

void check_subsets(OpCheck& check) {
  for_each_graph_sample(check, [&](const Sample& sample) {
    const SampleCall call = check.call_of(sample);
    const std::vector<Tensor> expected = RecordedCall(call, copied(call.tensors)).gradients();
    if (expected.empty()) return;
    std::string breach = input_breach(call, expected);
    if (breach.empty()) breach = result_breach(call);
    if (!breach.empty()) check.find("gradient-subset", breach, &sample);
  });
}

}  // namespace cli
