"""Every op with a namesake in PyTorch that takes tensors alone: values and gradients on random operands.

The ops, and how many tensors each takes, come from schemas: nothing is listed here but what differs on purpose.
"""

import random
import sys
import unittest
import warnings

try:
    import numpy
    import torch
except ImportError:
    sys.exit(77)  # skipped

import tenon

CALLS = 50  # for each op

# Ops that answer otherwise on purpose, or that these operands are not for.
DIFFERENT = {
    "bernoulli": "draws at random",
    "linalg.cond": "of matrices without elements is refused",
    "linalg.det": "PyTorch 1.13 gives zeros as the gradient of a singular matrix; ours are the cofactors",
    "linalg.eigvals": "gives the values in no order",
    "linalg.eigvalsh": "reads the symmetric half, where PyTorch reads the lower triangle",
    "linalg.svdvals": "has no gradient where a value is 0, as of a singular matrix",
    "median": "of no elements is refused",
    "nanmedian": "of no elements is refused",
    "nn.functional.binary_cross_entropy": "the gradient of a target has the clamped logarithms",
    "nn.functional.cross_entropy": "targets are classes or probabilities",
    "nn.functional.dropout": "draws at random",
    "nn.functional.gumbel_softmax": "draws at random",
    "nn.functional.hinge_embedding_loss": "targets are 1 or -1",
    "nn.functional.kl_div": "targets are probabilities",
    "nn.functional.linear": "a weight is a matrix",
    "std": "of one element has no gradient; PyTorch gives inf",
    "take_along_dim": "indices are integers",
    "var": "of one element has no gradient; PyTorch gives inf",
}


def namesake(op):
    """PyTorch's function of that name, or None."""
    for prefix, modules in (("nn.functional.", (torch.nn.functional,)), ("linalg.", (torch.linalg,)),
                            ("fft.", (torch.fft,)), ("special.", (torch.special,)),
                            ("", (torch, torch.nn.functional))):
        if op.name.startswith(prefix):
            name = op.name[len(prefix):]
            found = next((getattr(module, name) for module in modules if callable(getattr(module, name, None))), None)
            return found
    return None


def tensors_of(op):
    """How many tensors the op needs; None where it needs something else."""
    needed = [p for p in op.parameters if "default" not in p and not p["keyword_only"]]
    plain = all(p["kind"] == "Tensor" and not p.get("list") and not p.get("mutates") for p in needed)
    return len(needed) if plain and needed else None


def operands(choose, count):
    """Arrays of one shape, of which some have values far apart, ties or zeros."""
    seed = numpy.random.default_rng(choose.randrange(1 << 30))
    shape = choose.choice(((), (3,), (2, 3), (3, 3), (2, 3, 4), (1, 2, 5, 5), (4, 0)))
    form = choose.randrange(4)
    arrays = []
    for _ in range(count):
        array = seed.normal(size=shape)
        if form == 1:
            array = array * 10
        elif form == 2:
            array = abs(array) % 1
        elif form == 3:
            array = numpy.round(array)
        arrays.append(array.astype("f8"))
    return arrays


def torch_answer(function, arrays, seed):
    """Result and gradients; None where PyTorch refuses the call or its gradient."""
    leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    try:
        result = function(*leaves)
        if not isinstance(result, torch.Tensor):
            return None
        gradients = None
        if result.requires_grad and result.dtype == torch.float64:
            gradients = torch.autograd.grad(result, leaves, torch.tensor(seed, dtype=torch.float64).expand(result.shape).clone(),
                                            allow_unused=True)
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
        return None
    return result.detach().resolve_conj().numpy(), gradients


class Namesakes(unittest.TestCase):
    def test_values_and_gradients_are_those_of_pytorch(self):
        compared = 0
        for op in tenon.ops:
            function, count = namesake(op), tensors_of(op)
            if function is None or count is None or op.name.endswith("_") or op.name in DIFFERENT:
                continue
            choose, calls = random.Random(op.name), 0
            for _ in range(CALLS):
                calls += self.compare(op, function, operands(choose, count), choose.uniform(0.5, 2))
            compared += calls > 0
        self.assertGreater(compared, 120)

    def compare(self, op, function, arrays, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = torch_answer(function, arrays, seed)
        if answer is None:
            return False
        expected, expected_gradients = answer
        with self.subTest(op=op.name, operands=[array.tolist() for array in arrays]):
            leaves = [tenon.tensor(array, requires_grad=True) for array in arrays]
            try:
                result = op(*leaves)
            except NotImplementedError:
                return False
            if not isinstance(result, tenon.Tensor):
                return False
            numpy.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-7, atol=1e-9)
            if expected_gradients is not None:
                self.assertTrue(result.requires_grad, "PyTorch differentiates it")
                given = numpy.full(expected.shape, seed)
                gradients = tenon.gradients(result, leaves, given, allow_unused=True)
                for found, gradient in zip(gradients, expected_gradients):
                    if gradient is None or found is None:
                        continue
                    # A zero of PyTorch's may have no memory for NumPy to read: a sum has.
                    found, gradient = found.numpy(), (gradient + 0).numpy()
                    if found.shape == expected.shape:  # outside of its domain an op has no gradient
                        found, gradient = found[numpy.isfinite(expected)], gradient[numpy.isfinite(expected)]
                    numpy.testing.assert_allclose(found, gradient, rtol=1e-6, atol=1e-9)
        return True


if __name__ == "__main__":
    unittest.main()
