/* A plugin in C without a function of the C library: a module that returns its input. */
#include <tenon/plugin.h>

static tenon_status TENON_CALL create(void* self, tenon_module* module,
                                      const tenon_value* attributes, void** state,
                                      tenon_error** error) {
  (void)self, (void)module, (void)attributes, (void)state, (void)error;
  return TENON_OK;
}

static tenon_status TENON_CALL forward(void* self, void* state, tenon_module* module,
                                       const tenon_value* inputs, int64_t count,
                                       tenon_value* result, tenon_error** error) {
  static const char expected[] = "plain_c.Identity takes one Tensor";
  (void)self, (void)state, (void)module;
  if (count != 1 || inputs[0].tag != TENON_VALUE_TENSOR)
    return tenon_plugin_host->error_set(error, TENON_ERROR_TYPE, expected, sizeof expected - 1);
  tenon_plugin_host->tensor_retain(inputs[0].as.tensor);
  *result = inputs[0];
  return TENON_OK;
}

TENON_MODULE(identity, "plain_c.Identity()", "Returns its input.", .create = create,
             .forward = forward)
TENON_PLUGIN(plain_c, "1.0.0")
