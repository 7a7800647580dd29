#include "device.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <tenon/device.hpp>
#include <tenon/gradcheck_numbers.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/ops.hpp>
#include <tenon/runtime.hpp>
#include <tenon/text.hpp>
#include <tenon/trace.hpp>

#include "call_reference.hpp"
#include "comparison.hpp"
#include "format.hpp"
#include "op_check.hpp"
#include "text.hpp"

namespace cli {

using tenon::Json;
using tenon::Tensor;

std::string device_of(const Json& declarations) {
  const Json types = tenon::read_facts(declarations["path"].text())["types"];
  for (int64_t i = 0; i < types.size(); ++i)
    if ((types[i]["flags"].integer() & TENON_TYPE_OWN_MEMORY) != 0) return types[i]["name"].text();
  return "";
}

static bool takes_tensors(const Json& op) {
  const std::vector<DeclaredType> parameters = declared_types(op["parameters"]);
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const DeclaredType& type) { return type.is_tensor() && !type.is_out(); });
}

std::vector<CheckTarget> device_targets(const std::vector<std::string>& providers,
                                        const std::string& item) {
  std::vector<CheckTarget> targets;
  std::vector<std::string> names;
  for (const std::string& provider : providers) {
    const Json ops = tenon::listing::declarations(provider)["ops"];
    for (int64_t i = 0; i < ops.size(); ++i) {
      const std::string name = ops[i]["name"].text();
      names.push_back(name);
      if (!takes_tensors(ops[i]) || (!item.empty() && item != name)) continue;
      targets.push_back({"op", name, ops[i], "", "", ""});
    }
  }
  if (targets.empty())
    throw tenon::ValueError(format_text("--against: no op{} of {} takes tensors{}",
                                        item.empty() ? "" : format_text(" '{}'", item),
                                        join(providers, ", "), tenon::suggestion(item, names)));
  return targets;
}

namespace {

constexpr size_t kMostSamplesOnDevice = 6;

// Kernels of a device order sums otherwise, and compute functions otherwise (OpenCL allows pow 16 ULP): the bound
// is that of sums of so many terms, where they are not longer.
constexpr double kLeastTerms = 16;

// The most that the spread adds, as a share of the largest element, or of 1. A spread is a change for a step of 2^-20:
// where a result jumps it is 2^20 of the jump, and 32 u of that are two jumps in f32, so that either side would do.
// Smooth functions and sums that cancel stay below 0.001. Dtypes with larger u have the room of sums.
double most_of_spread(double unit, double largest) {
  return std::max(0x1p-10, 256 * unit) * std::max(1.0, largest);
}

// "has 3 at element 1, on the CPU 4": farther than the bound both from what the CPU gives and from the number in f64;
// empty: within it. `derived`: of a seed. `reference` returns the result in f64, and is called where bits differ.
template <class Reference>
std::string device_difference(const Tensor& found, const Tensor& expected, double terms,
                              bool derived, const Reference& reference) {
  if (found.defined() != expected.defined())
    return found.defined() ? "is undefined on the CPU" : "is undefined";
  if (!found.defined()) return "";
  if (found.dtype() != expected.dtype() || found.sizes() != expected.sizes())
    return format_text("is {}, on the CPU {}", shape_dtype_text(found), shape_dtype_text(expected));
  const std::vector<double> a = numbers_of(found), b = numbers_of(expected);
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  if (std::equal(a.begin(), a.end(), b.begin(), same)) return "";
  const bool whole = !tenon::is_differentiable(expected.dtype());
  const ReferenceNumbers numbers = whole ? ReferenceNumbers() : reference();
  const bool known = numbers.numbers.size() == b.size();
  // Without a reference the largest number stands for the sums that each is made of.
  double largest = 0;
  for (const double number : b)
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  const tenon::DType real = whole ? expected.dtype() : tenon::real_dtype(expected.dtype());
  const Bound bound{std::max(terms, kLeastTerms), unit_of(real)};
  const size_t parts = tenon::is_complex(expected.dtype()) ? 2 : 1;
  // The size of an element, and how far it moves: of both parts of a complex one.
  const auto size_at = [&](const std::vector<double>& list, size_t i) {
    return parts == 2 ? std::hypot(list[i / 2 * 2], list[i / 2 * 2 + 1]) : std::abs(list[i]);
  };
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (same(a[i], b[i])) continue;
    double room = 0;
    if (!whole && std::isfinite(a[i]) && std::isfinite(b[i])) {
      const double of_spread = bound.of(0, known ? size_at(numbers.spread, i) : largest);
      room = bound.of(size_at(b, i), 0) + std::min(of_spread, most_of_spread(bound.unit, largest)) +
             smallest_of(real);
      // Parts as large as the seed may cancel whatever the inputs are.
      if (derived) room = std::max(room, 8 * bound.unit * std::max(1.0, largest));
      if (std::abs(a[i] - b[i]) <= room) continue;
      if (known && std::abs(a[i] - numbers.numbers[i]) <= room) continue;
    }
    return format_text("has {} at element {}, on the CPU {}{}; the bound is {}", short_number(a[i]),
                       i / parts, short_number(b[i]),
                       known ? format_text(", in f64 {}", short_number(numbers.numbers[i])) : "",
                       short_number(room));
  }
  return "";
}

class DeviceCheck {
 public:
  DeviceCheck(OpCheck& check, const std::string& device, std::string plugin)
      : check_(check), device_(device), plugin_(std::move(plugin)) {}

  void compare(const Sample& sample) {
    const SampleCall call = check_.call_of(sample);
    std::vector<Tensor> singles = in_single(call.tensors);
    const bool has_doubles = !std::equal(
        singles.begin(), singles.end(), call.tensors.begin(),
        [](const Tensor& a, const Tensor& b) { return !a.defined() || a.dtype() == b.dtype(); });
    for (const bool single : {false, true}) {
      if (single && !has_doubles) continue;
      sample_ = &sample;
      call_ = &call;
      inputs_ = single ? singles : call.tensors;
      if (inputs_.empty()) continue;
      check_.listener.trying(sample);
      if (!compare_one("result", [&](bool there) { return results(there); })) continue;
      const bool changes = check_.mutates(sample);
      if (changes || check_.op.zero_gradient) continue;
      if (check_.op.differentiable != "none" && sample.gradcheck.check_backward_ad)
        compare_one("gradient", [&](bool there) { return gradients(there); });
      if (sample.gradcheck.check_forward_ad)
        compare_one("tangent", [&](bool there) { return tangents(there); });
    }
  }
  // Ops that kernels of the device have run, in all calls, and those that ran elsewhere.
  void report() const {
    std::vector<std::string> kernels;
    for (const auto& [op, count] : answers_)
      if (count > 0) kernels.push_back(op);
    if (std::find(kernels.begin(), kernels.end(), check_.op.name) == kernels.end())
      check_.listener.note(kernels.empty()
                               ? std::string("the device has no kernel for these samples")
                               : format_text("the device has no kernel for these samples; of those "
                                             "that it calls it has {}",
                                             join(kernels, ", ")));
    if (!refused_.empty()) check_.listener.note(format_text("not on the device: {}", refused_));
  }
  int64_t compared() const { return compared_; }

 private:
  using Tensors = std::vector<Tensor>;

  Tensors copies(bool there, bool leaves) const {
    Tensors list;
    for (size_t t = 0; t < inputs_.size(); ++t) {
      Tensor one = copied(inputs_[t]);
      if (!one.defined()) {
        list.push_back(one);
        continue;
      }
      one = moved(one, t, there);
      if (leaves && call_->places[t].requires_grad && tenon::is_differentiable(one.dtype()))
        one.requires_grad_();
      list.push_back(one);
    }
    return list;
  }
  // An input or a seed, `number` of its call, as this run has it: moved by its direction, on the device.
  Tensor moved(const Tensor& tensor, uint64_t number, bool there) const {
    const Tensor one =
        direction_ == 0 ? tensor : moved_by({tensor}, direction_ + kDirections * number)[0];
    return there ? tenon::device::to(one, device_) : one;
  }
  // Results, then operands as the call has left them.
  Tensors results(bool there) const {
    const tenon::NoGrad off;
    const Tensors given = copies(there, false);
    Tensors all = tensors_of((*call_)(given));
    all.insert(all.end(), given.begin(), given.end());
    return all;
  }
  Tensors gradients(bool there) const {
    const Tensors given = copies(there, true);
    Tensors leaves, roots;
    for (const Tensor& tensor : given)
      if (tensor.defined() && tensor.requires_grad()) leaves.push_back(tensor);
    tenon::GradientOptions options;
    options.allow_unused = true;
    const Tensors made = tensors_of((*call_)(given));
    for (size_t r = 0; r < made.size(); ++r) {
      if (!made[r].defined() || !made[r].requires_grad()) continue;
      roots.push_back(made[r]);
      const Tensor like = tenon::empty_tensor(made[r].shape(), made[r].dtype());
      const Tensor seed = tenon::detail::arbitrary_like(like, r + 1);
      options.seeds.push_back(moved(seed, given.size() + r, there));
    }
    if (roots.empty() || leaves.empty()) return {};
    return tenon::gradients(roots, leaves, options);
  }
  Tensors tangents(bool there) const {
    const tenon::DualLevel level;
    Tensors given = copies(there, false), list;
    for (size_t t = 0; t < given.size(); ++t) {
      Tensor& one = given[t];
      if (!one.defined() || !call_->places[t].requires_grad) continue;
      if (tenon::is_differentiable(one.dtype()))
        one = tenon::make_dual(one, moved(one.clone(), given.size() + t, false));
    }
    for (const Tensor& made : tensors_of((*call_)(given))) {
      if (made.defined() && tenon::is_differentiable(made.dtype()))
        list.push_back(tenon::unpack_dual(made).tangent);
    }
    return list;
  }

  // False where the CPU does not do it either.
  template <class Body>
  bool compare_one(const char* what, const Body& body) {
    Tensors expected, found;
    try {
      expected = body(false);
    } catch (const tenon::Error&) {
      return false;
    }
    try {
      // References, which run on the CPU, are not heard.
      const tenon::TraceScope trace(tenon::TraceFormat::json,
                                    [&](std::string_view line) { hear(line); });
      found = body(true);
      for (Tensor& one : found) fetch(what, one);
    } catch (const tenon::Error& error) {
      if (error.kind() == TENON_ERROR_NOT_IMPLEMENTED)
        refused_ = error.what();
      else
        find("device-refuses", format_text("the {} fails there: {}", what, error.what()));
      return false;
    }
    ++compared_;
    if (found.size() != expected.size())
      find("device-differs", format_text("there are {}, on the CPU {}", found.size(),
                                         counted(static_cast<int64_t>(expected.size()), what)));
    const bool derived = std::string_view(what) != "result";
    std::vector<ReferenceNumbers> references;
    double numbers = 0;
    for (const Tensor& input : inputs_)
      numbers += input.defined() ? static_cast<double>(input.numel()) : 0;
    for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
      const double size =
          found[i].defined() ? std::max<double>(1, static_cast<double>(found[i].numel())) : 1;
      const std::string difference =
          device_difference(found[i], expected[i], numbers / size, derived, [&] {
            if (references.empty()) references = references_of(body, expected.size());
            return references[i];
          });
      if (!difference.empty()) find("device-differs", format_text("{} {} {}", what, i, difference));
    }
    return true;
  }
  // Results in f64, of inputs as they are and moved a little. Empty ones where the op refuses those.
  template <class Body>
  std::vector<ReferenceNumbers> references_of(const Body& body, size_t count) {
    std::vector<ReferenceNumbers> list(count);
    const Tensors given = std::exchange(inputs_, in_double(inputs_));
    for (uint64_t direction = 0; direction <= kDirections; ++direction) {
      direction_ = direction;
      try {
        const Tensors made = body(false);
        if (direction > 0)
          note_spread(made, list);
        else if (!note_numbers(made, list))
          break;
      } catch (const tenon::Error&) {
        if (direction == 0) break;
      }
    }
    direction_ = 0;
    inputs_ = given;
    return list;
  }
  // The tensor in memory of the CPU.
  void fetch(const char* what, Tensor& tensor) {
    if (!tensor.defined()) return;
    if (tenon::device::name_of(tensor) != device_.name())
      find("device-left", format_text("a {} is on {}", what, tenon::device::name_of(tensor)));
    tensor = tenon::device::to(tensor.detach(), "cpu");
  }
  void hear(std::string_view line) {
    if (line.find("\"override\"") == line.npos && line.find("\"declined\"") == line.npos) return;
    const Json event = Json::parse(line);
    const std::string op = event["op"].text(), kind = event["event"].text();
    const int64_t depth = event["depth"].integer();
    if (kind == "override" && event["provider"].text() == plugin_) {
      asked_[depth] = op;
      ++answers_[op];
    } else if (kind == "declined" && asked_[depth - 1] == op && answers_[op] > 0) {
      --answers_[op];
    }
  }
  void find(const char* kind, const std::string& message) {
    check_.find(kind, format_text("on {}: {}", device_.name(), message), sample_);
  }

  OpCheck& check_;
  const tenon::device::Device device_;
  const std::string plugin_;
  const Sample* sample_ = nullptr;
  const SampleCall* call_ = nullptr;
  Tensors inputs_;
  uint64_t direction_ = 0;                  // number of the run, by which inputs are moved
  std::map<int64_t, std::string> asked_;    // op of the override asked last, by depth
  std::map<std::string, int64_t> answers_;  // of kernels of the device, by op
  std::string refused_;
  int64_t compared_ = 0;
};

}  // namespace

void check_on_device(const CheckedOp& op, const std::string& device, const std::string& plugin,
                     const CheckSettings& settings, CheckListener& listener) {
  OpCheck check(op, settings, listener);
  check.stage = "device";
  listener.stage(check.stage);
  try {
    if (!find_samples(check)) return;
    if (check.samples.size() > kMostSamplesOnDevice) check.samples.resize(kMostSamplesOnDevice);
    DeviceCheck comparison(check, device, plugin);
    for (const Sample& sample : check.samples) {
      if (sample.deterministic) comparison.compare(sample);
    }
    comparison.report();
    if (comparison.compared() == 0)
      listener.skip(
          "nothing was compared: no sample is computed on both, or its results are random");
    listener.samples(static_cast<int64_t>(check.samples.size()));
  } catch (const tenon::Error& error) {
    check.find("samples", error.what(), nullptr);
  }
}

}  // namespace cli
