// The learning curves of a training as an SVG image.
#pragma once

#include <string>
#include <vector>

#include <tenon/training/trainer.hpp>

namespace cli {

using tenon::training::Epoch;

// Train and test loss over the epochs, and below them each metric that is a number; on a light or a
// dark page alike.
std::string learning_curve(const std::string& title, const std::vector<Epoch>& epochs);

}  // namespace cli
