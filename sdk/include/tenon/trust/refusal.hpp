// Why a plugin must not be loaded, in the pieces of the message that the host makes of it.
#pragma once

#include <string>

#include <tenon/abi/guard.h>
#include <tenon/error.hpp>

TENON_NAMESPACE_BEGIN

namespace trust {

struct Refusal {                     // why a plugin is refused, as tenon_refusal
  int32_t stage = TENON_STAGE_READ;  // a TENON_STAGE_
  std::string plugin;                // id; empty: that of the file
  std::string path;                  // empty where no file was found
  std::string problem;               // one clause
  std::string expected;              // empty where there is nothing to compare
  std::string found;                 // may be empty
  std::string remedy;                // one imperative
  std::string place;                 // in a config: "x.json:3:14: /plugins/0"
  bool quarantined = false;          // it has ended processes

  // Problem, what was expected and found, and remedy in one line.
  std::string text() const;
};

// Thrown by calls that cannot return a refusal.
class RefusalError : public PluginError {
 public:
  // Its message is the refusal's text.
  explicit RefusalError(Refusal why) : PluginError(why.text()), refusal(std::move(why)) {}
  Refusal refusal;  // the refusal
};

}  // namespace trust

TENON_NAMESPACE_END
