/* Includes the C boundary of plugins; guard.h is for applications alone. Each header also compiles alone, as
 * C11 and as C++17. */
#ifndef TENON_ABI_ABI_H
#define TENON_ABI_ABI_H

#include "attributes.h"
#include "autograd.h"
#include "dtype.h"
#include "elementwise.h"
#include "error.h"
#include "facts.h"
#include "half.h"
#include "host.h"
#include "json.h"
#include "module.h"
#include "module_hooks.h"
#include "module_watch.h"
#include "op.h"
#include "plugin.h"
#include "saved_hooks.h"
#include "services.h"
#include "tensor.h"
#include "type.h"
#include "value.h"
#include "version.h"

#endif
