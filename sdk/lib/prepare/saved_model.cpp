#include "saved_model.hpp"

#include <algorithm>

#include <tenon/runtime.hpp>
#include <tenon/state/tensor_file.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "list_document.hpp"
#include "numbered_constants.hpp"
#include "saved_numbers.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

using lib::format_text;
using lib::quote;

namespace {

constexpr const char* metadata_key = "tenon.prepared";
constexpr int64_t format_number = 1;
constexpr const char* remedy = "prepare the model again, and save it";

std::string boundary_text() { return format_text("{}.{}", TENON_ABI_MAJOR, TENON_ABI_MINOR); }

Json list_json(const SavedList& saved, ConstantStore& store) {
  JsonArray providers;
  for (const std::string& provider : saved.providers) providers.add(provider);
  return JsonObject()
      .set("key", saved.key.document(store))
      .set("account", account_document(saved.report))
      .set("providers", providers.json())
      .set("list", list_document(saved.list, store))
      .json();
}

SavedList read_one(const Json& document, const StoredConstants& stored) {
  ArgumentsKey key(document["key"], stored);
  CallList list = read_list(document["list"], stored, key);
  SavedList saved{std::move(key), read_account(document["account"]), std::move(list),
                  lib::texts_of(document["providers"])};
  saved.report.arguments = saved.key.text();
  saved.report.layouts = saved.key.layouts();
  if (saved.providers.size() != saved.list.calls.size())
    throw ValueError("its calls have no provider each");
  return saved;
}

[[noreturn]] void refuse_contents(const std::string& path, const std::string& fault) {
  throw ValueError(format_text("{} is not a prepared model: {}", quote(path), fault));
}

std::vector<PluginBuild> read_builds(const Json& plugins) {
  std::vector<PluginBuild> builds;
  for (int64_t i = 0; i < plugins.size(); ++i)
    builds.push_back(
        {plugins[i]["id"].text(), plugins[i]["version"].text(), plugins[i]["build"].text()});
  return builds;
}

void check_machine(const std::string& path, const Json& document) {
  const auto check = [&](const char* what, const std::string& found) {
    const std::string saved = document[what].text();
    if (saved != found)
      throw RuntimeError(format_text("{} was prepared for another {}: {}, this one is {}; {}",
                                     quote(path), what, quote(saved), quote(found), remedy));
  };
  check("boundary", boundary_text());
  check("processor", processor_text());
}

}  // namespace

void write_saved(const SavedModel& model) {
  ConstantStore store;
  JsonArray lists, plugins;
  for (const SavedList& saved : model.lists) lists.add(list_json(saved, store));
  for (const PluginBuild& plugin : model.plugins) {
    plugins.add(JsonObject()
                    .set("id", plugin.id)
                    .set("version", plugin.version)
                    .set("build", plugin.build)
                    .json());
  }
  const Json document = JsonObject()
                            .set("format", format_number)
                            .set("boundary", boundary_text())
                            .set("processor", processor_text())
                            .set("plugins", plugins.json())
                            .set("forward", model.forward)
                            .set("lists", lists.json())
                            .json();
  JsonObject metadata;
  metadata.set(metadata_key, document.dump());
  for (int64_t i = 0; i < model.notes.size(); ++i) {
    if (model.notes.key(i) != metadata_key) metadata.set(model.notes.key(i), model.notes[i].text());
  }
  state::save_tensors(model.path, store.tensors(), metadata.json(), constant_alignment);
}

SavedModel read_document(const Json& document, const StoredConstants& stored) {
  SavedModel model;
  model.forward = document["forward"].text();
  model.plugins = read_builds(document["plugins"]);
  const Json lists = document["lists"];
  if (!lists.is_array() || lists.size() == 0) throw ValueError("it has no lists");
  model.lists.reserve(static_cast<size_t>(lists.size()));
  for (int64_t i = 0; i < lists.size(); ++i) model.lists.push_back(read_one(lists[i], stored));
  return model;
}

void check_builds(const std::string& path, const std::vector<PluginBuild>& plugins) {
  std::vector<std::string> ids;
  ids.reserve(plugins.size());
  for (const PluginBuild& plugin : plugins) ids.push_back(plugin.id);
  std::vector<PluginBuild> builds;
  try {
    builds = find_builds(ids);
  } catch (const PluginError& error) {
    throw PluginError(
        format_text("{} cannot be used: {}; install it, or {}", quote(path), error.what(), remedy));
  }
  for (size_t i = 0; i < builds.size(); ++i) {
    const PluginBuild &saved = plugins[i], &found = builds[i];
    if (saved.version == found.version && saved.build == found.build) continue;
    throw PluginError(format_text(
        "{} was prepared with another build of plugin {}: version {}, {}; installed is version {}, "
        "{}; {}",
        quote(path), quote(saved.id), saved.version, saved.build, found.version, found.build,
        remedy));
  }
}

std::shared_ptr<const SavedModel> read_saved(const std::string& path) {
  const Json metadata = state::metadata(path);
  if (!metadata[metadata_key].is_text())
    refuse_contents(path, "it has no lists of calls; tenon convert MODEL FILE.tenon writes one");
  Json document;
  try {
    document = Json::parse(metadata[metadata_key].text());
  } catch (const Error& error) {
    refuse_contents(path, error.what());
  }
  if (!document["format"].is_integer() || document["format"].integer() != format_number)
    throw ValueError(format_text("{} has format {} of prepared models, this Tenon reads {}; {}",
                                 quote(path), document["format"].dump(), format_number, remedy));
  check_machine(path, document);
  check_builds(path, read_builds(document["plugins"]));
  state::NamedTensors tensors = state::map_tensors(path);
  for (auto& [name, tensor] : tensors) {
    if ((tensor.view_record().flags & TENON_TENSOR_TYPED) != 0)
      refuse_contents(path, format_text("tensor {} is not a plain one", quote(name)));
    if (tensor.numel() > 0) tensor = unchanging(tensor);
  }
  try {
    auto model = std::make_shared<SavedModel>(read_document(document, StoredConstants(tensors)));
    model->path = path;
    model->notes = metadata;
    return model;
  } catch (const ValueError& error) {
    refuse_contents(path, error.what());
  }
}

}  // namespace prepared

TENON_NAMESPACE_END
