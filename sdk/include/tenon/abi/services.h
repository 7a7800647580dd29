/* The host's services: all their headers, and their list. */
#ifndef TENON_ABI_SERVICES_H
#define TENON_ABI_SERVICES_H

#include "tenon/abi/service/autograd.h"
#include "tenon/abi/service/calls.h"
#include "tenon/abi/service/contexts.h"
#include "tenon/abi/service/dlpack.h"
#include "tenon/abi/service/documents.h"
#include "tenon/abi/service/graph.h"
#include "tenon/abi/service/modes.h"
#include "tenon/abi/service/modules.h"
#include "tenon/abi/service/ops.h"
#include "tenon/abi/service/plugins.h"
#include "tenon/abi/service/tensors.h"
#include "tenon/abi/service/threads.h"
#include "tenon/abi/service/types.h"
#include "tenon/abi/service/values.h"

/* X(name, NAME): struct tenon_name_service, TENON_NAME_VERSION, named "tenon.name". */
#define TENON_SERVICES(X) \
  X(values, VALUES)       \
  X(tensors, TENSORS)     \
  X(ops, OPS)             \
  X(contexts, CONTEXTS)   \
  X(autograd, AUTOGRAD)   \
  X(graph, GRAPH)         \
  X(types, TYPES)         \
  X(modes, MODES)         \
  X(modules, MODULES)     \
  X(threads, THREADS)     \
  X(documents, DOCUMENTS) \
  X(plugins, PLUGINS)     \
  X(dlpack, DLPACK)       \
  X(calls, CALLS)

#endif
