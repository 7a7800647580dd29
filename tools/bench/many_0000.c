/* One of a thousand small plugins: the others are copies of its file with another number. */
#include <tenon/abi/abi.h>

#define ID "many_0000"
#define SCHEMA ID ".first(Tensor input, Tensor other) -> Tensor"

TENON_FACT(plugin, "{\"plugin\":{\"id\":\"" ID
                   "\",\"version\":\"1.0.0\",\"abi\":[1,0],\"sdk\":\"0.1.0\","
                   "\"compiler\":\"C\"}}");
TENON_FACT(op, "{\"op\":{\"schema\":\"" SCHEMA "\",\"doc\":\"The first operand.\"}}");

static const tenon_tensors_service* tensors;

static tenon_status TENON_CALL run(void* self, tenon_context* context, const tenon_value* arguments,
                                   tenon_value* results, tenon_error** error) {
  (void)self, (void)context, (void)error;
  results[0] = arguments[0];
  tensors->retain(arguments[0].as.tensor);
  return TENON_OK;
}

static const tenon_op_descriptor op = {
    .size = sizeof(tenon_op_descriptor), .schema = SCHEMA, .doc = "The first operand.", .run = run};

TENON_EXPORT tenon_status TENON_CALL tenon_plugin_entry(const tenon_host* host,
                                                        const tenon_plugin** plugin,
                                                        tenon_error** error) {
  static const tenon_op_descriptor* const ops[] = {&op};
  static const tenon_plugin table = {.size = sizeof(tenon_plugin),
                                     .abi_major = TENON_ABI_MAJOR,
                                     .id = ID,
                                     .version = "1.0.0",
                                     .ops = ops,
                                     .op_count = 1};
  const void* service = NULL;
  const tenon_status status = host->service("tenon.tensors", 1, &service, NULL, error);
  if (status != TENON_OK) return status;
  tensors = (const tenon_tensors_service*)service;
  *plugin = &table;
  return TENON_OK;
}
