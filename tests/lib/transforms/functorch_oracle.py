"""Values of random compositions of transforms by functorch. Reads lines "base;transforms;numbers" as
composition_test.cpp writes them, and prints the elements of each result, one line for each."""

import sys

import torch
from functorch import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

torch.set_default_dtype(torch.float64)
V = torch.tensor([0.5, -1.0, 0.25])
M = torch.tensor([[0.2, -0.3, 0.1], [0.4, 0.1, -0.2], [-0.1, 0.3, 0.5]])

BASE = [
    torch.sin,
    torch.tanh,
    lambda x: torch.exp(x * 0.3),
    lambda x: x * x,
    lambda x: x @ M,
    lambda x: x * x.sum(),
    lambda x: x / (x * x + 1),
    lambda x: torch.sigmoid(x),
]


W = torch.tensor([1.0, 0.5, -0.25])


def samples_of(x):
    return torch.stack([x, x * V, V - x])


def pull(f):
    def result(x):
        value, back = vjp(f, x)
        return back(value)[0]

    return result


TRANSFORMS = [
    lambda f: lambda x: grad(lambda y: f(y).sum())(x),
    lambda f: lambda x: jvp(f, (x,), (V,))[1],
    pull,
    lambda f: lambda x: (jacrev(f)(x) * V).sum(-1),
    lambda f: lambda x: (jacfwd(f)(x) * V).sum(-1),
    lambda f: lambda x: (hessian(lambda y: f(y).sum())(x) * V).sum(-1),
    lambda f: lambda x: jvp(grad(lambda y: f(y).sum()), (x,), (V,))[1],
    lambda f: lambda x: jvp(f, (x,), (V,))[1],  # linearize
    lambda f: f,  # checkpoint
    lambda f: lambda x: x * grad(lambda y: (f(y) * x).sum())(x),
    lambda f: lambda x: x * jvp(lambda y: f(y) * x, (x,), (V,))[1],
    lambda f: lambda x: W @ vmap(f)(samples_of(x)),
    lambda f: lambda x: W @ vmap(lambda w: grad(lambda y: (f(y) * w).sum())(x))(samples_of(x)),
]


def compose(base, transforms):
    def f(x):
        for index in base:
            x = BASE[index](x)
        return x

    for index in transforms:
        f = TRANSFORMS[index](f)
    return f


for line in sys.stdin:
    base, transforms, numbers = line.strip().split(";")
    ints = lambda text: [int(word) for word in text.split(",")]
    x = torch.tensor([float(word) for word in numbers.split(",")])
    result = compose(ints(base), ints(transforms))(x)
    print(" ".join(repr(float(value)) for value in result.detach()))
