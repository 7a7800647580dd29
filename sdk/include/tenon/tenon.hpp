// Umbrella for applications: include it and link tenon::tenon.
#pragma once

#ifdef TENON_PLUGIN_BUILD
#error "plugins include <tenon/plugin.hpp>; <tenon/tenon.hpp> is for programs that link libtenon"
#endif

#include "tenon/autograd.hpp"
#include "tenon/configure.hpp"
#include "tenon/data_ops.hpp"
#include "tenon/dlpack.hpp"
#include "tenon/explain.hpp"
#include "tenon/graph_text.hpp"
#include "tenon/indexing.hpp"
#include "tenon/metric_ops.hpp"
#include "tenon/mode.hpp"
#include "tenon/module.hpp"
#include "tenon/module_definition.hpp"
#include "tenon/module_hooks.hpp"
#include "tenon/multi_grad_hook.hpp"
#include "tenon/nn_ops.hpp"
#include "tenon/ops.hpp"
#include "tenon/optim_ops.hpp"
#include "tenon/overridable.hpp"
#include "tenon/override_definition.hpp"
#include "tenon/override_entry.hpp"
#include "tenon/parallel.hpp"
#include "tenon/runtime.hpp"
#include "tenon/saved_tensors.hpp"
#include "tenon/shapes_only.hpp"
#include "tenon/strict_gradients.hpp"
#include "tenon/trace.hpp"
#include "tenon/type_definition.hpp"
