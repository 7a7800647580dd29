// Listings of module types, from facts.
#include <tenon/listing/listing.hpp>

#include "inventory.hpp"
#include "lib/base/format.hpp"
#include "module_facts.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

namespace {

void put_module(JsonObject& document, const Declared& module) {
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

void put_forward(JsonObject& document, const Json& module) {
  const Json schema = module["forward"];
  if (!schema.defined()) {
    document.set("forward", none);
    return;
  }
  JsonObject forward;
  forward.set("schema", schema);
  put_schema(forward, schema.text());
  document.set("forward", forward.json());
}

Json modules() {
  JsonArray list;
  for (const Declared& module : Inventory().all("modules")) {
    JsonObject document;
    put_module(document, module);
    list.add(document.json());
  }
  return list.json();
}

Json module(const std::string& name) {
  const std::vector<Declared> list = Inventory().all("modules");
  const Declared& module = find_one(list, name, "module");
  JsonObject document;
  put_module(document, module);
  document.set("providers", providers(ItemKind::module, module.name));
  put_schema(document, module.facts["schema"].text());
  put_forward(document, module.facts);
  return document.json();
}

}  // namespace listing

TENON_NAMESPACE_END
