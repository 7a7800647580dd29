// States of modules in files.
#include <utility>

#include <tenon/state/module_file.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "state_source.hpp"
#include "stored_file.hpp"

TENON_NAMESPACE_BEGIN

namespace state {

using lib::format_text;
using lib::quote;

namespace {

// The names of a file without the prefix, in its metadata too.
void drop_prefix(StoredFile& file, const std::string& prefix) {
  for (auto& entry : file.tensors) entry.first.erase(0, prefix.size());
  Metadata kept;
  for (auto& [key, text] : file.metadata) {
    for (const std::string_view kind : {kTypeKey, kAttributesKey}) {
      const std::string begin = std::string(kind) + prefix;
      if (key.compare(0, begin.size(), begin) == 0)
        kept.emplace_back(std::string(kind) + key.substr(begin.size()), std::move(text));
    }
  }
  file.metadata = std::move(kept);
}

}  // namespace

void save(const Module& module, const std::string& path, const Json& metadata) {
  write_stored(path, state_of(module), 0, metadata);
}

LoadReport load(const Module& module, const std::string& path, bool strict, bool assign,
                const std::string& prefix) {
  if (!module.defined()) throw TypeError("the module is undefined: assign one before using it");
  StoredFile file = read_stored(path, assign ? Access::Map : Access::Read,
                                [&](const Metadata&, const std::string& name) {
                                  return name.compare(0, prefix.size(), prefix) == 0;
                                });
  if (file.tensors.empty() && !prefix.empty())
    throw ValueError(
        format_text("no tensor of {} has a name that begins with {}", quote(path), quote(prefix)));
  drop_prefix(file, prefix);
  return load_source(module, {std::move(file.tensors), std::move(file.metadata), path}, strict,
                     assign);
}

}  // namespace state

TENON_NAMESPACE_END
