// Listings of ops, from facts.
#include <algorithm>
#include <map>

#include <tenon/listing/listing.hpp>
#include <tenon/text.hpp>

#include "conversions.hpp"
#include "inventory.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "op_facts.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

namespace {

// How the op is written: "op" where forward sees no context, else "context", "setup" or "residual";
// "instance" in front where attributes configure one.
std::string form_text(int64_t flags) {
  const bool instance = (flags & TENON_OP_INSTANCE) != 0;
  const std::string form = (flags & TENON_OP_SETUP) != 0      ? "setup"
                           : (flags & TENON_OP_RESIDUAL) != 0 ? "residual"
                           : instance                         ? ""
                           : (flags & TENON_OP_FUNCTION) != 0 ? "context"
                                                              : "op";
  return !instance ? form : form.empty() ? "instance" : "instance " + form;
}

void put_rules(Writer& document, const Json& op) {
  document.begin_array("rules").add("forward");
  if ((op["flags"].integer() & TENON_OP_SETUP) != 0) document.add("setup_context");
  if (op["differentiable"].text() == "formula") document.add("backward");
  if (op["jvp"].text() != "none") document.add("jvp");
  document.end();
}

void put_op(Writer& document, const Declared& op) {
  const Json& facts = op.facts;
  const Json normalized = facts["normalized"];
  document.set("name", facts["name"])
      .set("namespace", namespace_of(op.name))
      .set("signature", facts["signature"])
      .set("schema", normalized.defined() ? normalized : facts["schema"])
      .set("provider", op.plugin);
  put_members(document, facts, {"differentiable", "jvp"});
  document.set("double_backward", double_backward(facts))
      .set("form", form_text(facts["flags"].integer()));
  put_members(document, facts, {"method", "doc", "accuracy"});
  put_rules(document, facts);
}

// The operators of other formats that plugins convert to calls of the op.
void put_conversions(Writer& document, const Json& plugins, const std::string& op) {
  bool any = false;
  for_each_conversion_rule(
      plugins, [&](const std::string& format, const std::string& plugin, std::string_view rule) {
        // Rules of vmap, and those that write a format, begin with an op of Tenon's.
        if (format == "batch" || lib::matches("*.export", format) || called_op(rule) != op) return;
        if (!any) document.begin_array("conversions");
        any = true;
        document.begin_object()
            .set("format", format)
            .set("plugin", plugin)
            .set("rule", std::string(rule))
            .end();
      });
  if (any) document.end();
}

// Ops of a namespace, or of all where it is empty.
std::vector<Declared> ops_in(const std::string& name_space) {
  std::vector<Declared> list = Inventory().all("ops");
  if (name_space.empty()) return list;
  list.erase(
      std::remove_if(list.begin(), list.end(),
                     [&](const Declared& op) { return namespace_of(op.name) != name_space; }),
      list.end());
  return list;
}

// Names of the ops that can be overridden, by namespace.
std::map<std::string, std::vector<std::string>> overridable_names() {
  std::map<std::string, std::vector<std::string>> namespaces;
  for (const Declared& op : Inventory().provided_ops()) {
    if (!detail::ignored_reason(op.facts).empty()) continue;
    const std::string name_space = namespace_of(op.name);
    namespaces[name_space].push_back(
        op.name.substr(name_space.empty() ? 0 : name_space.size() + 1));
  }
  return namespaces;
}

}  // namespace

std::string double_backward(const Json& op) {
  const int64_t flags = op["flags"].integer();
  if (op["differentiable"].text() == "none") return "none";
  if ((flags & TENON_OP_ONCE_DIFFERENTIABLE) != 0) return "once";
  const bool declared = (flags & TENON_OP_TWICE_DIFFERENTIABLE) != 0;
  return declared || (flags & TENON_OP_FUNCTION) == 0 ? "yes" : "unknown";
}

bool is_internal(std::string_view op) {
  if (op.size() > 9 && op.substr(op.size() - 9) == "_backward") return true;
  for (size_t at = 0; at < op.size();) {
    const size_t end = op.find('.', at);
    const std::string_view part = op.substr(at, end - at);
    if (!part.empty() && part.front() == '_') return true;
    if (end == op.npos) return false;
    if (part == "grad") return true;
    at = end + 1;
  }
  return false;
}

Json ops(const std::string& name_space) {
  Writer list;
  list.begin_array();
  for (const Declared& op : ops_in(name_space)) {
    list.begin_object();
    put_op(list, op);
    list.end();
  }
  return list.end().json();
}

std::vector<std::string> op_names(const std::string& name_space) {
  std::vector<std::string> names;
  for (Declared& op : ops_in(name_space)) {
    if (names.empty() || names.back() != op.name) names.push_back(std::move(op.name));
  }
  return names;
}

namespace {

void put_op_in_full(Writer& document, const Inventory& inventory, const Declared& op) {
  const Json providers = tenon::providers(ItemKind::op, op.name);
  std::string standing = "failed";
  for (int64_t i = 0; i < providers.size(); ++i) {
    if (providers[i]["plugin"].text() == op.plugin) standing = providers[i]["standing"].text();
  }
  const std::string reason = detail::ignored_reason(op.facts);
  document.begin_object();
  put_op(document, op);
  document.set("standing", standing).set("overridable", reason.empty());
  if (!reason.empty()) document.set("reason", reason);
  document.set("providers", providers);
  put_members(document, parse_schema(op.facts["schema"].text()),
              {"parameters", "returns_tuple", "returns"});
  put_conversions(document, inventory.plugins(), op.name);
  document.end();
}

}  // namespace

Json op(const std::string& name) {
  const Inventory inventory;
  const std::vector<Declared> list = inventory.provided_ops();
  Writer document;
  put_op_in_full(document, inventory, find_one(list, name, "op"));
  return document.json();
}

Json ops_in_full() {
  const Inventory inventory;
  Writer list;
  list.begin_array();
  for (const Declared& op : inventory.provided_ops()) put_op_in_full(list, inventory, op);
  return list.end().json();
}

std::string signature(const std::string& op) {
  const std::vector<Declared> list = Inventory().provided_ops();
  return find_one(list, op, "op").facts["signature"].text();
}

Json overridable(const std::string& name_space) {
  const auto namespaces = overridable_names();
  if (!name_space.empty() && namespaces.count(name_space) == 0) {
    std::vector<std::string> known;
    for (const auto& [name, names] : namespaces) {
      if (!name.empty()) known.push_back(name);
    }
    throw ValueError(lib::format_text("no namespace is named {}{}; there are {} and the root",
                                      lib::quote(name_space), suggestion(name_space, known),
                                      join(known, ", ")));
  }
  Writer list;
  list.begin_array();
  for (const auto& [name, names] : namespaces) {
    if (!name_space.empty() && name != name_space) continue;
    list.begin_object().set("namespace", name).begin_array("ops");
    for (const std::string& op : names) list.add(op);
    list.end().end();
  }
  return list.end().json();
}

Json ignored() {
  Writer list;
  list.begin_array();
  for (const Declared& op : Inventory().provided_ops()) {
    const std::string reason = detail::ignored_reason(op.facts);
    if (reason.empty()) continue;
    list.begin_object().set("name", op.name).set("provider", op.plugin).set("reason", reason).end();
  }
  return list.end().json();
}

}  // namespace listing

TENON_NAMESPACE_END
