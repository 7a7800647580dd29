// The shape ops of this plugin.
#pragma once

#define MATH_SHAPES(op, module)                                                                  \
  op(Reshape) op(View) op(Flatten) op(Transpose) op(T) op(Permute) op(Squeeze) op(Unsqueeze)     \
      op(Expand) op(ExpandAs) op(Slice) op(Select) op(Narrow) op(AsStrided) op(AsStridedScatter) \
          op(SliceScatter) op(SelectScatter) op(SliceBackward) op(SelectBackward) op(Contiguous) \
              op(Clone) op(To) op(Cat) op(Stack) op(Split) op(Chunk) op(Unbind) op(IndexSelect)  \
                  op(IndexAdd) op(Gather) op(ScatterAdd) op(Flip) op(Tril) op(Triu) op(OneHot)
