/* The plugin, in C alone: the logistic function and its derivative as loops over doubles. */
#include <math.h>
#include <stddef.h>

#include <tenon/plugin.h>

TENON_USES(tensors, 1)
TENON_USES(contexts, 1)

/* A new tensor of doubles in row-major order, with the elements of `source`. */
static tenon_status copy_as_doubles(const tenon_tensor* source, tenon_tensor** copy,
                                    tenon_error** error) {
  const tenon_tensor_view* view = tenon_tensor_get_view(source);
  tenon_status status = tenon_tensors->empty(TENON_F64, view->rank, view->shape, copy, error);
  if (status != TENON_OK) return status;
  status = tenon_tensors->copy(*copy, source, error);
  if (status != TENON_OK) tenon_tensors->release(*copy);
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
  const tenon_tensor_view* output = tenon_tensor_get_view(tenon_contexts->result(context, 0));
  tenon_tensor* gradient = NULL;
  const tenon_status status = copy_as_doubles(gradients[0], &gradient, error);
  if (status != TENON_OK) return status;
  double* elements = tenon_tensor_get_view(gradient)->data;
  const double* values = output->data;
  for (int64_t i = 0; i < output->count; ++i) elements[i] *= values[i] * (1 - values[i]);
  return tenon_contexts->give(context, &gradient, 1, error);
}

/* One mention: what the host calls, and what the file says about itself without being run. */
TENON_OP(logistic, "examples.logistic(Tensor input) -> Tensor",
         "1 / (1 + exp(-input)), element by element, in f64.", formula, none,
         TENON_OP_ONCE_DIFFERENTIABLE, /* a loop has no derivative */
         .run = forward, .backward = backward, .saves = "result")

TENON_PLUGIN(c_extension, "1.0.0")
