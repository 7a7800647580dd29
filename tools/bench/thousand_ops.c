/* A plugin of a thousand ops, to time its listing and its loading. */
#include <tenon/abi/abi.h>

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
/* clang-format off */
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define HUNDRED(X, n)                                                   \
  TEN(X, n##0) TEN(X, n##1) TEN(X, n##2) TEN(X, n##3) TEN(X, n##4)      \
  TEN(X, n##5) TEN(X, n##6) TEN(X, n##7) TEN(X, n##8) TEN(X, n##9)
#define THOUSAND(X)                                                     \
  HUNDRED(X, 0) HUNDRED(X, 1) HUNDRED(X, 2) HUNDRED(X, 3) HUNDRED(X, 4) \
  HUNDRED(X, 5) HUNDRED(X, 6) HUNDRED(X, 7) HUNDRED(X, 8) HUNDRED(X, 9)
/* clang-format on */

static const tenon_host* host;

static tenon_status TENON_CALL run(void* self, tenon_context* context, const tenon_value* arguments,
                                   tenon_value* results, tenon_error** error) {
  (void)self, (void)context, (void)error;
  results[0] = arguments[0];
  host->tensor_retain(arguments[0].as.tensor);
  return TENON_OK;
}

THOUSAND(FACT)
static const tenon_op_descriptor descriptors[] = {THOUSAND(DESCRIPTOR)};

TENON_EXPORT tenon_status TENON_CALL tenon_plugin_entry(const tenon_host* given,
                                                        const tenon_plugin** plugin,
                                                        tenon_error** error) {
  static const tenon_op_descriptor* ops[1000];
  static tenon_plugin table = {.size = sizeof(tenon_plugin),
                               .abi_major = TENON_ABI_MAJOR,
                               .id = "thousand_ops",
                               .version = "1.0.0",
                               .ops = ops,
                               .op_count = 1000};
  (void)error;
  host = given;
  for (int i = 0; i < 1000; ++i) ops[i] = &descriptors[i];
  *plugin = &table;
  return TENON_OK;
}
