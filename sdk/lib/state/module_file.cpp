// States of modules in files, and modules from documents with settings: init, load, dtype, frozen, recompute.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/abi/dtype.h>
#include <tenon/abi/module.h>
#include <tenon/autograd.hpp>
#include <tenon/dtype_name.hpp>
#include <tenon/json_tensor.hpp>
#include <tenon/op.hpp>
#include <tenon/shapes_only.hpp>
#include <tenon/state/model_format.hpp>
#include <tenon/state/module_file.hpp>
#include <tenon/state/numpy_file.hpp>
#include <tenon/text.hpp>
#include <tenon/transforms/checkpoint.hpp>

#include "input_file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "state_source.hpp"
#include "stored_file.hpp"
#include "torch_file.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

using lib::format_text;
using lib::quote;

namespace {

// The names of a file without the prefix, in its metadata too.
void drop_prefix(StoredFile& file, const std::string& prefix) {
  for (auto& entry : file.tensors) entry.first.erase(0, prefix.size());
  Metadata kept;
  for (auto& [key, text] : file.metadata) {
    for (const std::string_view kind : {kTypeKey, kAttributesKey}) {
      const std::string begin = std::string(kind) + prefix;
      if (key.compare(0, begin.size(), begin) == 0)
        kept.emplace_back(std::string(kind) + key.substr(begin.size()), std::move(text));
    }
  }
  file.metadata = std::move(kept);
}

}  // namespace

void save(const Module& module, const std::string& path, const Json& metadata) {
  write_stored(path, state_of(module), Stored::Parts, metadata);
}

namespace {

// The first bytes of a file, which say what format it is; fewer of a shorter file.
std::string first_bytes(const std::string& path) {
  constexpr int64_t count = 4;
  const InputFile file(path);
  std::string bytes(static_cast<size_t>(std::min(file.size(), count)), '\0');
  file.read_at(bytes.data(), static_cast<int64_t>(bytes.size()), 0);
  return bytes;
}

void erase_others(NamedTensors& tensors, const std::string& prefix) {
  const auto differs = [&](const auto& entry) {
    return entry.first.compare(0, prefix.size(), prefix) != 0;
  };
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(), differs), tensors.end());
}

// The tensors of a file of any format whose names begin with the prefix.
StoredFile read_any(const std::string& path, Access access, const std::string& prefix) {
  const std::string first = first_bytes(path);
  const bool is_zip = first == "PK\3\4";
  const auto chosen = [&](const Metadata&, const std::string& name) {
    return name.compare(0, prefix.size(), prefix) == 0;
  };
  if (first == "GGUF") return read_stored_gguf(path, chosen);
  if (!is_zip) return read_stored(path, access, chosen);
  StoredFile file;
  if (is_torch(path))
    file.tensors = read_torch(path, access).tensors;
  else
    file.tensors = access == Access::Map ? map_npz(path) : load_npz(path);
  erase_others(file.tensors, prefix);
  return file;
}

}  // namespace

LoadReport load(const Module& module, const std::string& path, bool strict, bool assign,
                const std::string& prefix) {
  if (!module.defined()) throw TypeError("the module is undefined: assign one before using it");
  StoredFile file = read_any(path, assign ? Access::Map : Access::Read, prefix);
  if (strict && !file.unreadable.empty()) throw ValueError(file.unreadable.front().second);
  for (const auto& [name, tensor] : state_of(module)) file.require_readable(prefix + name);
  if (file.tensors.empty() && file.unreadable.empty() && !prefix.empty())
    throw ValueError(
        format_text("no tensor of {} has a name that begins with {}", quote(path), quote(prefix)));
  drop_prefix(file, prefix);
  LoadReport report = load_source(module, {std::move(file.tensors), std::move(file.metadata), path},
                                  strict, assign);
  for (const auto& [name, fault] : file.unreadable)
    report.unexpected.push_back(name.substr(prefix.size()));
  return report;
}

namespace {

tenon_value json_value(const Json& document) {
  tenon_value value{};
  value.tag = TENON_VALUE_JSON;
  value.as.json = const_cast<tenon_json*>(document.handle());
  return value;
}

// ---- "init" ----

// An op that changes its first argument, and keywords for it.
class InitOp {
 public:
  explicit InitOp(const Json& choice) : op_(named(choice)) {
    const std::string schema = op_.schema();
    const size_t end = schema.find_first_of(",)", schema.find('(') + 1);
    // "(a!)" marks the parameter; its own parenthesis ends the text.
    if (end == std::string::npos || end == 0 || schema[end - 1] != '!')
      throw ValueError(
          format_text("op '{}' does not change its first argument in place; an init op is one that "
                      "does, such as nn.init.xavier_uniform_",
                      op_.name()));
    for (int64_t i = 0; choice.is_object() && i < choice.size(); ++i) {
      if (choice.key(i) == "type") continue;
      keys_.push_back(choice.key(i));
      values_.push_back(choice[i]);
    }
  }

  void run(const Tensor& parameter) const {
    std::vector<tenon_string> names;
    std::vector<tenon_value> values;
    for (size_t i = 0; i < keys_.size(); ++i) {
      names.push_back({keys_[i].data(), static_cast<int64_t>(keys_[i].size())});
      values.push_back(json_value(values_[i]));
    }
    const tenon_value operand = Argument(parameter).value();
    tenon_value results[detail::max_results] = {};
    detail::check(service::ops().call_keywords, op_.handle(), &operand, int64_t{1}, names.data(),
                  values.data(), static_cast<int64_t>(names.size()), results);
    for (tenon_value& result : results) service::values().release(&result);
  }

 private:
  static Op named(const Json& choice) {
    const Json type = choice.is_object() ? choice["type"] : choice;
    if (!type.is_text())
      throw ValueError(
          format_text("found {}, expected the name of an op, or an object with a "
                      "\"type\" and the op's keywords",
                      choice.dump()));
    return Op(type.text());
  }

  Op op_;
  std::vector<std::string> keys_;
  std::vector<Json> values_;
};

std::string short_name(const Module& module) {
  const std::string type = module.type();
  return type.substr(type.rfind('.') + 1);
}

[[noreturn]] void throw_unmatched(const Module& module, const std::string& pattern,
                                  const NamedTensors& parameters) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters) names.push_back(name);
  throw ValueError(format_text("no parameter of {} fits {}; it has {}", short_name(module),
                               quote(pattern), names.empty() ? "none" : join(names, ", ")));
}

void initialize(const Module& module, const Json& setting) {
  if (!setting.is_object())
    throw ValueError(
        format_text("\"init\" is an object of init ops by the names of parameters, where "
                    "'*' stands for any text, found {}",
                    setting.dump()));
  const NoGrad no_grad;
  const auto parameters = module.named_parameters(true, false);
  for (int64_t i = 0; i < setting.size(); ++i) {
    const InitOp op(setting[i]);
    const std::string pattern = setting.key(i);
    bool any = false;
    for (const auto& [name, parameter] : parameters) {
      if (!lib::matches(pattern, name)) continue;
      op.run(parameter);
      any = true;
    }
    if (!any) throw_unmatched(module, pattern, parameters);
  }
}

// ---- "load" ----

void load_setting(const Module& module, const Json& setting) {
  static const std::vector<std::string> keys{"file", "prefix", "strict"};
  std::string file = setting.text(), prefix;
  bool strict = true;
  for (int64_t i = 0; setting.is_object() && i < setting.size(); ++i) {
    const std::string key = setting.key(i);
    const Json value = setting[i];
    const bool is_strict = key == "strict";
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      throw TypeError(format_text("load() got an unexpected keyword argument {}{}", quote(key),
                                  suggestion(key, keys)));
    if (is_strict ? !value.is_bool() : !value.is_text())
      throw TypeError(format_text("\"{}\" is {}, found {}", key,
                                  is_strict ? "true or false" : "a text", value.dump()));
    if (is_strict)
      strict = value.as_bool();
    else
      (key == "file" ? file : prefix) = value.text();
  }
  if (file.empty())
    throw TypeError(
        format_text("found {}, expected the path of a safetensors file, or an object with "
                    "a \"file\"",
                    setting.dump()));
  std::filesystem::path path(file);
  if (path.is_relative()) path = std::filesystem::path(setting.source()).parent_path() / path;
  load(module, path.string(), strict, ComputeElements().inside_shapes_only(), prefix);
}

// ---- "dtype", "frozen" ----

void set_dtype(const Module& module, const Json& setting) {
  if (const auto dtype = dtype_named(setting.text())) return module.to(*dtype);
  throw TypeError(
      format_text("found {}, expected a floating point dtype such as float32", setting.dump()));
}

void freeze(const Module& module, const Json& setting) {
  if (setting.is_bool()) {
    if (setting.as_bool()) module.requires_grad_(false);
    return;
  }
  std::vector<std::string> patterns = lib::texts_of(setting);
  if (setting.is_text()) patterns.push_back(setting.text());
  const bool texts = setting.is_text() || (setting.is_array() && !patterns.empty());
  for (int64_t i = 0; i < setting.size(); ++i) {
    if (!texts || !setting[i].is_text()) patterns.clear();
  }
  if (patterns.empty())
    throw TypeError(
        format_text("found {}, expected true, false or names of parameters, in which '*' "
                    "stands for any text",
                    setting.dump()));
  const auto parameters = module.named_parameters(true, false);
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (const auto& [name, parameter] : parameters) {
      if (!lib::matches(pattern, name)) continue;
      Tensor(parameter).requires_grad_(false);
      any = true;
    }
    if (!any) throw_unmatched(module, pattern, parameters);
  }
}

void recompute(const Module& module, const Json& setting) {
  if (!setting.is_bool())
    throw TypeError(format_text("found {}, expected true or false", setting.dump()));
  if (setting.as_bool()) transforms::recompute::recompute_calls(module);
}

// In the order in which they are applied.
constexpr std::array<const char*, 5> kKeys{"init", "load", "dtype", "frozen", "recompute"};
constexpr std::array<void (*)(const Module& module, const Json& setting), 5> kSettings{
    initialize, load_setting, set_dtype, freeze, recompute};

tenon_status apply(void*, tenon_module* module, uint32_t index, const tenon_json* value,
                   tenon_error** error) {
  return detail::guarded(error,
                         [&] { kSettings[index](Module::borrow(module), Json::borrow(value)); });
}

tenon_status make_tensor(void*, const tenon_json* value, tenon_tensor** tensor,
                         tenon_error** error) {
  return detail::guarded(error, [&] { *tensor = json_tensor(Json::borrow(value)).give(); });
}

}  // namespace

Module create_module(const Json& given) {
  const Json document = with_model_files(given);
  tenon_module_settings settings{};
  settings.size = sizeof settings;
  settings.count = kKeys.size();
  settings.keys = kKeys.data();
  settings.apply = apply;
  settings.tensor = make_tensor;
  tenon_module* module = nullptr;
  detail::check(service::modules().create_json, document.handle(),
                static_cast<const tenon_module_settings*>(&settings), &module);
  return Module::take(module);
}

}  // namespace state

TENON_NAMESPACE_END
