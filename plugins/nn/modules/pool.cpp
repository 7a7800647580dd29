// Pools as modules.
#include "modules/op_layer.hpp"

#define NN_POOL(Name, d, size, op_name, doc_text)                                                  \
  NN_OP_MODULE(Name,                                                                               \
               "(int[" #d "] kernel_size, int[" #d "]? stride=None, int[" #d "] padding=0, " size, \
               op_name, R"([{"kernel_size": 2}])", doc_text)
#define NN_MAX_POOL(d)                                                       \
  NN_POOL(MaxPool##d##d, d, "int[" #d "] dilation=1, bool ceil_mode=False)", \
          "nn.functional.max_pool" #d "d",                                   \
          "The largest element of each window; without a stride windows do not overlap.")
#define NN_AVG_POOL(d)                                                            \
  NN_POOL(AvgPool##d##d, d, "bool ceil_mode=False, bool count_include_pad=True)", \
          "nn.functional.avg_pool" #d "d",                                        \
          "The mean of each window; without a stride windows do not overlap.")
#define NN_ADAPTIVE_POOL(d)                                                         \
  NN_OP_MODULE(AdaptiveAvgPool##d##d, "(int[" #d "] output_size)",                  \
               "nn.functional.adaptive_avg_pool" #d "d", R"([{"output_size": 2}])", \
               "The mean of windows that give output_size results.")                \
  NN_OP_MODULE(AdaptiveMaxPool##d##d, "(int[" #d "] output_size)",                  \
               "nn.functional.adaptive_max_pool" #d "d", R"([{"output_size": 2}])", \
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
