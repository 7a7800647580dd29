#include "transforms/families.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <tenon/ops.hpp>

namespace tenon_transforms {

using namespace tenon;
using transforms::BatchRule;
using transforms::Condition;
using transforms::RuleTerm;

namespace {

std::optional<int64_t> integer_of(const tenon_value& value) {
  if (value.tag == TENON_VALUE_INT || value.tag == TENON_VALUE_BOOL) return value.as.integer;
  return std::nullopt;
}

bool compares(const std::string& comparison, double a, double b) {
  if (comparison == "==") return a == b;
  if (comparison == "!=") return a != b;
  if (comparison == "<") return a < b;
  if (comparison == "<=") return a <= b;
  if (comparison == ">") return a > b;
  return a >= b;
}

bool compares(const Condition& condition, const tenon_value& value) {
  const RuleTerm& expected = condition.value;
  const bool equal = condition.comparison == "==";
  switch (expected.kind) {
    case RuleTerm::Kind::text:
      return (value.tag == TENON_VALUE_STRING &&
              std::string_view(value.as.string, value.length) == expected.text) == equal;
    case RuleTerm::Kind::nothing:
      return (value.tag == TENON_VALUE_NONE) == equal;
    case RuleTerm::Kind::list:
      return (value.length == expected.terms.size()) == equal;
    default:
      break;
  }
  const double right = expected.kind == RuleTerm::Kind::number
                           ? expected.number
                           : static_cast<double>(expected.integer);
  if (value.tag == TENON_VALUE_FLOAT) return compares(condition.comparison, value.as.number, right);
  const std::optional<int64_t> left = integer_of(value);
  return left && compares(condition.comparison, static_cast<double>(*left), right);
}

size_t require_position(const BatchRule& rule, const BatchCall& batch, const std::string& name) {
  const int position = batch.plan().position(name);
  if (position >= 0) return static_cast<size_t>(position);
  throw ValueError("the batch rule '" + rule.text + "' of plugin '" + rule.provider + "' names '" +
                   name + "', which is not a parameter of " + batch.name() + "; fix the rule");
}

// Whether a rule has the operand's parameter among its own. Other values do not count.
bool mentions(const BatchRule& rule, const BatchCall& batch, const Operand& operand) {
  const std::string& name = batch.plan().parameters[operand.parameter].name;
  return std::find(rule.parameters.begin(), rule.parameters.end(), name) != rule.parameters.end();
}
// Whether tensors that a family does not mention are batched: it does not know what to do then.
bool others_batched(const BatchRule& rule, const BatchCall& batch) {
  return std::any_of(batch.operands().begin(), batch.operands().end(), [&](const Operand& operand) {
    return operand.batched && !mentions(rule, batch, operand);
  });
}
bool mentions_tensors(const BatchRule& rule, const BatchCall& batch) {
  return std::any_of(batch.operands().begin(), batch.operands().end(),
                     [&](const Operand& operand) { return mentions(rule, batch, operand); });
}

// The one rank of samples of operands, of the mentioned ones where `some`; -1 where they have several.
int64_t common_rank(const BatchRule& rule, const BatchCall& batch, bool some) {
  int64_t rank = -1;
  for (const Operand& operand : batch.operands()) {
    if (some && !mentions(rule, batch, operand)) continue;
    if (rank >= 0 && rank != operand.rank()) return -1;
    rank = operand.rank();
  }
  return rank;
}

// A dimension of a sample as one of the batch. IndexError outside of a sample.
int64_t moved(int64_t dim, int64_t rank) {
  const int64_t count = std::max<int64_t>(rank, 1);
  if (dim < -count || dim >= count)
    detail::throw_message(TENON_ERROR_INDEX,
                          {"dimension ", dim, " is out of range for a tensor of ", rank,
                           " dimensions (expected ", -count, " to ", count - 1, ")"});
  return dim < 0 ? dim : dim + 1;
}

std::vector<int64_t> integers_of(const tenon_value& value) {
  return {value.as.integers, value.as.integers + value.length};
}
// Positions of lists of whole numbers among the parameters of a rule: shapes.
std::vector<size_t> shapes_of(const BatchRule& rule, const BatchCall& batch) {
  std::vector<size_t> positions;
  for (const std::string& name : rule.parameters) {
    const size_t position = require_position(rule, batch, name);
    if (batch.argument(position).tag == TENON_VALUE_INT_LIST) positions.push_back(position);
  }
  return positions;
}

// ---- dims ----

// The op on lines of all elements: a none of an int.
Results run_flat(const BatchCall& batch, size_t parameter, int64_t rank) {
  InnerArguments arguments(batch);
  for (const Operand& operand : batch.operands()) {
    int64_t elements = 1;
    for (const int64_t size : operand.given.shape()) elements *= size;
    arguments.set(operand, reshape(batch.whole(operand), {batch.size(), elements}));
  }
  arguments.set(parameter, int64_t{1});
  Results results = arguments.call();
  const int keepdim = batch.plan().position("keepdim");
  if (keepdim >= 0 && batch.argument(static_cast<size_t>(keepdim)).as.integer != 0) {
    std::vector<int64_t> shape{batch.size()};
    shape.resize(static_cast<size_t>(rank) + 1, 1);
    results.transform([&](const Tensor& tensor) { return reshape(tensor, shape); });
  }
  return results;
}

std::optional<Results> run_dims(const BatchRule& rule, const BatchCall& batch) {
  const bool some = mentions_tensors(rule, batch);
  if (some && others_batched(rule, batch)) return std::nullopt;
  const int64_t rank = common_rank(rule, batch, some);
  if (rank < 0) return std::nullopt;
  InnerArguments arguments(batch);
  for (const Operand& operand : batch.operands()) {
    if (some && !mentions(rule, batch, operand)) continue;
    const Tensor whole = batch.whole(operand);
    arguments.set(operand, rank == 0 ? unsqueeze(whole, 1) : whole);
  }
  for (const std::string& name : rule.parameters) {
    const size_t position = require_position(rule, batch, name);
    if (batch.plan().parameters[position].tensor) continue;
    const tenon_value& value = batch.argument(position);
    if (value.tag == TENON_VALUE_INT) {
      arguments.set(position, moved(value.as.integer, rank));
    } else if (value.tag == TENON_VALUE_INT_LIST && value.length > 0) {
      std::vector<int64_t> dims(value.as.integers, value.as.integers + value.length);
      for (int64_t& dim : dims) dim = moved(dim, rank);
      arguments.set(position, std::move(dims));
    } else if (value.tag == TENON_VALUE_NONE && batch.plan().parameters[position].list) {
      std::vector<int64_t> dims;
      for (int64_t dim = 1; dim <= std::max<int64_t>(rank, 1); ++dim) dims.push_back(dim);
      arguments.set(position, std::move(dims));
    } else if (value.tag == TENON_VALUE_NONE) {
      return run_flat(batch, position, rank);
    } else {
      return std::nullopt;
    }
  }
  Results results = arguments.call();
  if (rank == 0) {
    results.transform([](const Tensor& tensor) {
      return tensor.dim() == 2 && tensor.size(1) == 1 ? tenon::select(tensor, 1, 0) : tensor;
    });
  }
  return results;
}

// ---- shapes ----

std::optional<Results> run_shape(const BatchRule& rule, const BatchCall& batch, bool expands) {
  if (batch.operands().size() != 1) return std::nullopt;
  const size_t position = require_position(rule, batch, rule.parameters.at(0));
  const tenon_value& value = batch.argument(position);
  if (value.tag != TENON_VALUE_INT_LIST) return std::nullopt;
  InnerArguments arguments(batch);
  const Operand& operand = batch.operands().front();
  if (expands) {
    const int64_t missing = static_cast<int64_t>(value.length) - operand.rank();
    if (missing < 0) return std::nullopt;
    arguments.set(operand, widened(operand.inner, missing));
  }
  arguments.set(position, with_batch(batch.size(), {value.as.integers, value.length}));
  return arguments.call();
}

// Without a dimension: all of size 1 go, but for the batch's.
std::optional<Results> run_squeeze(const BatchRule& rule, const BatchCall& batch) {
  const size_t position = require_position(rule, batch, rule.parameters.at(0));
  if (batch.argument(position).tag != TENON_VALUE_NONE) return run_dims(rule, batch);
  const Tensor& inner = batch.operands().front().inner;
  std::vector<int64_t> shape{batch.size()};
  for (int64_t i = 1; i < inner.dim(); ++i) {
    if (inner.size(i) != 1) shape.push_back(inner.size(i));
  }
  return Results(reshape(inner, shape));
}

// Sums to a shape, which gets ones in front where the operand has more dimensions.
std::optional<Results> run_reduce(const BatchRule& rule, const BatchCall& batch) {
  const size_t position = require_position(rule, batch, rule.parameters.at(0));
  const tenon_value& value = batch.argument(position);
  if (value.tag != TENON_VALUE_INT_LIST || batch.operands().size() != 1) return std::nullopt;
  const std::vector<int64_t> size = integers_of(value);
  const int64_t missing = batch.operands().front().rank() - static_cast<int64_t>(size.size());
  if (missing < 0) return std::nullopt;
  std::vector<int64_t> aligned{batch.size()};
  aligned.resize(static_cast<size_t>(missing) + 1, 1);
  aligned.insert(aligned.end(), size.begin(), size.end());
  InnerArguments arguments(batch);
  arguments.set(position, std::move(aligned));
  Results results = arguments.call();
  const std::vector<int64_t> shape = with_batch(batch.size(), {value.as.integers, value.length});
  results.transform([&](const Tensor& tensor) { return reshape(tensor, shape); });
  return results;
}

// Dimensions of the first parameter, a tensor or a shape; the batch is in front of every tensor.
std::optional<Results> run_placed(const BatchRule& rule, const BatchCall& batch) {
  const size_t owner = require_position(rule, batch, rule.parameters.at(0));
  const Operand* const operand = batch.operand(owner);
  const tenon_value& value = batch.argument(owner);
  InnerArguments arguments(batch);
  for (const Operand& each : batch.operands()) arguments.set(each, batch.whole(each));
  int64_t rank = 0;
  if (operand != nullptr) {
    rank = operand->rank();
  } else if (value.tag == TENON_VALUE_INT_LIST) {
    rank = value.length;
    arguments.set(owner, with_batch(batch.size(), {value.as.integers, value.length}));
  } else {
    return std::nullopt;
  }
  for (size_t i = 1; i < rule.parameters.size(); ++i) {
    const size_t position = require_position(rule, batch, rule.parameters[i]);
    const std::optional<int64_t> dim = integer_of(batch.argument(position));
    if (!dim) return std::nullopt;
    arguments.set(position, moved(*dim, rank));
  }
  return arguments.call();
}

// A view by strides; the batch has the stride that it has in the operand.
std::optional<Results> run_strided(const BatchRule& rule, const BatchCall& batch) {
  const size_t size = require_position(rule, batch, rule.parameters.at(0));
  const size_t stride = require_position(rule, batch, rule.parameters.at(1));
  const tenon_value &sizes = batch.argument(size), &strides = batch.argument(stride);
  const Operand& viewed = batch.operands().front();
  // The loop sees memory as well where a sample is not contiguous: of others it has copies.
  if (sizes.tag != TENON_VALUE_INT_LIST || strides.tag != TENON_VALUE_INT_LIST || !viewed.batched ||
      !viewed.inner.is_contiguous())
    return std::nullopt;
  InnerArguments arguments(batch);
  for (const Operand& operand : batch.operands()) arguments.set(operand, batch.whole(operand));
  arguments.set(size, with_batch(batch.size(), {sizes.as.integers, sizes.length}));
  arguments.set(stride, with_batch(viewed.inner.stride(0), {strides.as.integers, strides.length}));
  return arguments.call();
}

// An op that reads no elements: one call on the shapes of a sample, whose results all samples have.
std::optional<Results> run_once(const BatchCall& batch) {
  InnerArguments arguments(batch);
  for (const Operand& operand : batch.operands()) {
    if (operand.batched)
      arguments.set(operand, batch.size() > 0
                                 ? tenon::select(operand.inner, 0, 0)
                                 : zeros(operand.given.sizes(), operand.inner.dtype()));
  }
  Results results = arguments.call();
  results.transform([&](const Tensor& tensor) {
    return expand(unsqueeze(tensor, 0), with_batch(batch.size(), tensor.shape())).clone();
  });
  return results;
}

// ---- leading dimensions ----

// The number that the rule has behind the operand's parameter, -1 without one; nothing where it does not name it.
std::optional<int64_t> number_for(const BatchRule& rule, const BatchCall& batch,
                                  const Operand& operand) {
  const std::string& name = batch.plan().parameters[operand.parameter].name;
  const auto found = std::find(rule.parameters.begin(), rule.parameters.end(), name);
  if (found == rule.parameters.end()) return std::nullopt;
  return rule.numbers[static_cast<size_t>(found - rule.parameters.begin())];
}

std::optional<Results> run_leading(const BatchRule& rule, const BatchCall& batch) {
  if (others_batched(rule, batch)) return std::nullopt;
  int64_t leading = 0;
  for (const Operand& operand : batch.operands()) {
    const std::optional<int64_t> named = number_for(rule, batch, operand);
    if (!named) continue;
    const int64_t trailing = std::max<int64_t>(*named, 0);
    if (operand.rank() < trailing) return std::nullopt;
    leading = std::max(leading, operand.rank() - trailing);
  }
  InnerArguments arguments(batch);
  for (const Operand& operand : batch.operands()) {
    const std::optional<int64_t> named = number_for(rule, batch, operand);
    if (!named || !operand.batched) continue;
    const int64_t trailing = std::max<int64_t>(*named, 0);
    arguments.set(operand, widened(operand.inner, leading - (operand.rank() - trailing)));
  }
  return arguments.call();
}

std::optional<Results> run_fold(const BatchRule& rule, const BatchCall& batch) {
  if (others_batched(rule, batch)) return std::nullopt;
  InnerArguments arguments(batch);
  int64_t folded = -1;  // samples of one sample; -2: none, the batch takes their place
  for (const Operand& operand : batch.operands()) {
    const std::optional<int64_t> named = number_for(rule, batch, operand);
    if (!named) continue;
    const int64_t rank = *named;
    const Tensor whole = batch.whole(operand);
    if (operand.rank() == rank - 1 && (folded == -1 || folded == -2)) {
      folded = -2;
      arguments.set(operand, whole);
    } else if (operand.rank() == rank && (folded == -1 || folded == whole.size(1))) {
      folded = whole.size(1);
      std::vector<int64_t> shape{whole.size(0) * whole.size(1)};
      for (int64_t i = 2; i < whole.dim(); ++i) shape.push_back(whole.size(i));
      arguments.set(operand, reshape(whole, shape));
    } else {
      return std::nullopt;
    }
  }
  for (const size_t position : shapes_of(rule, batch)) {
    std::vector<int64_t> shape = integers_of(batch.argument(position));
    if (folded < 0)
      shape.insert(shape.begin(), batch.size());
    else if (shape.empty() || shape.front() != folded)
      return std::nullopt;
    else
      shape.front() *= batch.size();
    arguments.set(position, std::move(shape));
  }
  Results results = arguments.call();
  if (folded < 0) return results;
  results.transform([&](const Tensor& tensor) {
    std::vector<int64_t> shape{batch.size(), folded};
    for (int64_t i = 1; i < tensor.dim(); ++i) shape.push_back(tensor.size(i));
    return reshape(tensor, shape);
  });
  return results;
}

// The batch is folded into the last dimension but one.
std::optional<Results> run_rows(const BatchRule& rule, const BatchCall& batch) {
  if (others_batched(rule, batch)) return std::nullopt;
  InnerArguments arguments(batch);
  int64_t rows = -1;  // size of that dimension in one sample
  for (const Operand& operand : batch.operands()) {
    const std::optional<int64_t> named = number_for(rule, batch, operand);
    if (!named) continue;
    const int64_t rank = *named;
    const Tensor whole = batch.whole(operand);
    if (operand.rank() != rank || rank < 2 || (rows >= 0 && rows != whole.size(-2)))
      return std::nullopt;
    rows = whole.size(-2);
    std::vector<int64_t> shape = operand.given.sizes();
    shape[static_cast<size_t>(rank) - 2] *= batch.size();
    arguments.set(operand, reshape(movedim(whole, {0}, {rank - 2}), shape));
  }
  if (rows < 0) return std::nullopt;
  Results results = arguments.call();
  results.transform([&](const Tensor& tensor) {
    const int64_t place = tensor.dim() - 2;
    std::vector<int64_t> shape = tensor.sizes();
    shape[static_cast<size_t>(place)] = rows;
    shape.insert(shape.begin() + place, batch.size());
    return movedim(reshape(tensor, shape), {place}, {0});
  });
  return results;
}

// A new dimension: those of the result are one more.
std::optional<Results> run_insert(const BatchRule& rule, const BatchCall& batch) {
  const size_t position = require_position(rule, batch, rule.parameters.at(0));
  const std::optional<int64_t> dim = integer_of(batch.argument(position));
  const int64_t rank = common_rank(rule, batch, false);
  if (!dim || rank < 0) return std::nullopt;
  InnerArguments arguments(batch);
  for (const Operand& operand : batch.operands()) arguments.set(operand, batch.whole(operand));
  arguments.set(position, moved(*dim, rank + 1));
  return arguments.call();
}

std::optional<Results> run_permute(const BatchRule& rule, const BatchCall& batch) {
  const size_t position = require_position(rule, batch, rule.parameters.at(0));
  const tenon_value& value = batch.argument(position);
  const Operand& operand = batch.operands().front();
  if (value.tag != TENON_VALUE_INT_LIST) return std::nullopt;
  std::vector<int64_t> dims{0};
  for (uint32_t i = 0; i < value.length; ++i) {
    const int64_t dim = moved(value.as.integers[i], operand.rank());
    dims.push_back(dim < 0 ? dim + operand.inner.dim() : dim);
  }
  InnerArguments arguments(batch);
  arguments.set(position, std::move(dims));
  return arguments.call();
}

// ---- groups ----

// A convolution whose weight is batched: the samples are groups of one convolution. Numbers of the rule say
// which dimension has the channels, of tensors and of shapes; without any they are those of an input, a weight and
// a bias. A parameter that is one number is the count of groups. The result has its channels where a shape among
// the parameters has them, else in dimension 1.
std::optional<Results> run_groups(const BatchRule& rule, const BatchCall& batch) {
  if (others_batched(rule, batch)) return std::nullopt;
  const bool plain = std::all_of(rule.numbers.begin(), rule.numbers.end(),
                                 [](int64_t number) { return number < 0; });
  const int64_t b = batch.size();
  if (b == 0) return std::nullopt;
  InnerArguments arguments(batch);
  int64_t rank = -1, result_channels = 1;
  for (size_t i = 0; i < rule.parameters.size(); ++i) {
    const size_t position = require_position(rule, batch, rule.parameters[i]);
    const int64_t channels = plain ? (i == 0 ? 1 : 0) : rule.numbers[i];
    const tenon_value& value = batch.argument(position);
    if (const Operand* const operand = batch.operand(position)) {
      if (operand->rank() > 1 && rank >= 0 && rank != operand->rank()) return std::nullopt;
      if (operand->rank() > 1) rank = operand->rank();
      if (channels < 0 || channels >= operand->rank()) return std::nullopt;
      std::vector<int64_t> shape = operand->given.sizes();
      shape[static_cast<size_t>(channels)] *= b;
      arguments.set(*operand, reshape(movedim(batch.whole(*operand), {0}, {channels}), shape));
    } else if (value.tag == TENON_VALUE_INT_LIST) {
      std::vector<int64_t> shape = integers_of(value);
      const auto length = static_cast<int64_t>(shape.size());
      if (channels < 0 || channels >= length || (rank >= 0 && rank != length)) return std::nullopt;
      rank = length;
      shape[static_cast<size_t>(channels)] *= b;
      arguments.set(position, std::move(shape));
      result_channels = channels;
    } else if (const std::optional<int64_t> groups = integer_of(value)) {
      arguments.set(position, *groups * b);
    } else if (value.tag != TENON_VALUE_NONE) {
      return std::nullopt;
    }
  }
  Results results = arguments.call();
  results.transform([&](const Tensor& tensor) {
    std::vector<int64_t> shape = tensor.sizes();
    const auto place = static_cast<size_t>(result_channels);
    shape[place] /= b;
    shape.insert(shape.begin() + result_channels, b);
    return movedim(reshape(tensor, shape), {result_channels}, {0});
  });
  return results;
}

}  // namespace

bool holds(const BatchRule& rule, const BatchCall& batch) {
  for (const Condition& condition : rule.conditions) {
    const size_t position = require_position(rule, batch, condition.parameter);
    const Operand* const operand = batch.operand(position);
    bool held = false;
    if (condition.function == "batched")
      held = batch.batched(position);
    else if (condition.function == "given")
      held = batch.argument(position).tag != TENON_VALUE_NONE;
    else if (condition.function == "floating")
      held = operand != nullptr && is_floating(operand->inner.dtype());
    else if (condition.function == "rank")
      held =
          operand != nullptr && compares(condition.comparison, static_cast<double>(operand->rank()),
                                         static_cast<double>(condition.value.integer));
    else
      held = compares(condition, batch.argument(position));
    if (held == condition.negated) return false;
  }
  return true;
}

std::optional<Results> run_elementwise(const BatchCall& batch, bool whole) {
  int64_t rank = 0;
  bool scalars = false, dtypes = false;
  DType dtype = DType::none;
  for (const Operand& operand : batch.operands()) {
    rank = std::max(rank, operand.rank());
    scalars = scalars || operand.rank() == 0;
    dtypes = dtypes || (dtype != DType::none && dtype != operand.inner.dtype());
    dtype = operand.inner.dtype();
  }
  if (rank > 0 && scalars && dtypes) return std::nullopt;
  InnerArguments arguments(batch);
  for (const Operand& operand : batch.operands()) {
    if (whole || (operand.batched && operand.rank() < rank))
      arguments.set(operand,
                    widened(whole ? batch.whole(operand) : operand.inner, rank - operand.rank()));
  }
  return arguments.call();
}

std::optional<Results> run_family(const BatchRule& rule, const BatchCall& batch) {
  const std::string& family = rule.family;
  if (family == "elementwise") return run_elementwise(batch, false);
  if (family == "each") return run_elementwise(batch, true);
  if (family == "dims") return run_dims(rule, batch);
  if (family == "leading") return run_leading(rule, batch);
  if (family == "shape") return run_shape(rule, batch, false);
  if (family == "expand") return run_shape(rule, batch, true);
  if (family == "squeeze") return run_squeeze(rule, batch);
  if (family == "fold") return run_fold(rule, batch);
  if (family == "insert") return run_insert(rule, batch);
  if (family == "permute") return run_permute(rule, batch);
  if (family == "groups") return run_groups(rule, batch);
  if (family == "placed") return run_placed(rule, batch);
  if (family == "rows") return run_rows(rule, batch);
  if (family == "reduce") return run_reduce(rule, batch);
  if (family == "strided") return run_strided(rule, batch);
  if (family == "once") return run_once(batch);
  return std::nullopt;
}

}  // namespace tenon_transforms
