"""What PyTorch takes for what bench/convolution.cpp and bench/transforms.cpp measure: prints {"samples_ns": {name: [processor time, ...]}}.
Debian's python3-torch, by the interpreter that has it."""
import json
import time

import torch

REPETITIONS = 5
SECONDS = 0.15  # time of a sample

torch.set_num_threads(1)
torch.manual_seed(0)


def convolution(batch, channels, side, features, kernel, padding, groups=1, training=False):
    x = torch.rand(batch, channels, side, side, requires_grad=training)
    layer = torch.nn.Conv2d(channels, features, kernel, padding=padding, groups=groups)
    seed = torch.rand_like(layer(x))

    def forward():
        with torch.no_grad():
            layer(x)

    def step():
        layer(x).backward(seed)
        x.grad = layer.weight.grad = layer.bias.grad = None

    return step if training else forward


TRAINED = {
    "c1_28": (64, 1, 28, 16, 3, 0),
    "c16_14": (64, 16, 14, 32, 3, 0),
    "c64_56": (8, 64, 56, 64, 3, 1),
    "c256_14": (8, 256, 14, 256, 3, 1),
    "c256_28_1x1": (8, 256, 28, 64, 1, 0),
}
INFERRED = {
    "one_64_56": (1, 64, 56, 64, 3, 1),
    "one_256_56_1x1": (1, 256, 56, 64, 1, 0),
    "depthwise_128_56": (1, 128, 56, 128, 3, 1, 128),
    "c16_13": (64, 16, 13, 32, 3, 0),
}
CALLS = {f"convolution_training/{name}": convolution(*sizes, training=True) for name, sizes in TRAINED.items()}
CALLS.update({f"convolution/{name}": convolution(*sizes) for name, sizes in INFERRED.items()})


def jacobian():
    from functorch import jacrev

    first, second = torch.rand(256, 256) * 0.2 - 0.1, torch.rand(256, 256) * 0.2 - 0.1
    x = torch.rand(256)
    return lambda: jacrev(lambda y: torch.tanh(torch.tanh(y @ first) @ second))(x)


def second_derivatives():
    from functorch import hessian

    weight, x = torch.rand(64, 64) * 0.4 - 0.2, torch.rand(64)
    return lambda: hessian(lambda y: (torch.tanh(y @ weight) * y).sum())(x)


def sample_gradients():
    from functorch import grad, vmap

    weights = [torch.rand(128, 64), torch.rand(128), torch.rand(10, 128), torch.rand(10)]
    samples, targets = torch.rand(256, 64), torch.randint(0, 10, (256,))

    def loss(w, b, v, c, x, t):
        hidden = torch.tanh(torch.nn.functional.linear(x, w, b))
        return torch.nn.functional.cross_entropy(torch.nn.functional.linear(hidden, v, c), t)

    gradients = vmap(grad(loss, argnums=(0, 1, 2, 3)), in_dims=(None, None, None, None, 0, 0))
    return lambda: gradients(*weights, samples, targets)


try:
    CALLS.update({"sample_gradients": sample_gradients()})
    CALLS.update({"transforms_jacrev": jacobian(), "transforms_hessian": second_derivatives()})
except ImportError:
    pass  # PyTorch without functorch


def sample(call):
    """Of one call, as the mean of as many as fill the time."""
    count, start = 0, time.process_time_ns()
    while True:
        call()
        count += 1
        taken = time.process_time_ns() - start
        if taken > SECONDS * 1e9:
            return taken / count


for call in CALLS.values():
    call()
samples = {name: [] for name in CALLS}
for _ in range(REPETITIONS):
    for name, call in CALLS.items():
        samples[name].append(sample(call))
print(json.dumps({"samples_ns": samples}))
