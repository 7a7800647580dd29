"""What NumPy takes for what bench/*.cpp measure: prints {"samples_ns": {name: [processor time, ...]}}."""
import json
import time

import numpy

REPETITIONS = 5


def complex_numbers(*shape):
    random = numpy.random.default_rng(1)
    return (random.random(shape) + 1j * random.random(shape)).astype(numpy.complex64)


LINE = complex_numbers(1 << 20)
IMAGE = complex_numbers(1024, 1024)
BATCH = complex_numbers(4096, 256)
CALLS = {
    "fft_line": lambda: numpy.fft.fft(LINE),
    "fft_real_line": lambda: numpy.fft.rfft(LINE.real),
    "fft_image": lambda: numpy.fft.fft2(IMAGE),
    "fft_batch": lambda: numpy.fft.fft(BATCH),
}


def sample(call):
    start = time.process_time_ns()
    call()
    return time.process_time_ns() - start


samples = {}
for name, call in CALLS.items():
    call()
    samples[name] = [sample(call) for _ in range(REPETITIONS)]
print(json.dumps({"samples_ns": samples}))
