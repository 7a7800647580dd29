// The reductions of this plugin.
#pragma once

#define MATH_REDUCTIONS(op, module)                                                               \
  op(Sum) op(Mean) op(SumToSize) op(Prod) op(Amax) op(Amin) op(Max) op(Min) op(Argmax) op(Argmin) \
      op(All) op(Any) op(CountNonzero) op(Var) op(Std) op(Logsumexp) op(Cumsum)
