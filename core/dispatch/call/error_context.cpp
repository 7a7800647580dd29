// The context of errors.
#include "core/dispatch/call/error_context.hpp"

#include <memory>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/format.hpp"
#include "core/base/text.hpp"

namespace tenon::core {

namespace {

// How many ops a chain names: enough to see what repeats.
constexpr size_t kChain = 8;

}  // namespace

std::string recursion_text(const std::vector<std::string>& chain) {
  std::string text;
  for (const std::string& op : chain) text += (text.empty() ? "" : " -> ") + op;
  const std::string& innermost = chain.back();
  return format_text(
      "{}(): endless recursion: calls inside each other have used up the stack: ... -> {}; an op "
      "that leads back to itself needs a case in which it does not",
      innermost.substr(innermost.rfind('.') + 1), text);
}

namespace {

std::string_view last_word(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// "op(): ...", "... op 'op' ...", "... (thrown by 'op')", "[op::backward] ...": whether a message
// names the op.
bool names_op(std::string_view message, std::string_view op) {
  for (const std::string_view name : {last_word(op), op}) {
    const std::string called = format_text("{}(", name);
    if (message.starts_with(called) ||
        message.find(format_text("op {}", quote(name))) != message.npos ||
        message.find(format_text("by {}", quote(name))) != message.npos ||
        message.starts_with(format_text("[{}::", name)))
      return true;
  }
  return false;
}

// The failure of `inner`, an op that `op` called, reads "op(): inner(): ..."; between the two there
// may be others, which the causes name.
void name_called_op(std::string& message, std::string_view op, std::string_view inner) {
  const std::string between = format_text("{}(): ", last_word(inner));
  if (!inner.empty() && message.starts_with(between) &&
      message.find("(): ", between.size()) != message.npos)
    message.erase(0, between.size());
  if (!names_op(message, op)) message = format_text("{}(): {}", last_word(op), message);
}

}  // namespace

void add_error_context(tenon_error** slot, const Implementation& implementation,
                       tenon_status status, FailureOf what) noexcept {
  if (slot == nullptr) return;
  try {
    const std::string& op = implementation.schema.name;
    if (*slot == nullptr) {
      Error failure(status, "{}() failed with status {} ({}) and no message", op, status,
                    error_kind_text(status));
      *slot = new tenon_error{std::move(failure)};
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
    const std::string inner = std::exchange(error.error.op, op);
    if (!inner.empty()) {
      // Raised by a nested op: its message is kept as the cause of this error.
      auto cause = std::make_shared<tenon_error>(error);
      cause->error.op = inner;
      error.error.cause = std::move(cause);
    }
    if (what == FailureOf::call && !error.error.message.empty())
      name_called_op(error.error.message, op, inner);
    error.error.provider = implementation.provider;
  } catch (...) {  // without memory the error passes on without its context
  }
}

}  // namespace tenon::core
