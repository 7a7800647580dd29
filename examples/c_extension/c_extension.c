/* The plugin, in C alone: the logistic function and its derivative as loops over doubles. */
#include <math.h>
#include <stddef.h>

#include <tenon/abi/abi.h>

#define SCHEMA "examples.logistic(Tensor input) -> Tensor"
#define DOC "1 / (1 + exp(-input)), element by element, in f64."

/* What the file says about itself, readable without running it. */
TENON_FACT(plugin, "{\"plugin\":{\"id\":\"c_extension\",\"version\":\"1.0.0\",\"abi\":[1,0]}}");
TENON_FACT(logistic, "{\"op\":{\"schema\":\"" SCHEMA "\",\"doc\":\"" DOC
                     "\",\"differentiable\":\"formula\",\"flags\":1}}");

static const tenon_host* host;

/* A new tensor of doubles in row-major order, with the elements of `source`. */
static tenon_status copy_as_doubles(const tenon_tensor* source, tenon_tensor** copy,
                                    tenon_error** error) {
  const tenon_tensor_view* view = tenon_tensor_get_view(source);
  tenon_status status = host->tensor_empty(TENON_F64, view->rank, view->shape, copy, error);
  if (status != TENON_OK) return status;
  status = host->tensor_copy(*copy, source, error);
  if (status != TENON_OK) host->tensor_release(*copy);
  return status;
}

static tenon_status TENON_CALL forward(void* self, tenon_context* context,
                                       const tenon_value* arguments, tenon_value* results,
                                       tenon_error** error) {
  (void)self, (void)context;
  tenon_tensor* output = NULL;
  const tenon_status status = copy_as_doubles(arguments[0].as.tensor, &output, error);
  if (status != TENON_OK) return status;
  double* elements = tenon_tensor_get_view(output)->data;
  for (int64_t i = 0; i < tenon_tensor_get_view(output)->count; ++i)
    elements[i] = 1 / (1 + exp(-elements[i]));
  results[0].tag = TENON_VALUE_TENSOR;
  results[0].as.tensor = output;
  return TENON_OK;
}

/* One gradient comes for the one result, one is given for the one input. */
static tenon_status TENON_CALL backward(void* self, tenon_context* context,
                                        tenon_tensor* const* gradients, int64_t count,
                                        tenon_error** error) {
  (void)self, (void)count;
  const tenon_tensor_view* output = tenon_tensor_get_view(host->context_result(context, 0));
  tenon_tensor* gradient = NULL;
  const tenon_status status = copy_as_doubles(gradients[0], &gradient, error);
  if (status != TENON_OK) return status;
  double* elements = tenon_tensor_get_view(gradient)->data;
  const double* values = output->data;
  for (int64_t i = 0; i < output->count; ++i) elements[i] *= values[i] * (1 - values[i]);
  return host->context_give(context, &gradient, 1, error);
}

static const tenon_op_descriptor logistic = {
    .size = sizeof(tenon_op_descriptor),
    .flags = TENON_OP_ONCE_DIFFERENTIABLE, /* a loop has no derivative */
    .schema = SCHEMA,
    .doc = DOC,
    .differentiable = TENON_DIFFERENTIABLE_FORMULA,
    .run = forward,
    .backward = backward,
    .saves = "result",
};
static const tenon_op_descriptor* const ops[] = {&logistic};
static const tenon_plugin plugin = {
    .size = sizeof(tenon_plugin),
    .abi_major = TENON_ABI_MAJOR,
    .abi_minor = TENON_TARGET_MINOR,
    .id = "c_extension",
    .version = "1.0.0",
    .ops = ops,
    .op_count = 1,
};

/* The one symbol that the file exports. */
TENON_EXPORT tenon_status TENON_CALL tenon_plugin_entry(const tenon_host* given,
                                                        const tenon_plugin** table,
                                                        tenon_error** error);
tenon_status TENON_CALL tenon_plugin_entry(const tenon_host* given, const tenon_plugin** table,
                                           tenon_error** error) {
  (void)error;
  host = given;
  *table = &plugin;
  return TENON_OK;
}
