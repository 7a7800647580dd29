// Stage "values" of modules: in eval mode equal calls have equal results, whatever the strides of the
// inputs, their number, whether gradients are recorded, and what other instances do; inputs, parameters
// and buffers stay as they are, and a result is the caller's.
#include <algorithm>

#include <tenon/autograd.hpp>

#include "format.hpp"
#include "module_check.hpp"
#include "tensors.hpp"

namespace cli {

using tenon::Tensor;

namespace {

class Values {
 public:
  Values(ModuleCheck& check, const ModuleCall& call)
      : check_(check),
        call_(call),
        report_(call.report()),
        made_(check.make(call.attributes)),
        forward_(evaluated(), call.inputs, check.settings.seed) {}

  void run() {
    expected_ = outputs(copied(forward_.tensors));
    if (!report_.deterministic) return;
    find("nondeterminism", differs("called twice", outputs(copied(forward_.tensors))));
    if (!check_.found.empty() || draws()) return;
    find("undeclared-mutation", of_inputs());
    if (report_.mutation) find("eval-state", of_state());
    find("shared-result", of_memory());
    find("instances", of_instances());
    find("layout", of_layouts());
    find("gradient-mode", of_recording());
    find("size", of_copies());
  }

 private:
  const tenon::Module& evaluated() const {
    made_.eval();
    return made_;
  }
  std::vector<Tensor> outputs(const std::vector<Tensor>& given, uint64_t draw = 1) const {
    std::vector<Tensor> list;
    for (const Tensor& output : readable(tensors_of(forward_(given, draw))))
      list.push_back(output.defined() ? copied(output.detach()) : output);
    return list;
  }
  bool draws() const {
    return !difference(outputs(copied(forward_.tensors), 2), outputs(copied(forward_.tensors), 3),
                       kExact)
                .empty();
  }
  void find(const char* kind, const std::string& breach) {
    if (!breach.empty()) check_.find(kind, breach, &report_);
  }
  std::string differs(const std::string& how, const std::vector<Tensor>& found) const {
    const std::string what = difference(expected_, found, kSingle);
    return what.empty() ? "" : format_text("{}, the result{}", how, what);
  }

  std::string of_inputs() const {
    const std::vector<Tensor> given = copied(forward_.tensors);
    const auto before = bytes_of(given);
    outputs(given);
    const auto after = bytes_of(given);
    for (size_t t = 0; t < given.size(); ++t) {
      const std::string& name = forward_.name_of(t);
      const bool declared =
          std::any_of(check_.module.inputs.begin(), check_.module.inputs.end(),
                      [&](const DeclaredType& type) { return type.name == name && type.mutates; });
      if (after[t] != before[t] && !declared)
        return format_text("the call changes its argument '{}', which forward declares without '!'",
                           name);
    }
    return "";
  }

  std::vector<std::pair<std::string, Tensor>> state() const {
    std::vector<std::pair<std::string, Tensor>> list;
    for (const auto& [name, tensor] : made_.named_parameters())
      list.emplace_back(format_text("the parameter '{}'", name), tensor);
    for (const auto& [name, tensor] : made_.named_buffers())
      list.emplace_back(format_text("the buffer '{}'", name), tensor);
    list.erase(std::remove_if(list.begin(), list.end(),
                              [](const auto& entry) {
                                return !entry.second.defined() || !has_data(entry.second);
                              }),
               list.end());
    return list;
  }

  // State that a loop over batches of a test set must not change.
  std::string of_state() const {
    std::vector<std::vector<char>> before;
    for (const auto& [name, tensor] : state()) before.push_back(bytes_of(tensor));
    outputs(copied(forward_.tensors));
    const auto after = state();
    if (after.size() != before.size()) return "a call adds or removes parameters or buffers";
    for (size_t i = 0; i < after.size(); ++i) {
      if (bytes_of(after[i].second) != before[i])
        return format_text("a call in eval mode changes {}", after[i].first);
    }
    return "";
  }

  // Views of inputs and parameters are tracked as such; memory that the instance uses again is not.
  std::string of_memory() const {
    const tenon::NoGrad off;
    const std::vector<Tensor> given = copied(forward_.tensors), other = copied(forward_.tensors);
    const std::vector<Tensor> first = tensors_of(forward_(given)),
                              second = tensors_of(forward_(other));
    std::string own;
    for (const Tensor& result : first) {
      if (!result.defined() || !has_data(result)) continue;
      for (size_t t = 0; t < given.size(); ++t) {
        if (given[t].defined() && shares_storage(result, given[t]))
          own = format_text("the argument '{}'", forward_.name_of(t));
      }
      for (const auto& [name, tensor] : state()) {
        if (!shares_storage(result, tensor)) continue;
        if (name.rfind("the buffer", 0) == 0)
          return format_text("a result shares the memory of {}: what changes it changes the module",
                             name);
        own = name;
      }
      if (!own.empty()) {
        check_.listener.note(format_text("a result shares the memory of {}", own));
        return "";
      }
      for (const Tensor& later : second) {
        if (later.defined() && has_data(later) && shares_storage(result, later))
          return "a second call returns memory that the first result uses";
      }
    }
    return "";
  }

  std::string of_instances() const {
    const tenon::Module other = check_.make(call_.attributes, 1);
    const SampleCall call = check_.call_of(other, call_, 1);
    for (const bool training : {true, false}) {
      other.train(training);
      try {
        call(call.tensors);
      } catch (const tenon::Error&) {  // it refuses these inputs
      }
    }
    return differs("once before and once after another instance was made and called",
                   outputs(copied(forward_.tensors)));
  }

  std::string of_layouts() const {
    if (!report_.layouts) return "";
    for (const Layout& layout : kLayouts) {
      std::vector<Tensor> changed;
      for (const Tensor& tensor : forward_.tensors)
        changed.push_back(tensor.defined() ? layout.make(tensor) : tensor);
      const std::vector<Tensor> whole = copied(changed);
      std::vector<Tensor> expected, found;
      try {
        expected = outputs(whole);
        found = outputs(changed);
      } catch (const tenon::Error&) {  // refused, in words
        continue;
      }
      const std::string what = difference(expected, found, kSingle);
      if (!what.empty())
        return format_text("once contiguous and once with {}, the result{}", layout.name, what);
    }
    return "";
  }

  std::string of_recording() const {
    std::vector<Tensor> recorded = copied(forward_.tensors);
    for (size_t t = 0; t < recorded.size(); ++t) {
      if (forward_.places[t].requires_grad) recorded[t].requires_grad_();
    }
    std::string found =
        differs("once where an input requires grad and once where none does", outputs(recorded));
    if (!found.empty()) return found;
    const tenon::NoGrad off;
    return differs("once with and once without recording", outputs(copied(forward_.tensors)));
  }

  // If the results of two and three copies are copies, those of more must be.
  std::string of_copies() const {
    for (const Tensor& tensor : forward_.tensors) {
      if (!tensor.defined() || tensor.dim() == 0) return "";
    }
    for (const int64_t count : {2, 3, 7, 23, 400}) {
      std::vector<Tensor> given, expected;
      for (const Tensor& tensor : forward_.tensors) given.push_back(tiled(tensor, 0, count));
      for (const Tensor& output : expected_) {
        if (!output.defined() || output.dim() == 0) return "";
        expected.push_back(tiled(output, 0, count));
      }
      std::vector<Tensor> found;
      try {
        found = outputs(given);
      } catch (const tenon::Error&) {
        return "";
      }
      const std::string what = difference(expected, found, kSingle);
      if (what.empty()) continue;
      if (count <= 3) return "";  // samples are not on their own
      return format_text(
          "once as {0} copies of a small call and once in one call of {0} copies, "
          "the result{1}",
          count, what);
    }
    return "";
  }

  ModuleCheck& check_;
  const ModuleCall& call_;
  const Sample report_;
  const tenon::Module made_;
  const SampleCall forward_;
  std::vector<Tensor> expected_;
};

}  // namespace

void check_module_values(ModuleCheck& check, const ModuleCall& call) { Values(check, call).run(); }

}  // namespace cli
