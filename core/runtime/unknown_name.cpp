// Looking for what an unknown name may mean.
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/runtime/runtime.hpp"

namespace tenon::core {

namespace {

// The name among `names` that it is, or ends: "nn.Linear" for Linear. Empty when there is none.
std::string full_name(const std::vector<std::string>& names, std::string_view name) {
  std::string found;
  for (const std::string& known : names) {
    if (known == name) return known;
    if (found.empty() && known.size() > name.size() && known.ends_with(name) &&
        known[known.size() - name.size() - 1] == '.')
      found = known;
  }
  return found;
}

// Another item of the name, and how it is used.
std::string other_use(PluginManager& manager, ItemKind kind, std::string_view name) {
  struct Use {
    ItemKind kind;
    const char *what, *before, *after;
  };
  static constexpr Use uses[] = {
      {ItemKind::Op, "an op", "call it by tenon::Op(\"", "\")"},
      {ItemKind::Module, "a module type", "create it by tenon::Module::create(\"", "\")"},
      {ItemKind::Type, "a tensor type", "pass operands of it to ops, as in `tenon why add ", "`"}};
  for (const Use& use : uses) {
    if (use.kind == kind) continue;
    const std::string found = full_name(manager.declared_names(use.kind), name);
    if (found.empty()) continue;
    return format_text("; {} is {}: {}{}{}, see `tenon show {}`", quote(found), use.what,
                       use.before, found, use.after, found);
  }
  return {};
}

}  // namespace

void throw_unknown(PluginManager& manager, ItemKind kind, std::string_view name) {
  const char* what = kind == ItemKind::Module ? "module type"
                     : kind == ItemKind::Type ? "tensor type"
                                              : kind_text(kind);
  const bool is_service = kind == ItemKind::Service;
  const std::vector<std::string> names = manager.declared_names(kind);
  const std::string full = full_name(names, name);
  const std::string use =
      full.empty() && !is_service ? other_use(manager, kind, name) : std::string();
  if (!use.empty()) throw Error(TENON_ERROR_VALUE, "no {} is named {}{}", what, quote(name), use);
  std::vector<std::string_view> candidates(names.begin(), names.end());
  // The last part alone is what people type.
  std::string message =
      format_text("no {} is named {}{}", what, quote(name),
                  full.empty() ? suggestion(name, candidates)
                               : format_text("; its full name is {}", quote(full)));
  std::string folders;
  for (const SearchFolder& folder : manager.folders())
    folders += (folders.empty() ? "" : ", ") + folder.path;
  message +=
      format_text(". Plugins were looked for in: {}", folders.empty() ? "(no folder)" : folders);
  // It may be in one that has a fault.
  std::vector<std::string> refused;
  for (const PluginListing& plugin : manager.list()) {
    if (plugin.state == PluginState::Failed) refused.push_back(plugin.path);
  }
  if (!refused.empty()) {
    message +=
        format_text("; refused, see `tenon plugins`: {}",
                    refused.size() < 3 ? join(refused, ", ")
                                       : counted(static_cast<int64_t>(refused.size()), "plugin"));
  }
  throw Error(is_service ? TENON_ERROR_PLUGIN : TENON_ERROR_VALUE, message);
}

}  // namespace tenon::core
