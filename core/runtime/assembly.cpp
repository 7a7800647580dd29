// The parts that dispatch is put together from: the layers of a call, in order, and what is above
// dispatch and asked by it.
#include "core/autograd/component_history.hpp"
#include "core/autograd/record.hpp"
#include "core/autograd/typed.hpp"
#include "core/dispatch/autograd_interface.hpp"
#include "core/dispatch/layer.hpp"
#include "core/dispatch/value.hpp"
#include "core/nn/module.hpp"

namespace tenon::core {

constinit const std::array<Layer, kLayerCount> layers{{
    {LayerId::trace, kTraceFlag, run_traced},
    {LayerId::mode, kModeFlag, run_modes},
    {LayerId::typed, TENON_TENSOR_TYPED, run_typed},
    {LayerId::checks, kCheckFlags, run_checks},
    {LayerId::autograd, kAutogradFlags, run_recorded},
    {LayerId::mode_below, kModeBelowFlag, run_modes_below},
    {LayerId::kernel, kKernelFlag, run_kernel},
}};

constinit const AutogradInterface autograd_interface{
    share_with_history, connect_conversion, connect_tangent,       connect_same_data,
    refresh_components, has_held_history,   refuse_hidden_history, refuse_lost_gradient,
};

void (*const release_module)(tenon_module*) noexcept = [](tenon_module* module) noexcept {
  module->release();
};

}  // namespace tenon::core
