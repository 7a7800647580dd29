// Clipping of gradients.
#include <tenon/autograd.hpp>
#include <tenon/training/gradient_clip.hpp>
#include <tenon/training/schedule.hpp>

TENON_NAMESPACE_BEGIN

namespace training {

GradientClip::GradientClip(const Json& section) {
  for (const Json& one : section_list(section)) choices_.emplace_back(clip_role(), one);
}

void GradientClip::operator()(const std::vector<Tensor>& gradients) const {
  const NoGrad no_grad;
  for (const OpChoice& choice : choices_) choice.call({gradients});
}

}  // namespace training

TENON_NAMESPACE_END
