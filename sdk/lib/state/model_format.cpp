// Formats of models by plugin facts, and documents of modules that name files.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <deque>
#include <filesystem>

#include <tenon/conversion_rules.hpp>
#include <tenon/dtype_name.hpp>
#include <tenon/op.hpp>
#include <tenon/schema.hpp>
#include <tenon/state/model_format.hpp>
#include <tenon/text.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

using lib::format_text;
using lib::quote;

namespace {

// "onnx.Model(path)" as its two names; false where the text is not of this form.
bool read_call(std::string_view text, std::string& name, std::string& argument) {
  text = tenon::detail::trim(text);
  const size_t open = text.find('(');
  if (open == std::string_view::npos || open == 0 || text.back() != ')') return false;
  name = tenon::detail::trim(text.substr(0, open));
  argument = tenon::detail::trim(text.substr(open + 1, text.size() - open - 2));
  return !name.empty() && !argument.empty();
}

ModelFormat read_rule(std::string_view rule, const std::string& plugin) {
  const size_t sign = std::min(rule.find('='), rule.size());
  const std::string_view pattern = tenon::detail::trim(rule.substr(0, sign));
  const std::string_view calls = rule.substr(std::min(sign + 1, rule.size()));
  const size_t end = std::min(calls.find(';'), calls.size());
  ModelFormat format;
  format.plugin = plugin;
  std::string path;
  const bool has_inputs = end < calls.size();
  if (pattern.substr(0, 2) != "*." || pattern.size() < 3 ||
      !read_call(calls.substr(0, end), format.module, format.attribute) ||
      (has_inputs && !read_call(calls.substr(end + 1), format.inputs, path)))
    throw ValueError(
        format_text("plugin {}: cannot read the rule of files {}; write it like '*.onnx = "
                    "onnx.Model(path)' or '*.onnx = onnx.Model(path); onnx.inputs(path)'",
                    quote(plugin), quote(std::string(rule))));
  format.ending = pattern.substr(1);
  return format;
}

bool has_ending(const std::string& path, const std::string& ending) {
  return path.size() > ending.size() &&
         path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
}

}  // namespace

std::vector<ModelFormat> model_formats() {
  std::vector<ModelFormat> formats;
  for_each_conversion_rule("file", [&](const std::string& plugin, std::string_view rule) {
    formats.push_back(read_rule(rule, plugin));
  });
  return formats;
}

std::optional<ModelFormat> find_model_format(const std::string& path) {
  std::optional<ModelFormat> found;
  for (ModelFormat& format : model_formats()) {
    if (!has_ending(path, format.ending)) continue;
    if (found)
      throw PluginError(
          format_text("files '*{}' are opened by {} of plugin {} and by {} of plugin {}; name the "
                      "module in a config: "
                      R"({{"type": "{}", "{}": "{}"}})",
                      format.ending, found->module, quote(found->plugin), format.module,
                      quote(format.plugin), found->module, found->attribute, path));
    found = std::move(format);
  }
  return found;
}

ModelFormat require_model_format(const std::string& path) {
  if (std::optional<ModelFormat> found = find_model_format(path)) return *found;
  std::vector<std::string> endings;
  for (const ModelFormat& format : model_formats())
    endings.push_back(format_text("'*{}' ({})", format.ending, format.plugin));
  throw ValueError(format_text(
      "no plugin opens the file {} as a model; {}", quote(path),
      endings.empty() ? "no plugin is found that opens models: install one, or name its "
                        "folder in TENON_PLUGIN_PATH"
                      : format_text("plugins open {}", join(endings, ", "))));
}

std::optional<int64_t> ModelInput::size(size_t dimension) const {
  const std::string& text = shape[dimension];
  int64_t size = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return size;
}

std::optional<std::vector<ModelInput>> model_inputs(const std::string& path) {
  const ModelFormat format = require_model_format(path);
  if (format.inputs.empty()) return std::nullopt;
  const Json list = Json::parse(Op(format.inputs).call<std::string>(path));
  std::vector<ModelInput> inputs;
  for (int64_t i = 0; i < list.size(); ++i) {
    ModelInput input;
    input.name = list[i]["name"].text();
    input.dtype = dtype_named(list[i]["dtype"].text()).value_or(DType::none);
    const Json shape = list[i]["shape"];
    input.has_shape = shape.is_array();
    for (int64_t d = 0; d < shape.size(); ++d)
      input.shape.push_back(shape[d].is_text() ? shape[d].text() : shape[d].dump());
    inputs.push_back(std::move(input));
  }
  return inputs;
}

namespace {

// Whether a type may be a path: names of module types end in an upper-case word.
bool may_be_path(const std::string& type) {
  const size_t dot = type.rfind('.');
  return type.find('/') != std::string::npos ||
         (dot != std::string::npos && dot + 1 < type.size() &&
          std::islower(static_cast<unsigned char>(type[dot + 1])) != 0);
}

// Whether a member of a module's document may have modules in it; ops of settings have types, too.
bool may_hold_modules(const Json& node, int64_t member) {
  if (!node.is_object()) return true;
  const std::string key = node.key(member);
  return key != "init" && key != "load";
}

bool may_name_file(const Json& node) {
  if (node.is_object() && may_be_path(node["type"].text())) return true;
  for (int64_t i = 0; node.is_container() && i < node.size(); ++i) {
    if (may_hold_modules(node, i) && may_name_file(node[i])) return true;
  }
  return false;
}

// Keys on the way to a node of a larger document, from its place: "model" of "c.json:1:30: /model". None where
// an array is on the way.
std::vector<std::string> keys_to(const Json& node) {
  const std::string place = node.place();
  size_t at = place.rfind(": /");
  std::vector<std::string> keys;
  while (at != std::string::npos && at < place.size()) {
    const size_t start = place.find('/', at) + 1,
                 end = std::min(place.find('/', start), place.size());
    keys.push_back(place.substr(start, end - start));
    if (keys.back().empty() || std::isalpha(static_cast<unsigned char>(keys.back()[0])) == 0)
      return {};
    at = end;
  }
  return keys;
}

// The format of a path in a document; the error has its place.
ModelFormat format_at(const Json& path) {
  try {
    return require_model_format(path.text());
  } catch (const ValueError& error) {
    const std::string place = path.place();
    throw ConfigError(place.empty() ? error.what() : format_text("{}: {}", place, error.what()));
  }
}

// Steps of the document that stands for another.
class Resolver {
 public:
  explicit Resolver(const Json& source)
      : source_(source),
        folder_(std::filesystem::path(source.source()).parent_path()),
        keys_(keys_to(source)) {
    // The node is where it was, so that messages have its place.
    for (size_t i = 0; i < keys_.size(); ++i)
      step(TENON_JSON_OBJECT, i == 0 ? "" : keys_[i - 1], {});
    put(source, keys_.empty() ? "" : keys_.back());
    for (size_t i = 0; i < keys_.size(); ++i) step(TENON_JSON_END, "", {});
  }

  Json document() const {
    Json resolved;
    tenon::detail::check(service::documents().build, steps_.data(),
                         static_cast<int64_t>(steps_.size()), source_.handle(), resolved.slot());
    for (const std::string& key : keys_) resolved = resolved[key];
    return resolved;
  }

 private:
  tenon_json_step& step(uint32_t kind, const std::string& key, const Json& origin) {
    nodes_.push_back(origin);
    tenon_json_step step{};
    step.kind = kind;
    step.key = tenon::detail::string_of(texts_.emplace_back(key));
    step.origin = origin.handle();
    return steps_.emplace_back(step);
  }
  void put_text(const std::string& text, const std::string& key, const Json& origin) {
    const std::string& kept = texts_.emplace_back(text);
    step(TENON_JSON_VALUE, key, origin).value = Argument(kept).value();
  }
  void put_copy(const Json& node, const std::string& key) {
    tenon_json_step& copy = step(TENON_JSON_VALUE, key, node);
    copy.value.tag = TENON_VALUE_JSON;
    copy.value.as.json = const_cast<tenon_json*>(node.handle());
  }
  void put(const Json& node, const std::string& key) {
    if (!may_name_file(node)) return put_copy(node, key);
    step(node.is_object() ? TENON_JSON_OBJECT : TENON_JSON_ARRAY, key, node);
    std::optional<ModelFormat> format;
    if (node.is_object()) format = put_type(node);
    for (int64_t i = 0; i < node.size(); ++i) {
      const std::string member = node.is_object() ? node.key(i) : "";
      if (format && member == format->attribute)
        throw ConfigError(
            format_text("{}: \"{}\" names a file, and so does the type, {}; omit one of them",
                        node[i].place(), member, quote(node["type"].text())));
      if (format && member == "type") continue;
      if (may_hold_modules(node, i))
        put(node[i], member);
      else
        put_copy(node[i], member);
    }
    step(TENON_JSON_END, "", {});
  }
  // Puts the module and the path of a type that is a file.
  std::optional<ModelFormat> put_type(const Json& node) {
    const Json type = node["type"];
    const std::string text = type.text();
    const bool is_path = text.find('/') != std::string::npos;
    std::optional<ModelFormat> format;
    if (is_path)
      format = format_at(type);
    else if (may_be_path(text))
      format = find_model_format(text);
    if (!format) return std::nullopt;
    put_text(format->module, "type", type);
    put_text((folder_ / text).lexically_normal().string(), format->attribute, type);
    return format;
  }
  const Json source_;
  const std::filesystem::path folder_;
  const std::vector<std::string> keys_;  // around the document, of the one that it is part of
  std::vector<tenon_json_step> steps_;
  std::deque<std::string> texts_;  // texts and nodes that steps refer to
  std::deque<Json> nodes_;
};

}  // namespace

Json with_model_files(const Json& document) {
  return may_name_file(document) ? Resolver(document).document() : document;
}

}  // namespace state

TENON_NAMESPACE_END
