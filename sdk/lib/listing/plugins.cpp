// Listings of the runtime, of plugins and of their declarations.
#include <tenon/listing/listing.hpp>
#include <tenon/parallel.hpp>

#include "inventory.hpp"
#include "module_facts.hpp"
#include "op_facts.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

namespace {

// Adds one member of each item of a list of facts, under the name of the list.
void put_column(Writer& document, const Json& facts, const char* list, const char* key) {
  const Json items = facts[list];
  document.begin_array(list);
  for (int64_t i = 0; i < items.size(); ++i) document.add(items[i][key]);
  document.end();
}
void put_names(Writer& document, const Json& facts) {
  put_column(document, facts, "types", "name");
  put_column(document, facts, "overrides", "key");
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
void put_unmap(Writer& document, const std::string& path) {
  try {
    put_members(document, read_facts(path), {"unmap"});
  } catch (const Error&) {  // the file is gone: the listing is of what was read
  }
}

void put_fact_of_op(Writer& document, const Json& op) {
  put_members(document, op, {"name", "schema", "samples"});
  put_schema(document, op["schema"].text());
  put_members(document, op, {"differentiable", "jvp"});
  const int64_t flags = op["flags"].integer();
  document.set("function", (flags & TENON_OP_FUNCTION) != 0)
      .set("double_backward", double_backward(op))
      .set("zero_gradient", (flags & TENON_OP_ZERO_GRADIENT) != 0);
}

void put_fact_of_module(Writer& document, const Json& module) {
  put_members(document, module, {"name", "schema", "samples"});
  put_schema(document, module["schema"].text());
  put_forward(document, module);
  put_members(document, module, {"mode"});
}

// Adds an object for each item, as the member `key` of an object.
template <class Put>
void put_objects(Writer& document, const char* key, const Json& items, Put&& put) {
  document.begin_array(key);
  for (int64_t i = 0; i < items.size(); ++i) {
    document.begin_object();
    put(document, items[i]);
    document.end();
  }
  document.end();
}

}  // namespace

Json runtime() {
  const Json runtime = document(Document::runtime);
  return Writer()
      .begin_object()
      .set("version", runtime["version"])
      .begin_array("abi")
      .add(host().abi_major)
      .add(host().abi_minor)
      .end()
      .set("isa", runtime["isa"])
      .set("threads", thread_count())
      .set("folders", runtime["folders"])
      .end()
      .json();
}

Json plugins() {
  Writer list;
  put_objects(list, "", document(Document::plugins), [](Writer& object, const Json& plugin) {
    put_members(object, plugin,
                {"id", "version", "state", "path", "origin", "abi", "ops", "modules", "compiler",
                 "reason"});
  });
  return list.json();
}

Json plugin(const std::string& id) {
  const Json list = document(Document::plugins);
  std::vector<std::string> ids;
  for (int64_t i = 0; i < list.size(); ++i) ids.push_back(list[i]["id"].text());
  const Json plugin = list[static_cast<int64_t>(detail::find_name(ids, id, "plugin"))];
  const Json facts = facts_of(plugin["path"].text());
  Writer object;
  object.begin_object();
  put_members(object, plugin, {"id", "version", "state", "path", "origin", "abi"});
  if (facts.defined()) {
    put_column(object, facts, "ops", "schema");
    put_column(object, facts, "modules", "schema");
    put_names(object, facts);
  }
  put_members(object, plugin, {"sdk", "license", "compiler", "reason", "generation", "holders"});
  if (facts.defined()) {
    put_unmap(object, plugin["path"].text());
    put_members(object, plugin, {"retired"});
  }
  return object.end().json();
}

Json declarations(const std::string& id_or_path) {
  const Json facts = plugin_facts(id_or_path);
  Writer object;
  object.begin_object();
  put_members(object, facts, {"id", "version", "path"});
  put_objects(object, "ops", facts["ops"], put_fact_of_op);
  put_objects(object, "modules", facts["modules"], put_fact_of_module);
  put_names(object, facts);
  return object.end().json();
}

}  // namespace listing

TENON_NAMESPACE_END
