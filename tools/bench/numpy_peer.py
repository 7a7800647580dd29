"""What NumPy, or PyTorch where it is installed and faster, takes for what bench/*.cpp measure: prints
{"samples_ns": {name: [processor time, ...]}}. PEER_BENCHMARKS in the environment names those to run, all by default."""
import json
import os
import statistics
import time

import numpy

try:
    import torch
    torch.set_num_threads(1)
except ImportError:
    torch = None

REPETITIONS = 5
COUNT, ROWS = 1 << 24, 1 << 20


def complex_numbers(*shape):
    random = numpy.random.default_rng(1)
    return (random.random(shape) + 1j * random.random(shape)).astype(numpy.complex64)


def line():
    return numpy.random.default_rng(1).random(COUNT, numpy.float32)


def places(*shape):
    return numpy.random.default_rng(2).integers(0, ROWS, shape)


def top(x):
    """The 100 largest, in order."""
    some = numpy.argpartition(x, COUNT - 100)[COUNT - 100:]
    return some[numpy.argsort(x[some])]


def matrix():
    x = numpy.random.default_rng(1).random((512, 512))
    return x + x.T + numpy.eye(512) * 2048


# name: what makes the arguments, NumPy's call, PyTorch's call of tensors of them
CALLS = {
    "fft_line": (lambda: [complex_numbers(1 << 20)], numpy.fft.fft, lambda x: torch.fft.fft(x)),
    "fft_real_line": (lambda: [complex_numbers(1 << 20).real.copy()], numpy.fft.rfft, lambda x: torch.fft.rfft(x)),
    "fft_image": (lambda: [complex_numbers(1024, 1024)], numpy.fft.fft2, lambda x: torch.fft.fft2(x)),
    "fft_batch": (lambda: [complex_numbers(4096, 256)], numpy.fft.fft, lambda x: torch.fft.fft(x)),
    "sort_line": (lambda: [line()], numpy.sort, lambda x: torch.sort(x)),
    "topk_line": (lambda: [line()], top, lambda x: torch.topk(x, 100)),
    "unique_line": (lambda: [line()], lambda x: numpy.unique(x, return_inverse=True, return_counts=True),
                    lambda x: torch.unique(x, return_inverse=True, return_counts=True)),
    "histc_line": (lambda: [line()], lambda x: numpy.histogram(x, 100, (0, 1)), lambda x: torch.histc(x, 100, 0, 1)),
    "searchsorted_line": (lambda: [numpy.sort(line()[:1 << 16]), line()], numpy.searchsorted,
                          lambda s, x: torch.searchsorted(s, x)),
    "cumsum_line": (lambda: [line()], numpy.cumsum, lambda x: torch.cumsum(x, 0)),
    "nonzero_line": (lambda: [numpy.maximum(line() - 0.5, 0)], numpy.nonzero, lambda x: torch.nonzero(x)),
    "index_select_rows": (lambda: [line().reshape(ROWS, 16), places(ROWS)], lambda x, i: numpy.take(x, i, 0),
                          lambda x, i: torch.index_select(x, 0, i)),
    "gather_rows": (lambda: [line().reshape(ROWS, 16), places(ROWS, 16)],
                    lambda x, i: numpy.take_along_axis(x, i, 0), lambda x, i: torch.gather(x, 0, i)),
    "svd": (lambda: [matrix()], numpy.linalg.svd, lambda a: torch.linalg.svd(a)),
}


def sample(call, arguments):
    start = time.process_time_ns()
    call(*arguments)
    return time.process_time_ns() - start


def samples_of(call, arguments):
    call(*arguments)
    return [sample(call, arguments) for _ in range(REPETITIONS)]


names = os.environ.get("PEER_BENCHMARKS")
samples = {}
for name in names.split(",") if names else CALLS:
    make, of_numpy, of_torch = CALLS[name]
    arguments = make()
    sides = [samples_of(of_numpy, arguments)]
    if torch is not None:
        try:
            sides.append(samples_of(of_torch, [torch.from_numpy(x) for x in arguments]))
        except RuntimeError:  # built without what the call needs
            pass
    samples[name] = min(sides, key=statistics.median)
print(json.dumps({"samples_ns": samples}))
