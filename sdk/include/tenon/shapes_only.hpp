// Shapes without values: what a call would return, how many multiply-adds it would take, and modules
// without their initialization.
//
//   ShapesOnly shapes;
//   const Tensor output = model(zeros({64, 3, 224, 224}));   // computes no element
//   output.shape();  shapes.multiply_adds();
#pragma once

#include <cstdint>
#include <string>

#include "tenon/module.hpp"

TENON_NAMESPACE_BEGIN

// In its scope the ops of this thread compute shapes and dtypes alone. Results are zeros; operands
// are not changed; nothing is recorded or drawn at random. New tensors from 1 MiB on take no memory
// until something is written into them, and stay valid after the scope. An op that has neither a
// shape_rule nor a shape that follows from its schema runs on these zeros; one whose shape depends on
// elements is a NotImplementedError. Scopes nest.
class ShapesOnly {
 public:
  ShapesOnly() : outer_(service::modes().shapes_only_set(&multiply_adds_)) {}
  ~ShapesOnly() { service::modes().shapes_only_set(outer_); }
  ShapesOnly(const ShapesOnly&) = delete;
  ShapesOnly& operator=(const ShapesOnly&) = delete;

  // Multiply-adds of the calls so far whose ops declare them: matrix products, convolutions.
  int64_t multiply_adds() const { return __atomic_load_n(&multiply_adds_, __ATOMIC_RELAXED); }

 private:
  int64_t multiply_adds_ = 0;
  int64_t* outer_;
};

// In its scope the ops of this thread compute, also inside a ShapesOnly: for a module that needs the
// elements of small tensors, such as a shape to reshape to, before it knows the shapes of others.
class ComputeElements {
 public:
  ComputeElements() : outer_(service::modes().shapes_only_set(nullptr)) {}
  ~ComputeElements() { service::modes().shapes_only_set(outer_); }
  ComputeElements(const ComputeElements&) = delete;
  ComputeElements& operator=(const ComputeElements&) = delete;

  // Whether the ops of this thread compute shapes alone around this scope.
  bool inside_shapes_only() const { return outer_ != nullptr; }

 private:
  int64_t* outer_;
};

// Module::create without the initialization: no element is computed, nothing is drawn at random, and
// what parameters and buffers hold does not matter until a state is loaded. Buffers that are not part
// of the state keep what they hold.
template <class... Keywords>
Module skip_init(const std::string& type, const Keywords&... keywords) {
  const ShapesOnly shapes;
  return Module::create(type, keywords...);
}

TENON_NAMESPACE_END
