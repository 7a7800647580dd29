// Anomaly mode: nodes that remember where their call was made, and gradients searched for nan.
#pragma once

#include <span>
#include <string>

#include "core/autograd/node.hpp"

namespace tenon::core {

// The calls on the stack when a node was recorded, the innermost first; named only when asked.
struct CallOrigin {
  static constexpr int kFrames = 24;
  void* frames[kFrames];
  int count = 0;
};

void remember_origin(Node& node);
// "op 'div' of plugin 'math', called from main+0x12 (/path/program+0x34)".
std::string origin_text(const Node& node);

// node.apply, telling of what goes wrong in it where its forward call was made. With
// `search`, a gradient that holds a nan is an error. Throws.
void apply_watched(Node& node, std::span<Tensor* const> gradients, std::vector<TensorRef>& answer,
                   const BackwardCall& call, bool search);

}  // namespace tenon::core
