// Walks over trees of modules, without recursion.
#include <unordered_set>

#include "core/autograd/engine/grad.hpp"
#include "core/base/error.hpp"
#include "core/dispatch/call/thread_state.hpp"
#include "core/dispatch/table/core_ops.hpp"
#include "core/nn/module.hpp"
#include "core/tensor/copy.hpp"
#include "core/tensor/dtype.hpp"

namespace tenon::core {

namespace {

// Calls `enter` with the module and, where `recurse` is set, all below it, in registration order,
// parents first; `prefix` is what its members' names begin with: "", "layers.0.".
template <class Enter>
void visit_modules(tenon_module& root, WalkOptions options, Enter&& enter) {
  // A module that is under way, and where its children's names begin.
  struct Step {
    tenon_module* module;
    size_t next_child;
    size_t name_length;
  };
  std::unordered_set<const tenon_module*> seen{&root};
  std::string prefix;
  enter(root, prefix);
  std::vector<Step> steps;
  if (options.recurse) steps.push_back({&root, 0, 0});
  while (!steps.empty()) {
    Step& step = steps.back();
    if (step.next_child == step.module->children.size()) {
      steps.pop_back();
      continue;
    }
    const tenon_module::Child& child = step.module->children[step.next_child++];
    if (child.module == nullptr) continue;
    if (!options.duplicates && !seen.insert(child.module).second) continue;
    if (options.names) {
      prefix.resize(step.name_length);
      (prefix += child.name) += '.';
    }
    enter(*child.module, prefix);
    steps.push_back({child.module, 0, prefix.size()});
  }
}

}  // namespace

void set_training(tenon_module& module, bool training) {
  for (const WalkItem& item : walk(module, Walk::Modules, {.recurse = true, .names = false}))
    item.module->training = training;
}

std::vector<WalkItem> walk(tenon_module& module, Walk what, WalkOptions options) {
  std::vector<WalkItem> items;
  std::unordered_set<const void*> seen;
  const auto add = [&](const void* identity, std::string name, Tensor* tensor,
                       tenon_module* found) {
    if (options.duplicates || seen.insert(identity).second)
      items.push_back({std::move(name), tensor, found});
  };
  if (what == Walk::Children && !options.recurse) {
    for (const tenon_module::Child& child : module.children) {
      if (child.module != nullptr || options.absent)
        add(child.module, options.names ? child.name : std::string(), nullptr, child.module);
    }
    return items;
  }
  visit_modules(module, options, [&](tenon_module& entered, const std::string& prefix) {
    if (what == Walk::Modules || (what == Walk::Children && &entered != &module)) {
      add(&entered, prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1), nullptr, &entered);
      return;
    }
    if (what == Walk::Children) return;
    const auto add_all = [&](const std::vector<tenon_module::Entry>& entries) {
      for (const tenon_module::Entry& entry : entries) {
        if (!entry.tensor || (what == Walk::State && !entry.persistent)) continue;
        add(entry.tensor.get(), options.names ? prefix + entry.name : std::string(),
            entry.tensor.get(), nullptr);
      }
    };
    if (what != Walk::Buffers) add_all(entered.parameters);
    if (what != Walk::Parameters) add_all(entered.buffers);
  });
  return items;
}

namespace {

// A copy; one of another type is asked to convert itself.
TensorRef converted(Tensor& tensor, tenon_dtype dtype) {
  if (!tensor.typed()) return contiguous_copy(tensor, dtype);
  const GradModeGuard no_grad(false);
  return core_ops::to(tensor, dtype);
}

}  // namespace

void convert(tenon_module& module, tenon_dtype dtype) {
  dtype_check(dtype);
  if (!dtype_floating(dtype)) {
    throw Error(TENON_ERROR_TYPE, "modules are converted to floating point dtypes only, not {}",
                dtype_text(dtype));
  }
  struct Change {
    Tensor* tensor;
    TensorRef value, grad;
  };
  std::vector<Change> changes;
  for (const Walk what : {Walk::Parameters, Walk::Buffers}) {
    for (const WalkItem& item : walk(module, what, {.recurse = true, .names = false})) {
      Tensor& tensor = *item.tensor;
      if (!dtype_floating(tensor.view.dtype) || tensor.view.dtype == dtype) continue;
      const TensorRef grad = grad_of(tensor);
      changes.push_back(
          {&tensor, converted(tensor, dtype), grad ? converted(*grad, dtype) : TensorRef()});
    }
  }
  for (Change& change : changes) replace_value(*change.tensor, *change.value, change.grad.get());
}

}  // namespace tenon::core
