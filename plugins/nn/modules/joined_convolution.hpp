// A Conv2d and what follows it as one op, nn.functional.conv2d_tail, where no caller sees the
// difference.
#pragma once

#include <tenon/module_definition.hpp>

#include "common.hpp"

namespace nn {

// A convolution and its followers, in this order; undefined ones are left out.
struct JoinedConvolution {
  tenon::Module convolution, norm;  // a Conv2d; a BatchNorm2d
  Tensor addend;
  tenon::Module activation;  // a ReLU
  bool relu = false;         // by the module or by an op
};

// False for an undefined one.
bool is_of_type(const tenon::Module& module, const char* type);

// Whether, as configured now, the plugins that run conv2d run conv2d_tail too, in the same order, and
// only nn and math provide the modules and ops that it takes the place of. Otherwise another plugin's
// would be passed over. For constructors; reads listings.
bool joined_by_same_plugins();

// Whether this thread's calls may be joined: gradients are off, and no mode is there to see them.
bool may_join();

// The result, or an undefined tensor where the modules must be called one by one: one has hooks,
// batch norm is in training mode or keeps no statistics, dtypes or tensor types differ, f16 and bf16,
// an input that is not a batch of images, arguments that a module would refuse.
Tensor run_joined(const JoinedConvolution& joined, const Tensor& input);

}  // namespace nn
