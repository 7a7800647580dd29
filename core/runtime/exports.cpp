// The symbols that libtenon exports, nothing else.
#include <memory>

#include "core/base/error.hpp"
#include "core/plugin/plugin_manager.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"
#include "tenon/abi/guard.h"
#include "tenon/abi/host.h"
#include "tenon/abi/unchanging.h"

extern "C" const tenon_host* tenon_host_get(void) { return &tenon::core::host_table(); }

extern "C" tenon_status tenon_guard_set(const tenon_load_guard* guard, tenon_error** error) {
  using namespace tenon::core;
  return guarded(error, [&] {
    host_table();  // starts the runtime
    plugin_manager().set_guard(guard == nullptr ? nullptr : std::make_shared<Guard>(*guard));
  });
}

extern "C" tenon_status tenon_wrap_unchanging(tenon_dtype dtype, int64_t rank, const int64_t* shape,
                                              const int64_t* strides, void* data, void* owner,
                                              void (*release)(void*), tenon_tensor** result,
                                              tenon_error** error) {
  using namespace tenon::core;
  return guarded(error, [&] {
    TensorRef tensor =
        make_wrapped(dtype, shape_of(shape, rank), shape_of(strides, rank), data, owner, release);
    // Foreign memory gets no number later.
    tensor->storage->foreign = false;
    tensor->storage->number();
    tensor->storage->foreign = true;
    *result = tensor.give();
  });
}
