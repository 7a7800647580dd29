// Clipping of gradients.
#include <tenon/autograd.hpp>
#include <tenon/training/gradient_clip.hpp>
#include <tenon/training/schedule.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

GradientClip::GradientClip(const std::vector<Json>& sections) {
  for (const Json& one : sections) choices_.emplace_back(clip_role(), one);
}

void GradientClip::operator()(const std::vector<Tensor>& gradients) const {
  const NoGrad no_grad;
  for (const OpChoice& choice : choices_) choice.call({gradients});
}

}  // namespace training

TENON_NAMESPACE_END
