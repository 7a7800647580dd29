/* A plugin of a thousand ops, to time its listing and its loading. */
#include <tenon/abi/abi.h>

#include "repeat.h"

TENON_FACT(
    plugin,
    "{\"plugin\":{\"id\":\"thousand_ops\",\"version\":\"1.0.0\",\"abi\":[1,0],\"sdk\":\"0.1.0\","
    "\"compiler\":\"C\"}}");

#define SCHEMA(n) \
  "thousand_ops.op" #n "(Tensor input, Tensor other, *, float alpha=1.0, int dim=-1) -> Tensor"
#define FACT(n) \
  TENON_FACT(op##n, "{\"op\":{\"schema\":\"" SCHEMA(n) "\",\"doc\":\"The first operand.\","          \
                    "\"differentiable\":\"none\",\"jvp\":\"none\",\"flags\":0}}");
#define DESCRIPTOR(n)                   \
  {.size = sizeof(tenon_op_descriptor), \
   .schema = SCHEMA(n),                 \
   .doc = "The first operand.",         \
   .run = run},

static const tenon_tensors_service* tensors;

static tenon_status TENON_CALL run(void* self, tenon_context* context, const tenon_value* arguments,
                                   tenon_value* results, tenon_error** error) {
  (void)self, (void)context, (void)error;
  results[0] = arguments[0];
  tensors->retain(arguments[0].as.tensor);
  return TENON_OK;
}

THOUSAND(FACT, )
static const tenon_op_descriptor descriptors[] = {THOUSAND(DESCRIPTOR, )};

TENON_EXPORT tenon_status TENON_CALL tenon_plugin_entry(const tenon_host* host,
                                                        const tenon_plugin** plugin,
                                                        tenon_error** error) {
  static const tenon_op_descriptor* ops[1000];
  static tenon_plugin table = {.size = sizeof(tenon_plugin),
                               .abi_major = TENON_ABI_MAJOR,
                               .id = "thousand_ops",
                               .version = "1.0.0",
                               .ops = ops,
                               .op_count = 1000};
  const void* service = NULL;
  const tenon_status status = host->service("tenon.tensors", 1, &service, NULL, error);
  if (status != TENON_OK) return status;
  tensors = (const tenon_tensors_service*)service;
  for (int i = 0; i < 1000; ++i) ops[i] = &descriptors[i];
  *plugin = &table;
  return TENON_OK;
}
