// Module states: what they consist of, and loading with a full report of what does not fit.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <tenon/interrupt.hpp>
#include <tenon/kernel/check.hpp>
#include <tenon/state/module_state.hpp>
#include <tenon/text.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "state_source.hpp"
#include "stored_file.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

using lib::format_text;
using lib::quote;

namespace {

using Names = std::vector<std::string>;

// ---- hooks ----

constexpr uint32_t kHooksOfStates =
    1u << TENON_HOOK_STATE_SAVE_PRE | 1u << TENON_HOOK_STATE_SAVE_POST |
    1u << TENON_HOOK_STATE_LOAD_PRE | 1u << TENON_HOOK_STATE_LOAD_POST;

bool has_hooks(const Module& module, uint32_t kinds) {
  return service::modules().has_hooks(module.handle(), kinds) != 0;
}

// A module with hooks; its prefix begins the names of its members, and of all below it.
struct Hooked {
  Module module;
  std::string prefix;
};

// Parents first. Hooks may change the tree meanwhile.
std::vector<Hooked> hooked_modules(const Module& root) {
  std::vector<Hooked> modules;
  for (auto& [name, module] : root.named_modules(false)) {
    if (has_hooks(module, kHooksOfStates))
      modules.push_back({std::move(module), name.empty() ? "" : name + "."});
  }
  return modules;
}

// Each module once those below it were visited.
template <class Visit>
void visit_children_first(const std::vector<Hooked>& modules, Visit&& visit) {
  std::vector<const Hooked*> open;
  const auto close = [&] {
    visit(*open.back());
    open.pop_back();
  };
  for (const Hooked& next : modules) {
    while (!open.empty() &&
           next.prefix.compare(0, open.back()->prefix.size(), open.back()->prefix) != 0)
      close();
    open.push_back(&next);
  }
  while (!open.empty()) close();
}

// The inputs of one kind of hooks of a module, which hooks may replace.
class HookInputs {
 public:
  template <class... Inputs>
  explicit HookInputs(const Hooked& hooked, Inputs&&... inputs) : hooked_(hooked) {
    add(hooked.prefix);
    (add(std::forward<Inputs>(inputs)), ...);
  }
  void run(int32_t kind) {
    static_assert(sizeof(Value) == sizeof(tenon_value), "values are values of the boundary");
    detail::check(service::modules().run_hooks, hooked_.module.handle(), kind, values_[0].slot(),
                  static_cast<int64_t>(count_));
  }
  const Value& operator[](size_t i) const { return values_[i]; }

 private:
  template <class Input>
  void add(Input&& input) {
    detail::give_result(std::forward<Input>(input), values_[count_++].slot());
  }
  const Hooked& hooked_;
  std::array<Value, 4> values_;
  size_t count_ = 0;
};

Names names_of(const NamedTensors& state) {
  Names names;
  for (const auto& entry : state) names.push_back(entry.first);
  return names;
}
std::vector<Tensor> tensors_of(const NamedTensors& state) {
  std::vector<Tensor> tensors;
  for (const auto& entry : state) tensors.push_back(entry.second);
  return tensors;
}

// The state as hooks left it.
NamedTensors hooked_state(const HookInputs& inputs) {
  const Names names = inputs[1].strings();
  const std::vector<Tensor> tensors = inputs[2].tensors();
  if (names.size() != tensors.size())
    throw ValueError(format_text("a hook gave a state of {} names and {} tensors", names.size(),
                                 tensors.size()));
  NamedTensors state;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!tensors[i].defined())
      throw ValueError(format_text("a hook gave no tensor for {}", names[i]));
    state.emplace_back(names[i], tensors[i]);
  }
  return state;
}

// ---- what a module and a source have ----

NamedTensors own_state(const Module& module) {
  Value names, tensors;
  detail::check(service::modules().state, module.handle(), names.slot(), tensors.slot());
  Names texts = names.strings();
  NamedTensors state(texts.size());
  for (size_t i = 0; i < texts.size(); ++i)
    state[i] = {std::move(texts[i]), Tensor::borrow(tensors.get().as.tensors[i])};
  return state;
}

// A state in memory as that of a file.
StateSource stored(const NamedTensors& state) {
  StoredTensors parts = store_objects(state, Stored::Parts);
  return {std::move(parts.tensors), std::move(parts.metadata), ""};
}

using Objects = std::unordered_map<std::string_view, tenon_tensor*>;
// A tensor of the state, or a component of one, by its stored name.
Tensor find_object(const Objects& objects, std::string_view name) {
  for (size_t end = name.size(); end != 0 && end != name.npos; end = name.rfind('.', end - 1)) {
    const auto known = objects.find(name.substr(0, end));
    if (known == objects.end()) continue;
    tenon_tensor* found = known->second;
    std::string_view rest = name.substr(end);
    while (!rest.empty()) {
      const std::string_view part = rest.substr(1, rest.find('.', 1) - 1);
      if (service::types().component(found, part.data(), static_cast<int64_t>(part.size()), &found,
                                     nullptr) != TENON_OK)
        break;
      rest.remove_prefix(part.size() + 1);
    }
    if (rest.empty()) return Tensor::borrow(found);
  }
  return {};
}

// ---- comparing ----

// Attributes of an object's payload, in the module and in the source.
struct ChangedAttributes {
  Tensor object;
  std::string own, saved;
};

// How a source fits a module.
struct Fit {
  LoadReport report;
  Names mismatched;
  std::vector<std::pair<Tensor, Tensor>> copies;  // from the second to the first
  std::vector<ChangedAttributes> attributes;
};

// A plain file says nothing of types; one that does must mean the same ones.
void compare_types(const NamedTensors& objects, const Metadata& own, const Metadata& saved,
                   Fit& fit) {
  std::unordered_map<std::string_view, const std::string*> texts;
  for (const auto& [key, text] : saved) texts.emplace(key, &text);
  const auto each = [&](std::string_view kind, auto&& compare_one) {
    for (const auto& [key, text] : own) {
      if (key.compare(0, kind.size(), kind) != 0) continue;
      if (const auto found = texts.find(key); found != texts.end())
        compare_one(key.substr(kind.size()), text, *found->second);
    }
  };
  each(kTypeKey, [&](const std::string& name, const std::string& type, const std::string& found) {
    if (found != type)
      fit.mismatched.push_back(format_text(
          "type mismatch for {}: it is a {} in checkpoint, the type in current model is {}.", name,
          found, type));
  });
  if (!fit.mismatched.empty()) return;
  Objects by_name;
  for (const auto& [name, tensor] : objects) by_name.emplace(name, tensor.handle());
  each(kAttributesKey,
       [&](const std::string& name, const std::string& own_text, const std::string& saved_text) {
         fit.attributes.push_back({find_object(by_name, name), own_text, saved_text});
       });
}

Fit compare(const NamedTensors& objects, const StateSource& source) {
  const StateSource own = stored(objects);
  Fit fit;
  std::unordered_map<std::string_view, const Tensor*> saved;
  for (const auto& [name, tensor] : source.tensors) saved.emplace(name, &tensor);
  std::unordered_set<std::string_view> known;
  for (const auto& [name, tensor] : own.tensors) {
    known.insert(name);
    const auto found = saved.find(name);
    if (found == saved.end()) {
      fit.report.missing.push_back(name);
      continue;
    }
    const Tensor& from = *found->second;
    fit.copies.emplace_back(tensor, from);
    if (tensor.sizes() == from.sizes()) continue;
    fit.mismatched.push_back(format_text(
        "size mismatch for {}: copying a param with shape {} from checkpoint, the shape in "
        "current model is {}.",
        name, kernel::shape_text(from), kernel::shape_text(tensor)));
  }
  compare_types(objects, own.metadata, source.metadata, fit);
  for (const auto& [name, tensor] : source.tensors) {
    if (known.find(name) == known.end()) fit.report.unexpected.push_back(name);
  }
  return fit;
}

std::string key_list(const Names& keys) {
  constexpr size_t most = 100;
  std::string text;
  for (size_t i = 0; i < std::min(keys.size(), most); ++i)
    text += format_text("{}{}\"", text.empty() ? "\"" : ", \"", keys[i]);
  if (keys.size() > most) text += format_text(" and {} more", keys.size() - most);
  return text;
}

// The text before the missing keys in unexpected ones: "module." of a model that was wrapped when it was
// saved.
std::string common_prefix(const LoadReport& report) {
  const std::string& missing = report.missing.front();
  for (const std::string& key : report.unexpected) {
    if (key.size() <= missing.size()) continue;
    const size_t length = key.size() - missing.size();
    if (key.compare(length, missing.size(), missing) == 0) return key.substr(0, length);
  }
  return {};
}
// Whether every missing key is there behind the prefix.
bool explains(const std::string& prefix, const LoadReport& report) {
  const std::unordered_set<std::string> unexpected(report.unexpected.begin(),
                                                   report.unexpected.end());
  return !prefix.empty() &&
         std::all_of(report.missing.begin(), report.missing.end(),
                     [&](const std::string& key) { return unexpected.count(prefix + key) != 0; });
}

// How the names may be meant: behind a prefix, or mistyped.
std::string hints(const LoadReport& report) {
  if (report.missing.empty() || report.unexpected.empty()) return {};
  const std::string prefix = common_prefix(report);
  if (explains(prefix, report))
    return format_text("\n\tEach missing key is there behind {}: load with it as the prefix.",
                       quote(prefix));
  constexpr size_t most = 5;
  std::string text;
  for (size_t i = 0; i < std::min(report.missing.size(), most); ++i) {
    const std::string near = suggestion(report.missing[i], report.unexpected);
    if (!near.empty()) text += format_text("\n\t{}{}", quote(report.missing[i]), near);
  }
  return text;
}

void require_fit(const Module& module, const Fit& fit, const std::string& file, bool strict) {
  const LoadReport& report = fit.report;
  std::string faults;
  if (strict && !report.missing.empty())
    faults += format_text("\n\tMissing key(s) in state_dict: {}.", key_list(report.missing));
  if (strict && !report.unexpected.empty())
    faults += format_text("\n\tUnexpected key(s) in state_dict: {}.", key_list(report.unexpected));
  for (const std::string& mismatch : fit.mismatched) faults += format_text("\n\t{}", mismatch);
  if (faults.empty()) return;
  if (strict) faults += hints(report);
  if (!file.empty()) faults += format_text("\n\tThe file is {}.", quote(file));
  const std::string type = module.type();
  throw RuntimeError(format_text("Error(s) in loading state_dict for {}:{}",
                                 type.substr(type.rfind('.') + 1), faults));
}

// ---- loading ----

void set_attributes(const Tensor& object, const std::string& text) {
  detail::check(service::types().set_attributes, object.handle(), text.data(),
                static_cast<int64_t>(text.size()));
}
void set_data(const Tensor& tensor, const Tensor& value, bool share) {
  detail::check(service::tensors().set_data, tensor.handle(),
                static_cast<const tenon_tensor*>(value.handle()), share ? 1 : 0);
}

void restore_attributes(const Fit& fit, size_t count) {
  for (size_t i = count; i-- > 0;) set_attributes(fit.attributes[i].object, fit.attributes[i].own);
}

// Attributes first, which their types may refuse.
void load_values(const Fit& fit, bool assign) {
  const Uninterrupted whole;
  for (size_t i = 0; i < fit.attributes.size(); ++i) {
    try {
      set_attributes(fit.attributes[i].object, fit.attributes[i].saved);
    } catch (...) {
      restore_attributes(fit, i);
      throw;
    }
  }
  const auto is_typed = [](const Tensor& tensor) {
    return (tenon_tensor_get_view(tensor.handle())->flags & TENON_TENSOR_TYPED) != 0;
  };
  for (const auto& [own, saved] : fit.copies) {
    set_data(own, saved,
             assign && !is_typed(own) && !is_typed(saved) && own.dtype() == saved.dtype());
  }
}

// Loads, and restores the old state when a hook fails, or leaves keys that do not fit.
void load_with_post_hooks(const Module& root, const std::vector<Hooked>& modules, Fit& fit,
                          const std::string& file, bool strict, bool assign) {
  std::vector<Tensor> before;
  for (const auto& [own, saved] : fit.copies) {
    before.push_back(empty_tensor(own.shape(), own.dtype()));
    copy_elements(before.back(), own);
  }
  load_values(fit, assign);
  try {
    visit_children_first(modules, [&](const Hooked& hooked) {
      HookInputs inputs(hooked, fit.report.missing, fit.report.unexpected);
      inputs.run(TENON_HOOK_STATE_LOAD_POST);
      fit.report = {inputs[1].strings(), inputs[2].strings()};
    });
    require_fit(root, fit, file, strict);
  } catch (...) {
    const Uninterrupted whole;
    for (size_t i = 0; i < before.size(); ++i) set_data(fit.copies[i].first, before[i], false);
    restore_attributes(fit, fit.attributes.size());
    throw;
  }
}

}  // namespace

NamedTensors state_of(const Module& module) {
  const std::vector<Hooked> modules = hooked_modules(module);
  for (const Hooked& hooked : modules) HookInputs(hooked).run(TENON_HOOK_STATE_SAVE_PRE);
  NamedTensors state = own_state(module);
  visit_children_first(modules, [&](const Hooked& hooked) {
    HookInputs inputs(hooked, names_of(state), tensors_of(state));
    inputs.run(TENON_HOOK_STATE_SAVE_POST);
    state = hooked_state(inputs);
  });
  return state;
}

LoadReport load_source(const Module& module, StateSource source, bool strict, bool assign) {
  const std::vector<Hooked> modules = hooked_modules(module);
  for (const Hooked& hooked : modules) {
    HookInputs inputs(hooked, names_of(source.tensors), tensors_of(source.tensors), strict);
    inputs.run(TENON_HOOK_STATE_LOAD_PRE);
    source.tensors = hooked_state(inputs);
  }
  Fit fit = compare(own_state(module), source);
  const bool hooked = std::any_of(modules.begin(), modules.end(), [](const Hooked& entry) {
    return has_hooks(entry.module, 1u << TENON_HOOK_STATE_LOAD_POST);
  });
  // Hooks may take missing and unexpected keys from the report, but not what cannot be copied.
  require_fit(module, fit, source.file, strict && !hooked);
  if (hooked)
    load_with_post_hooks(module, modules, fit, source.file, strict, assign);
  else
    load_values(fit, assign);
  return std::move(fit.report);
}

LoadReport load_state(const Module& module, const NamedTensors& state, bool strict, bool assign) {
  for (const auto& entry : state) {
    if (!entry.second.defined()) throw ArgumentError("a tensor of the state is null");
  }
  return load_source(module, stored(state), strict, assign);
}

}  // namespace state

TENON_NAMESPACE_END
