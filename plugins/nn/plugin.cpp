// The nn plugin: what neural networks are made of, as functions and as modules.
#include <tenon/plugin.hpp>

#define NN(op, module)                                                                             \
  op(Linear) op(Conv2d) op(Conv2dInput) op(Conv2dWeight) op(MaxPool2d) op(MaxPool2dWithIndices)    \
      op(MaxPoolGrad) op(AvgPool2d) op(AvgPool2dGrad) op(AdaptiveAvgPool1d) op(AdaptiveAvgPool2d)  \
          op(AdaptiveAvgPool3d) op(AdaptiveAvgPoolGrad) op(AdaptiveMaxPool1d)                      \
              op(AdaptiveMaxPool1dWithIndices) op(Softmax) op(SoftmaxGrad) op(LogSoftmax)          \
                  op(LogSoftmaxGrad) op(NllLoss) op(SmoothedNllLoss) op(NllLossGrad)               \
                      op(CrossEntropy) op(CrossEntropyGrad) op(MseLoss) op(L1Loss) op(Dropout)     \
                          op(Embedding) op(EmbeddingGrad) op(LayerNorm) op(LayerNormGrad) op(Gelu) \
                              op(GeluGrad) op(Silu) op(SiluGrad) op(Softplus) op(LeakyRelu)        \
                                  op(Elu) op(SgdStep) op(AdamStep) module(Linear) module(Conv2d)   \
                                      module(LayerNorm) module(Embedding) module(Sequential)       \
                                          module(ReLU) module(Tanh) module(Sigmoid) module(GELU)   \
                                              module(SiLU) module(Softmax) module(Flatten)         \
                                                  module(Dropout) module(MaxPool2d)                \
                                                      module(AvgPool2d)
TENON_PLUGIN(nn, "0.1.0", NN)
