// Tensors as configs write them: numbers, lists of numbers, and lists of lists.
#include "tensor_argument.hpp"

#include <optional>
#include <vector>

#include <tenon/text.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

// Collects the elements of nested lists, whose lengths must agree.
class Elements {
 public:
  explicit Elements(const Json& value) { read(value, 0); }

  std::string fault;
  bool whole = true;
  std::vector<double> values;
  std::vector<int64_t> shape;

 private:
  void read(const Json& value, size_t depth) {
    if (!fault.empty()) return;
    if (value.is_number()) {
      if (!leaf_depth_) leaf_depth_ = depth;
      if (*leaf_depth_ != depth) fail(value, "a number, where others are lists");
      whole = whole && value.dump().find_first_of(".eE") == std::string::npos;
      values.push_back(value.number());
      return;
    }
    if (!value.is_array()) return fail(value, lib::format_text("{}", value.dump()));
    if (depth == kMostDimensions)
      return fail(value, "lists nested more deeply than a tensor can be");
    if (leaf_depth_ && *leaf_depth_ <= depth)
      return fail(value, "a list, where others are numbers");
    if (shape.size() == depth) shape.push_back(value.size());
    if (shape[depth] != value.size()) {
      return fail(value, lib::format_text("a list of {}, where the first has {}",
                                          counted(value.size(), "element"), shape[depth]));
    }
    for (int64_t i = 0; i < value.size(); ++i) read(value[i], depth + 1);
  }
  void fail(const Json& value, const std::string& found) {
    if (!fault.empty()) return;
    const std::string place = value.place();
    fault = lib::format_text("found {}{}", found, place.empty() ? "" : " at " + place);
  }

  static constexpr size_t kMostDimensions = 16;
  std::optional<size_t> leaf_depth_;
};

}  // namespace

std::string tensor_fault(const Json& value) { return Elements(value).fault; }

Tensor tensor_of(const Json& value) {
  const Elements elements(value);
  if (!elements.fault.empty())
    throw ValueError(lib::format_text("{}; expected numbers, or lists of them with equal lengths",
                                      elements.fault));
  const Tensor flat = from_range(elements.values.begin(), elements.values.end());
  return contiguous_as(flat, elements.whole ? i64 : f32).reshape(elements.shape);
}

bool names_op(const Json& value) {
  return value.is_text() || (value.is_object() && value["type"].is_text());
}

}  // namespace training

TENON_NAMESPACE_END
