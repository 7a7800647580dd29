// Listings of module types, from facts.
#include <tenon/listing/listing.hpp>

#include "inventory.hpp"
#include "lib/base/format.hpp"
#include "module_facts.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

namespace {

void put_module(Writer& document, const Declared& module) {
  const Json& facts = module.facts;
  const Json fault = facts["fault"];
  document.set("name", facts["name"])
      .set("signature",
           fault.defined() ? lib::format_text("({})", fault.text()) : facts["signature"].text());
  put_members(document, facts, {"schema"});
  document.set("provider", module.plugin);
  put_members(document, facts, {"mode", "doc"});
}

}  // namespace

void put_forward(Writer& document, const Json& module) {
  const Json schema = module["forward"];
  if (!schema.defined()) {
    document.set("forward", none);
    return;
  }
  document.begin_object("forward").set("schema", schema);
  put_schema(document, schema.text());
  document.end();
}

Json modules() {
  Writer list;
  list.begin_array();
  for (const Declared& module : Inventory().all("modules")) {
    list.begin_object();
    put_module(list, module);
    list.end();
  }
  return list.end().json();
}

namespace {

void put_module_in_full(Writer& document, const Declared& module) {
  document.begin_object();
  put_module(document, module);
  document.set("providers", providers(ItemKind::module, module.name));
  put_schema(document, module.facts["schema"].text());
  put_forward(document, module.facts);
  document.end();
}

}  // namespace

Json module(const std::string& name) {
  const std::vector<Declared> list = Inventory().all("modules");
  Writer document;
  put_module_in_full(document, find_one(list, name, "module"));
  return document.json();
}

Json modules_in_full() {
  Writer list;
  list.begin_array();
  std::string last;
  for (const Declared& module : Inventory().all("modules")) {
    if (module.name != last) put_module_in_full(list, module);
    last = module.name;
  }
  return list.end().json();
}

}  // namespace listing

TENON_NAMESPACE_END
