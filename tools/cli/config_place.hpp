// Errors of what a config asks for, with the place that asks for it.
#pragma once

#include <tenon/error.hpp>
#include <tenon/json.hpp>

#include "format.hpp"

namespace cli {

// What `action` gives; its errors begin with the place of the node.
template <class Action>
auto at_place(const tenon::Json& node, Action&& action) {
  try {
    return action();
  } catch (const tenon::Error& error) {
    throw tenon::Error(error.kind(), format_text("{}: {}", node.place(), error.what()));
  }
}

}  // namespace cli
