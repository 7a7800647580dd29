// Overrides by key, and the process's rules.
#include "core/runtime/runtime.hpp"

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/dispatch/types/type_table.hpp"
#include "core/plugin/resolve/policy.hpp"

namespace tenon::core {

const Override& find_override(TypeTable& types, std::string_view key, std::string_view provider) {
  const std::string pattern = canonical_pattern(std::string(key));
  const size_t bracket = pattern.find('[');
  if (bracket != pattern.npos) {
    for (const std::string& type :
         type_names(std::string_view(pattern).substr(bracket + 1, pattern.size() - bracket - 2)))
      static_cast<void>(types.require(type));
  }
  if (const Override* entry = types.find_override(pattern, provider)) return *entry;
  if (const Override* other = types.find_override(pattern, "")) {
    throw Error(TENON_ERROR_VALUE, "no override {} is registered by plugin {}; there is one by {}",
                quote(pattern), quote(provider), quote(other->provider));
  }
  std::vector<std::string> keys;
  for (const Override* entry : types.overrides()) keys.push_back(entry->key());
  const Words candidates(keys.begin(), keys.end());
  throw Error(TENON_ERROR_VALUE,
              "no override {} is registered{}{}; `tenon types` and `tenon show TYPE` list them",
              quote(pattern), provider.empty() ? "" : format_text(" by plugin {}", quote(provider)),
              bracket == pattern.npos ? ": types belong to its name, as in "
                                        "'add[A, B]'"
                                      : suggestion(pattern, candidates));
}

void refresh_active_rules(std::string_view op) { refresh_active_rules(process_tables(), op); }

}  // namespace tenon::core
