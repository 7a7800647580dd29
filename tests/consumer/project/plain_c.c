/* A plugin in C without a function of the C library: a module that returns its input. */
#include <tenon/plugin.h>

TENON_USES(tensors, 1)

static tenon_status TENON_CALL create(void* self, tenon_module* module,
                                      const tenon_value* attributes, void** state,
                                      tenon_error** error) {
  (void)self, (void)module, (void)attributes, (void)state, (void)error;
  return TENON_OK;
}

static tenon_status TENON_CALL forward(void* self, void* state, tenon_module* module,
                                       const tenon_value* arguments, tenon_value* results,
                                       tenon_error** error) {
  (void)self, (void)state, (void)module, (void)error;
  tenon_tensors->retain(arguments[0].as.tensor);
  results[0] = arguments[0];
  return TENON_OK;
}

TENON_MODULE(identity, "plain_c.Identity()", "forward(Tensor input) -> Tensor",
             "Returns its input.", .create = create, .forward = forward)
TENON_PLUGIN(plain_c, "1.0.0")
