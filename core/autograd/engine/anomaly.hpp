// Anomaly mode: nodes that remember where their call was made, and gradients searched for nan.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/autograd/graph/node.hpp"

namespace tenon::core {

// The node and the calls on the stack when it was recorded, the innermost first; named only when
// printed.
struct CallOrigin {
  static constexpr int kFrames = 24;
  explicit CallOrigin(const Node& of) : node(of.name()), implementation(of.implementation()) {
    if (implementation != nullptr) hold(*implementation);
  }
  ~CallOrigin() {
    if (implementation != nullptr) let_go(*implementation);
  }
  CallOrigin(const CallOrigin&) = delete;
  CallOrigin& operator=(const CallOrigin&) = delete;

  const char* const node;
  const Implementation* const implementation;  // null for nodes of the engine itself
  void* frames[kFrames];
  int count = -1;                            // -1: it was recorded without anomaly mode
  std::shared_ptr<const CallOrigin> parent;  // origin of the node whose backward recorded this one
};

void remember_origin(Node& node);
// "op 'div' of plugin 'math', called from main+0x12 (/path/program+0x34)"; where is not known of
// nodes that were recorded without anomaly mode.
std::string origin_text(const Node& node);

// node.apply; an error in it says where its forward call was made. With
// `search`, a gradient that holds a nan is an error. Throws.
void apply_watched(Node& node, std::span<Tensor* const> gradients, std::vector<TensorRef>& produced,
                   const BackwardCall& call, bool search);

}  // namespace tenon::core
