// Listings of the runtime, of plugins and of their declarations.
#include <tenon/listing/listing.hpp>
#include <tenon/parallel.hpp>

#include "inventory.hpp"
#include "module_facts.hpp"
#include "op_facts.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

namespace {

// One member of each item.
Json column(const Json& items, const char* key) {
  JsonArray list;
  for (int64_t i = 0; i < items.size(); ++i) list.add(items[i][key]);
  return list.json();
}

void put_names(JsonObject& document, const Json& facts) {
  document.set("types", column(facts["types"], "name"))
      .set("overrides", column(facts["overrides"], "key"));
}

// The facts of a plugin that was found, by its file; undefined where they cannot be read.
Json facts_of(const std::string& path) {
  const Json plugins = document(Document::facts);
  for (int64_t i = 0; i < plugins.size(); ++i) {
    if (plugins[i]["path"].text() == path) return plugins[i]["facts"];
  }
  return {};
}

// Adds whether the code could be unmapped, by the file as it is now.
void put_unmap(JsonObject& document, const std::string& path) {
  try {
    put_members(document, read_facts(path), {"unmap"});
  } catch (const Error&) {  // the file is gone: the listing is of what was read
  }
}

void put_op(JsonObject& document, const Json& op) {
  put_members(document, op, {"name", "schema", "samples"});
  put_schema(document, op["schema"].text());
  put_members(document, op, {"differentiable", "jvp"});
  const int64_t flags = op["flags"].integer();
  document.set("function", (flags & TENON_OP_FUNCTION) != 0)
      .set("double_backward", double_backward(op))
      .set("zero_gradient", (flags & TENON_OP_ZERO_GRADIENT) != 0);
}

void put_module(JsonObject& document, const Json& module) {
  put_members(document, module, {"name", "schema", "samples"});
  put_schema(document, module["schema"].text());
  put_forward(document, module);
  put_members(document, module, {"mode"});
}

template <class Put>
Json objects_of(const Json& items, Put&& put) {
  JsonArray list;
  for (int64_t i = 0; i < items.size(); ++i) {
    JsonObject document;
    put(document, items[i]);
    list.add(document.json());
  }
  return list.json();
}

}  // namespace

Json runtime() {
  const Json runtime = document(Document::runtime);
  JsonArray abi;
  abi.add(host().abi_major).add(host().abi_minor);
  return JsonObject()
      .set("version", runtime["version"])
      .set("abi", abi.json())
      .set("isa", runtime["isa"])
      .set("threads", thread_count())
      .set("folders", runtime["folders"])
      .json();
}

Json plugins() {
  return objects_of(document(Document::plugins), [](JsonObject& object, const Json& plugin) {
    put_members(object, plugin,
                {"id", "version", "state", "path", "origin", "abi", "ops", "modules", "compiler",
                 "reason"});
  });
}

Json plugin(const std::string& id) {
  const Json list = document(Document::plugins);
  std::vector<std::string> ids;
  for (int64_t i = 0; i < list.size(); ++i) ids.push_back(list[i]["id"].text());
  const Json plugin = list[static_cast<int64_t>(detail::find_name(ids, id, "plugin"))];
  const Json facts = facts_of(plugin["path"].text());
  JsonObject object;
  put_members(object, plugin, {"id", "version", "state", "path", "origin", "abi"});
  if (facts.defined()) {
    object.set("ops", column(facts["ops"], "schema"))
        .set("modules", column(facts["modules"], "schema"));
    put_names(object, facts);
  }
  put_members(object, plugin, {"sdk", "license", "compiler", "reason", "generation", "holders"});
  if (facts.defined()) {
    put_unmap(object, plugin["path"].text());
    put_members(object, plugin, {"retired"});
  }
  return object.json();
}

Json declarations(const std::string& id_or_path) {
  const Json facts = plugin_facts(id_or_path);
  JsonObject object;
  put_members(object, facts, {"id", "version", "path"});
  object.set("ops", objects_of(facts["ops"], put_op))
      .set("modules", objects_of(facts["modules"], put_module));
  put_names(object, facts);
  return object.json();
}

}  // namespace listing

TENON_NAMESPACE_END
