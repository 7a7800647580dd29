/* A complete plugin in plain C: one op that adds 1 to an f32 tensor. */
#include <tenon/plugin.h>

TENON_USES(values, 1)
TENON_USES(tensors, 1)

static tenon_status fail(tenon_error** error, tenon_status kind, const char* message) {
  int64_t length = 0;
  while (message[length] != 0) ++length;
  return tenon_values->error_set(error, kind, message, length);
}

/* Walks any strides: counts up the index like an odometer. */
static void add_one_to(const tenon_tensor_view* input, float* output) {
  int64_t index[TENON_MAX_RANK] = {0};
  const float* from = (const float*)input->data;
  for (int64_t i = 0; i < input->count; ++i) {
    output[i] = *from + 1.0f;
    for (int64_t dim = (int64_t)input->rank - 1; dim >= 0; --dim) {
      from += input->strides[dim];
      if (++index[dim] < input->shape[dim]) break;
      from -= input->strides[dim] * input->shape[dim];
      index[dim] = 0;
    }
  }
}

static tenon_status TENON_CALL add_one(void* self, tenon_context* context,
                                       const tenon_value* arguments, tenon_value* results,
                                       tenon_error** error) {
  (void)self, (void)context;
  const tenon_tensor_view* input = tenon_tensor_get_view(arguments[0].as.tensor);
  if (input->dtype != TENON_F32) {
    return fail(error, TENON_ERROR_TYPE, "plain.add_one takes f32 tensors only");
  }
  tenon_tensor* output = 0;
  tenon_status status = tenon_tensors->empty(TENON_F32, input->rank, input->shape, &output, error);
  if (status != TENON_OK) return status;
  add_one_to(input, (float*)tenon_tensor_get_view(output)->data);
  results[0].tag = TENON_VALUE_TENSOR;
  results[0].as.tensor = output;
  return TENON_OK;
}

TENON_OP(add_one, "plain.add_one(Tensor input) -> Tensor", "Adds one to each element.", none, none,
         0, .run = add_one)

TENON_PLUGIN(plain, "1.2.0")
