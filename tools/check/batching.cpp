// Calls under vmap beside a loop over samples.
#include "batching.hpp"

#include <algorithm>
#include <memory>

#include <tenon/ops.hpp>
#include <tenon/runtime.hpp>
#include <tenon/transforms/vmap.hpp>

#include "format.hpp"
#include "text.hpp"

namespace cli {

namespace transforms = tenon::transforms;
using tenon::Tensor;

namespace {

constexpr size_t kVariants = 3;

// The plugin of the override that is the op's rule for batches; empty: there is none.
std::string provider_of_function(const std::string& op) {
  const tenon::Json overrides = tenon::document(tenon::Document::registrations)["overrides"];
  for (int64_t i = 0; i < overrides.size(); ++i) {
    const tenon::Json one = overrides[i];
    if (one["op"].text() != op) continue;
    for (int64_t t = 0; t < one["types"].size(); ++t) {
      const std::string type = one["types"][t].text();
      if (type == "Batched" || type == "BatchedOperand") return one["provider"].text();
    }
  }
  return "";
}

// Elements in another order, where all numbers are the author's.
Tensor rotated(const Tensor& tensor, size_t by) {
  std::vector<double> numbers = numbers_of(tensor);
  if (tenon::is_complex(tensor.dtype()) || numbers.size() < 2) return copied(tensor);
  std::rotate(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(by % numbers.size()),
              numbers.end());
  return with_elements(tensor, numbers);
}

// The index of a sample in all levels, the last one fastest.
std::vector<int64_t> index_of(int64_t number, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t level = sizes.size(); level-- > 0;) {
    index[level] = number % sizes[level];
    number /= sizes[level];
  }
  return index;
}
int64_t count_of(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

// Levels of vmap, the outermost first; the innermost one ends first.
struct Levels {
  explicit Levels(const std::vector<int64_t>& sizes) {
    for (const int64_t size : sizes)
      list.push_back(
          std::make_unique<transforms::vmapped::LevelScope>(size, transforms::Randomness::error));
  }
  ~Levels() {
    while (!list.empty()) list.pop_back();
  }
  Levels(const Levels&) = delete;
  Levels& operator=(const Levels&) = delete;
  const transforms::Level& operator[](size_t level) const { return list[level]->level(); }

  std::vector<std::unique_ptr<transforms::vmapped::LevelScope>> list;
};

bool are_plain(const std::vector<Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    return tensor.defined() && has_data(tensor) && tenon::type_name(tensor) == "Tensor";
  });
}

}  // namespace

bool has_vmap() {
  static const bool found = [] {
    try {
      static_cast<void>(transforms::active_level());
      return true;
    } catch (const tenon::Error&) {
      return false;
    }
  }();
  return found;
}

std::string BatchRun::text() const {
  if (how == "function") return format_text("the batch rule of plugin '{}'", provider);
  if (how == "ops") return "no rule: the op is made of ops, which run on batches";
  if (!rule.empty()) return format_text("rule '{}' of plugin '{}'", rule, provider);
  if (how == "elementwise") return "no rule: the op runs in loops over elements";
  return how == "loop" ? "no rule: the loop" : how;
}

std::string BatchPlaces::text() const {
  std::string text;
  for (size_t level = 0; level < sizes.size(); ++level) {
    std::vector<std::string> parts;
    for (const std::vector<int64_t>& dim : dims)
      parts.push_back(dim[level] < 0 ? "none" : std::to_string(dim[level]));
    text += format_text("{}in_dims ({}) of {} samples", level == 0 ? "" : ", within it ",
                        join(parts, ", "), sizes[level]);
  }
  return layout.empty() ? text : format_text("{}, with {}", text, layout);
}

BatchedCall::BatchedCall(const OpCheck& check, const Sample& sample)
    : op_(check.op.name), function_(provider_of_function(op_)) {
  for (size_t v = 0; v < kVariants; ++v) {
    calls_.emplace_back(check.op.name, sample, check.settings.seed + 7 * v);
    variants_.push_back(calls_.back().tensors);
  }
  for (size_t t = 0; t < tensors(); ++t) {
    const DeclaredType& type = check.parameter_of(sample, calls_[0].places[t].value);
    changed_.push_back(type.mutates || check.mutated.count(type.name) > 0);
  }
  // Numbers that the author has written are the same for all seeds: others, where the op takes them.
  std::vector<std::vector<Tensor>> others = variants_;
  bool changed = false;
  for (size_t t = 0; t < tensors(); ++t) {
    if (!may_batch(t) || !has_data(variants_[0][t]) || variants_[0][t].numel() < 2) continue;
    if (bytes_of(variants_[0][t]) != bytes_of(variants_[1][t])) continue;
    for (size_t v = 1; v < kVariants; ++v) others[v][t] = rotated(variants_[0][t], v);
    changed = true;
  }
  const auto takes = [&](const std::vector<std::vector<Tensor>>& given) {
    for (size_t v = 0; v < kVariants; ++v) {
      if (!are_plain(given[v])) return false;
      try {
        const std::vector<tenon::Value> results = calls_[0](copied(given[v]));
        const std::vector<Tensor> tensors = tensors_of(results);
        if (tensors.empty() || !are_plain(tensors)) return false;
        for (const tenon::Value& result : results) {
          if (!result.is_tensor() && result.get().tag != TENON_VALUE_TENSOR_LIST) return false;
        }
      } catch (const tenon::Error&) {
        return false;
      }
    }
    return true;
  };
  if (tensors() == 0) return;
  if (changed && takes(others)) {
    variants_ = others;
    usable_ = true;
  } else {
    usable_ = takes(variants_);
  }
}

bool BatchedCall::requires_grad(size_t tensor) const {
  return calls_[0].places[tensor].requires_grad && may_batch(tensor) &&
         tenon::is_differentiable(variants_[0][tensor].dtype());
}
bool BatchedCall::changes() const {
  return std::find(changed_.begin(), changed_.end(), true) != changed_.end();
}

std::vector<Tensor> BatchedCall::wholes(const BatchPlaces& places) const {
  std::vector<Tensor> wholes;
  for (size_t t = 0; t < tensors(); ++t) {
    const std::vector<int64_t>& dims = places.dims[t];
    // Stacked from the inside; a level in which it is not batched has one number for all.
    std::vector<int64_t> sizes;
    for (size_t level = 0; level < dims.size(); ++level)
      sizes.push_back(dims[level] < 0 ? 1 : places.sizes[level]);
    const int64_t count = count_of(sizes);
    if (count == 0) {
      std::vector<int64_t> shape = variants_[0][t].sizes();
      for (size_t level = dims.size(); level-- > 0;) {
        if (dims[level] >= 0) shape.insert(shape.begin() + dims[level], places.sizes[level]);
      }
      wholes.push_back(
          tenon::empty_tensor(tenon::IntList(shape.data(), static_cast<int64_t>(shape.size())),
                              variants_[0][t].dtype()));
      continue;
    }
    std::vector<Tensor> list;
    for (int64_t i = 0; i < count; ++i)
      list.push_back(copied(variants_[static_cast<size_t>(i) % kVariants][t]));
    for (size_t level = dims.size(); level-- > 0;) {
      if (dims[level] < 0) continue;
      std::vector<Tensor> stacked;
      for (size_t i = 0; i < list.size(); i += static_cast<size_t>(sizes[level])) {
        const auto begin = list.begin() + static_cast<std::ptrdiff_t>(i);
        stacked.push_back(
            tenon::stack(std::vector<Tensor>(begin, begin + sizes[level]), dims[level]));
      }
      list = std::move(stacked);
    }
    wholes.push_back(copied(list[0]));
  }
  return wholes;
}

std::vector<Tensor> BatchedCall::sample_of(const BatchPlaces& places,
                                           const std::vector<Tensor>& wholes,
                                           const std::vector<int64_t>& index, bool views) const {
  std::vector<Tensor> sample;
  for (size_t t = 0; t < tensors(); ++t) {
    Tensor one = wholes[t];
    for (size_t level = 0; level < index.size(); ++level) {
      if (places.dims[t][level] >= 0) one = tenon::select(one, places.dims[t][level], index[level]);
    }
    sample.push_back(views ? one : copied(one));
  }
  return sample;
}

BatchResult BatchedCall::by_loop(const BatchPlaces& places, const std::vector<Tensor>& wholes,
                                 bool views) const {
  const int64_t count = count_of(places.sizes);
  std::vector<std::vector<Tensor>> samples;  // by result, then by sample
  try {
    for (int64_t i = 0; i < std::max<int64_t>(count, 1); ++i) {
      const std::vector<Tensor> given =
          count == 0 ? copied(variants_[0])
                     : sample_of(places, wholes, index_of(i, places.sizes), views);
      const std::vector<Tensor> results = tensors_of(calls_[0](given));
      if (i > 0 && results.size() != samples.size()) return {{}, "another number of results"};
      samples.resize(results.size());
      for (size_t r = 0; r < results.size(); ++r) samples[r].push_back(results[r]);
    }
    BatchResult result;
    for (const std::vector<Tensor>& list : samples) {
      std::vector<int64_t> shape = places.sizes;
      for (const int64_t size : list[0].shape()) shape.push_back(size);
      result.tensors.push_back(count == 0 ? tenon::zeros(shape, list[0].dtype())
                                          : tenon::reshape(tenon::stack(list, 0), shape));
    }
    return result;
  } catch (const tenon::Error& error) {
    return {{}, error.what()};
  }
}

BatchResult BatchedCall::by_vmap(const BatchPlaces& places, const std::vector<Tensor>& wholes) {
  const auto note = [&] {
    const char *how = nullptr, *rule = nullptr, *provider = nullptr;
    static const tenon::Service<transforms_service> runs("transforms", 2);
    runs->take_last(&how, &rule, &provider);
    last_ = {how == nullptr ? "" : how, rule == nullptr ? "" : rule,
             provider == nullptr ? "" : provider};
    if (!function_.empty()) last_ = {"function", "", function_};
  };
  bool noted = false;
  try {
    const Levels levels(places.sizes);
    std::vector<Tensor> given = wholes;
    for (size_t t = 0; t < given.size(); ++t) {
      for (size_t level = 0; level < places.sizes.size(); ++level) {
        if (places.dims[t][level] >= 0)
          given[t] = transforms::batch(given[t], levels[level], places.dims[t][level]);
      }
    }
    note();  // forgets what came before
    std::vector<Tensor> results = tensors_of(calls_[0](given));
    note();
    noted = true;
    for (Tensor& result : results) {
      for (size_t level = places.sizes.size(); level-- > 0;)
        result = transforms::unbatch(result, levels[level]);
    }
    return {results, ""};
  } catch (const tenon::Error& error) {
    if (!noted) note();
    return {{}, error.what()};
  }
}

}  // namespace cli
