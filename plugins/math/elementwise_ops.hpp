// The elementwise ops of this plugin, and those that create tensors.
#pragma once

#define MATH_ELEMENTWISE(op, module)                                                             \
  op(Add) op(Sub) op(Mul) op(Div) op(Add_) op(Sub_) op(Mul_) op(Div_) op(FloorDivide)            \
      op(Remainder) op(Pow) op(Square) op(Sqrt) op(Rsqrt) op(Reciprocal) op(Maximum) op(Minimum) \
          op(Clamp) op(Eq) op(Ne) op(Lt) op(Le) op(Gt) op(Ge) op(Isnan) op(Isinf) op(Isfinite)   \
              op(LogicalAnd) op(LogicalOr) op(LogicalXor) op(LogicalNot) op(BitwiseAnd)          \
                  op(BitwiseOr) op(BitwiseXor) op(BitwiseNot) op(Where) op(MaskedFill) op(Abs)   \
                      op(Neg) op(Sign) op(Floor) op(Ceil) op(Round) op(Trunc) op(Exp) op(Exp2)   \
                          op(Expm1) op(Log) op(Log2) op(Log10) op(Log1p) op(Sin) op(Cos) op(Tan) \
                              op(Asin) op(Acos) op(Atan) op(Atan2) op(Sinh) op(Cosh) op(Tanh)    \
                                  op(Erf) op(Sigmoid) op(Relu) op(Relu_) op(ReluBackward)        \
                                      op(Copy_) op(Fill_) op(Zero_)

#define MATH_CREATION(op, module)                                                                  \
  op(Empty) op(Zeros) op(Ones) op(Full) op(ZerosLike) op(OnesLike) op(FullLike) op(Eye) op(Arange) \
      op(Linspace) op(Uniform_) op(Normal_) op(Rand) op(Randn) op(Randint) op(Randperm)
