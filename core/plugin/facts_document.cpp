// Declarations in the order of the file.
#include "core/plugin/facts_document.hpp"

namespace tenon::core {

Json facts_document(const PluginFacts& facts) {
  JsonBuilder document;
  document.begin_object().member("id", facts.id).member("version", facts.version);
  document.key("ops").begin_array();
  for (const OpFacts& op : facts.ops) {
    document.begin_object()
        .member("name", op.name())
        .member("schema", op.schema)
        .member("differentiable", op.differentiable)
        .member("jvp", op.jvp)
        .member("flags", op.flags)
        .end_object();
  }
  document.end_array().key("modules").begin_array();
  for (const ModuleFacts& module : facts.modules) {
    document.begin_object()
        .member("name", module.name())
        .member("schema", module.schema)
        .member("forward", module.forward)
        .end_object();
  }
  document.end_array().key("types").begin_array();
  for (const TypeFacts& type : facts.types)
    document.begin_object().member("name", type.type).member("parent", type.parent).end_object();
  document.end_array().key("overrides").begin_array();
  for (const OverrideFacts& entry : facts.overrides)
    document.begin_object().member("name", entry.key).member("schema", entry.schema).end_object();
  return document.end_array().end_object().finish();
}

}  // namespace tenon::core
