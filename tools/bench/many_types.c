/* A plugin of ten thousand ops, and of a thousand tensor types that each override one of them: to
 * see that what is registered costs nothing where it is not called. */
#include <tenon/abi/abi.h>

#include "repeat.h"

TENON_FACT(
    plugin,
    "{\"plugin\":{\"id\":\"many_types\",\"version\":\"1.0.0\",\"abi\":[1,0],\"sdk\":\"0.1.0\","
    "\"compiler\":\"C\"}}");

#define DOC "The first operand."
#define NAME(n) "many_types.op" #n
#define SCHEMA(n) NAME(n) "(Tensor input, Tensor other, *, float alpha=1.0, int dim=-1) -> Tensor"
#define OVERRIDE_SCHEMA(n) NAME(n) "(Tensor input, Tensor other) -> Tensor"
#define OP_FACT(n)                                   \
  TENON_FACT(op##n, "{\"op\":{\"schema\":\"" SCHEMA( \
                        n) "\",\"doc\":\"" DOC       \
                           "\",\"differentiable\":\"none\",\"jvp\":\"none\",\"flags\":0}}");
#define TYPE_FACT(n)                                                                 \
  TENON_FACT(type##n, "{\"type\":{\"name\":\"Many" #n "\",\"parent\":\"Tensor\"}}"); \
  TENON_FACT(override##n,                                                            \
             "{\"override\":{\"schema\":\"" OVERRIDE_SCHEMA(n) "\",\"types\":\"Many" #n "\"}}");
#define OP(n) {.size = sizeof(tenon_op_descriptor), .schema = SCHEMA(n), .doc = DOC, .run = run},
#define TYPE(n) {.size = sizeof(tenon_type_descriptor), .name = "Many" #n, .parent = "Tensor"},
#define OVERRIDE(n)                           \
  {.size = sizeof(tenon_override_descriptor), \
   .schema = OVERRIDE_SCHEMA(n),              \
   .types = "Many" #n,                        \
   .run = answer},
/* clang-format off */
#define TEN_THOUSAND(X) \
  THOUSAND(X, 0) THOUSAND(X, 1) THOUSAND(X, 2) THOUSAND(X, 3) THOUSAND(X, 4) \
  THOUSAND(X, 5) THOUSAND(X, 6) THOUSAND(X, 7) THOUSAND(X, 8) THOUSAND(X, 9)
/* clang-format on */

static const tenon_tensors_service* tensors;

static tenon_status give_first(const tenon_value* arguments, tenon_value* results) {
  results[0] = arguments[0];
  tensors->retain(arguments[0].as.tensor);
  return TENON_OK;
}
static tenon_status TENON_CALL run(void* self, tenon_context* context, const tenon_value* arguments,
                                   tenon_value* results, tenon_error** error) {
  (void)self, (void)context, (void)error;
  return give_first(arguments, results);
}
static tenon_status TENON_CALL answer(void* self, const tenon_call* call, tenon_value* results,
                                      tenon_error** error) {
  (void)self, (void)error;
  return give_first(call->arguments, results);
}

TEN_THOUSAND(OP_FACT)
THOUSAND(TYPE_FACT, 0)
static const tenon_op_descriptor op_table[] = {TEN_THOUSAND(OP)};
static const tenon_type_descriptor type_table[] = {THOUSAND(TYPE, 0)};
static const tenon_override_descriptor override_table[] = {THOUSAND(OVERRIDE, 0)};

TENON_EXPORT tenon_status TENON_CALL tenon_plugin_entry(const tenon_host* host,
                                                        const tenon_plugin** plugin,
                                                        tenon_error** error) {
  static const tenon_op_descriptor* ops[10000];
  static const tenon_type_descriptor* types[1000];
  static const tenon_override_descriptor* overrides[1000];
  static const tenon_plugin table = {.size = sizeof(tenon_plugin),
                                     .abi_major = TENON_ABI_MAJOR,
                                     .id = "many_types",
                                     .version = "1.0.0",
                                     .ops = ops,
                                     .op_count = 10000,
                                     .types = types,
                                     .type_count = 1000,
                                     .overrides = overrides,
                                     .override_count = 1000};
  const void* service = NULL;
  const tenon_status status = host->service("tenon.tensors", 1, &service, NULL, error);
  if (status != TENON_OK) return status;
  tensors = (const tenon_tensors_service*)service;
  for (int i = 0; i < 10000; ++i) ops[i] = &op_table[i];
  for (int i = 0; i < 1000; ++i) {
    types[i] = &type_table[i];
    overrides[i] = &override_table[i];
  }
  *plugin = &table;
  return TENON_OK;
}
