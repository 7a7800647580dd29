// The context of errors.
#include "core/dispatch/error_context.hpp"

#include <memory>

#include "core/base/error.hpp"

namespace tenon::core {

namespace {

// How many ops a chain names: enough to see what repeats.
constexpr size_t kChain = 8;

}  // namespace

std::string recursion_text(const std::vector<std::string>& chain) {
  std::string text;
  for (const std::string& op : chain) text += (text.empty() ? "" : " -> ") + op;
  const std::string& innermost = chain.back();
  return innermost.substr(innermost.rfind('.') + 1) +
         "(): endless recursion: calls inside each other have used up the stack: ... -> " + text +
         "; an op that leads back to itself needs a case in which it does not";
}

void add_error_context(tenon_error** slot, const Implementation& implementation,
                       tenon_status status) noexcept {
  if (slot == nullptr) return;
  try {
    const std::string& op = implementation.schema.name;
    if (*slot == nullptr) {
      *slot =
          new tenon_error{Error(status, op + "() failed with status " + std::to_string(status) +
                                            " (" + error_kind_text(status) + ") and no message")};
    }
    tenon_error& error = **slot;
    if (error.preallocated) return;
    if (std::vector<std::string>& chain = error.error.chain; !chain.empty()) {
      if (chain.size() == 1) error.error.provider = implementation.provider;
      if (chain.size() >= kChain) return;
      chain.insert(chain.begin(), op);
      error.error.message = recursion_text(chain);
      return;
    }
    if (error.error.op == op) return;
    if (!error.error.op.empty()) {
      // It comes from another op that this one called: told in its words, as the cause of this
      // one's failure.
      error.error.cause = std::make_shared<const tenon_error>(error);
    }
    error.error.op = op;
    error.error.provider = implementation.provider;
  } catch (...) {  // without memory the error goes on without its context
  }
}

}  // namespace tenon::core
