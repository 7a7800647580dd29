// Writing plots.
#include <string_view>

#include <tenon/op.hpp>
#include <tenon/runtime.hpp>
#include <tenon/state/atomic_file.hpp>
#include <tenon/training/plot.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

namespace {

bool has_ending(const std::string& path, std::string_view ending) {
  return path.size() > ending.size() &&
         path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
}

}  // namespace

const char* plot_op(const std::string& path) {
  return has_ending(path, ".png") ? "plot.write_png" : nullptr;
}

std::string plot_fault(const std::string& path) {
  const char* const op = plot_op(path);
  if (op == nullptr) {
    if (has_ending(path, ".svg") || path.compare(0, 5, "/dev/") == 0) return "";
    return lib::format_text("cannot write '{}': the file name must end in .svg or .png", path);
  }
  if (!provider_of(op).empty()) return "";
  return lib::format_text(
      "cannot write '{}': no plugin provides '{}'; install librsvg2-dev and build Tenon again, or "
      "let the name end in .svg",
      path, op);
}

void write_plot(const std::string& path, const std::string& svg) {
  if (const char* const op = plot_op(path))
    Op(op).call<void>(path, svg);
  else
    state::write_file(path, svg);
}

}  // namespace training

TENON_NAMESPACE_END
