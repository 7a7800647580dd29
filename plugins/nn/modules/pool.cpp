// Pools as modules.
#include "modules/op_layer.hpp"

#define NN_POOL(Name, n, size, op_name, doc_text)                                                  \
  NN_OP_MODULE(Name,                                                                               \
               "(int[" #n "] kernel_size, int[" #n "]? stride=None, int[" #n "] padding=0, " size, \
               op_name, R"([{"kernel_size": 2}])", doc_text)
#define NN_MAX_POOL(n)                                                       \
  NN_POOL(MaxPool##n##d, n, "int[" #n "] dilation=1, bool ceil_mode=False)", \
          "nn.functional.max_pool" #n "d",                                   \
          "The largest element of each window; without a stride windows do not overlap.")
#define NN_AVG_POOL(n)                                                                      \
  NN_POOL(AvgPool##n##d, n,                                                                 \
          "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None)", \
          "nn.functional.avg_pool" #n "d",                                                  \
          "The mean of each window; without a stride windows do not overlap.")
#define NN_ADAPTIVE_POOL(n)                                                         \
  NN_OP_MODULE(AdaptiveAvgPool##n##d, "(int[" #n "] output_size)",                  \
               "nn.functional.adaptive_avg_pool" #n "d", R"([{"output_size": 2}])", \
               "The mean of windows that give output_size results.")                \
  NN_OP_MODULE(AdaptiveMaxPool##n##d, "(int[" #n "] output_size)",                  \
               "nn.functional.adaptive_max_pool" #n "d", R"([{"output_size": 2}])", \
               "The largest element of windows that give output_size results.")

NN_MAX_POOL(1)
NN_MAX_POOL(2)
NN_MAX_POOL(3)
NN_AVG_POOL(1)
NN_AVG_POOL(2)
NN_AVG_POOL(3)
NN_ADAPTIVE_POOL(1)
NN_ADAPTIVE_POOL(2)
NN_ADAPTIVE_POOL(3)
