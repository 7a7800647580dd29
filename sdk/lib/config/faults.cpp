#include "faults.hpp"

#include <algorithm>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"

TENON_NAMESPACE_BEGIN

namespace config {

namespace {

constexpr size_t kShown = 50;

}  // namespace

void Faults::refuse() const {
  std::vector<const Fault*> order;
  order.reserve(list_.size());
  for (const Fault& fault : list_) order.push_back(&fault);
  // Faults of one place stay in the order in which they were found.
  std::stable_sort(order.begin(), order.end(), [](const Fault* a, const Fault* b) {
    return a->place.offset < b->place.offset;
  });
  std::string text;
  if (list_.size() > 1)
    text = lib::format_text("config {} has {} faults:\n", lib::quote(file_), list_.size());
  for (size_t i = 0; i < std::min(list_.size(), kShown); ++i) {
    const Fault& fault = *order[i];
    if (i > 0) text += "\n";
    text +=
        lib::format_text("{}: {}: {}", place_text(file_, fault.place),
                         fault.pointer.empty() ? "the config" : escaped(fault.pointer), fault.what);
  }
  if (list_.size() > kShown) text += lib::format_text("\n... and {} more", list_.size() - kShown);
  throw ConfigError(text);
}

}  // namespace config

TENON_NAMESPACE_END
