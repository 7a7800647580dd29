// How listings of the runtime are shown, where several commands show the same.
#pragma once

#include <string>

#include <tenon/runtime.hpp>

#include "terminal.hpp"

namespace cli {

// Whether a plugin in this state cannot be used.
bool is_refused(const std::string& state);
Style state_style(const std::string& state);
// "yes", "yes, by the ops that it is made of", "no"; with what forward mode adds.
std::string gradient_text(const tenon::Json& op);

// One thing in full: what it is, then its facts in two columns.
void print_op(const tenon::Json& op);
void print_plugin(const tenon::Json& plugin);
void print_module(const tenon::Json& module);
void print_type(const tenon::Json& type);
void print_rewrite(const tenon::Json& rewrite);

}  // namespace cli
