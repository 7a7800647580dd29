// Listings of plugins, ops, modules and types, made from the runtime's raw documents:
//
//   const tenon::Json ops = tenon::listing::ops("nn.functional");
//   tenon::listing::op("add")["signature"].text()      "(input, other, *, alpha=1, out=None)"
//
// share/tenon/documents.md has the shapes. Lists have a stable order: by name, then by plugin. A name may
// be the last part of a full one where that is unique; ValueError, with a suggestion, where it is not.
// An op that is internal, see is_internal(), is found by its full name alone. Nothing is loaded, but where a
// function says so. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/json.hpp"

TENON_NAMESPACE_BEGIN

namespace listing {

// Versions, instructions, threads, and the folders that are searched for plugins.
Json runtime();

Json plugins();  // all that are found
// One plugin in full, with what holds its code and which of its generations are still there.
Json plugin(const std::string& id);
// All that one plugin declares, with parsed schemas. A file need not be in a folder that is searched.
Json declarations(const std::string& id_or_path);

// Whether the name is one of an op that is for other ops, such as the gradients of a Function, not for
// callers: a namespace in it is `grad`, a part of it begins with an underscore, or it ends in `_backward`.
// A plugin's author decides by the name alone; the command line lists such ops on request.
bool is_internal(std::string_view op);
// Ops of a namespace, or of all, with internal ones.
Json ops(const std::string& name_space = "");
// Their names, each once.
std::vector<std::string> op_names(const std::string& name_space = "");
Json op(const std::string& name);  // one op; a full name, or its last part
// All of them, as op() has each: by the plugin that provides it, or would.
Json ops_in_full();
std::string signature(const std::string& op);  // text: (input, other, *, alpha=1)
// Names of the ops that types can override, by namespace; or those of one.
Json overridable(const std::string& name_space = "");
// Ops that cannot be overridden, each with its reason.
Json ignored();

Json modules();                        // all, in order of names
Json module(const std::string& name);  // one module type
Json modules_in_full();                // as module() has each

Json types();  // tensor types, Tensor first
// One type, with the overrides that are active for it. Loads its plugin.
Json type(const std::string& name);
// How each op is handled for operands that are all of the type, of all overridable ones or those that the
// config says the type covers: by one of its overrides; by its handler, which is asked and may decline;
// by an ancestor or the default handler; by its fallback; not at all. Loads the type's plugin.
Json coverage(const std::string& type);
// How a transform runs each overridable op; "vmap" is the only one that is known by its facts. "how" of an op
// is the first of its "ways", which are tried in their order, each with the rule and its plugin: "rule" (of
// TENON_BATCH_RULES), "function" (TENON_BATCH_RULE), "ops" (the op is made of ops), "elementwise", "loop" over
// samples, "random" (by the policy of the vmap), "refused". ValueError for another name. Loads plugins of ops
// whose facts do not say how they run.
Json transform_coverage(const std::string& transform);
// Operators of another format in one of its versions, by the complete list that a plugin declares of them as
// conversions of "complete.FORMAT", a line for each: "Upsample:7,9,10-" has the versions that define it, "-"
// where the last one removes it; "If:1,11 = onnx.Model" one that the plugin converts without a rule. Each has
// the newest conversions of plugins, by their facts; one for another engine has "like", and does not count. 0:
// the newest version. ValueError where no plugin declares a list, and for a version that it does not have.
Json format_coverage(const std::string& format, int64_t version = 0);
// Overrides between which nothing decides for operands of some types. Loads the plugins of all types.
Json ambiguities();

}  // namespace listing

TENON_NAMESPACE_END
