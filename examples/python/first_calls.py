"""A first look at Tenon from Python: documentation, errors, gradients, and memory that is shared."""

import tenon

# An op of a plugin is a function; its documentation is the plugin's.
print(tenon.ops.clamp.__doc__)

# Keywords are bound by the op's schema, and errors say what is wrong.
x = tenon.tensor([[3.0, 4.0], [6.0, 8.0]])
print(tenon.ops.sum(x, dim=1))
try:
    tenon.ops.sum(x, axis=1)
except TypeError as error:
    print(error)

# Gradients.
slope = tenon.tensor(0.0, requires_grad=True)
inputs = tenon.tensor([1.0, 2.0, 3.0])
targets = 2.5 * inputs
for _ in range(40):
    loss = tenon.ops.nn.functional.mse_loss(slope * inputs, targets)
    (gradient,) = tenon.gradients(loss, slope)
    slope = (slope.detach() - 0.1 * gradient).requires_grad_()
print(f"slope {slope.item():.3f}")

# One memory, two libraries.
other = tenon.from_dlpack(inputs)
other.mul_(10)
print(inputs)
