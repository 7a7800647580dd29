// The loss of a batch.
#include <tenon/text.hpp>
#include <tenon/training/loss.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace training {

Loss::Loss(const Json& section)
    : choice_(loss_role(), section), sums_(section["reduction"].text() == "sum") {}

Tensor Loss::operator()(const Tensor& output, const Tensor& target) const {
  Tensor loss = choice_.call_one({output, target}).tensor();
  if (!loss.defined() || loss.numel() != 1) {
    throw ValueError(lib::format_text(
        "{}: {} must give one number for a batch, but gives a tensor of {}; choose a reduction of "
        "'mean' or 'sum'",
        choice_.section().place(), choice_.found().name,
        grouped(loss.defined() ? loss.numel() : 0)));
  }
  return loss;
}

}  // namespace training

TENON_NAMESPACE_END
