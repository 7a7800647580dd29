"""Tests of tenon.py: arrays in and out, calls, errors, gradients, and NumPy's functions as an oracle."""
import gc
import random
import unittest
import warnings

import numpy

import tenon

DTYPES = ["bool", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "u2", "u4", "u8", "c8", "c16"]


def address(array):
    return array.__array_interface__["data"][0]


def random_array(dtype, shape=None):
    """An array with any strides; numbers near 1, so that every function of them is finite often."""
    shape = [random.randint(0, 4) for _ in range(random.randint(0, 3))] if shape is None else shape
    array = numpy.random.default_rng(random.getrandbits(32)).uniform(-2, 2, shape).astype(dtype)
    if array.ndim > 1 and random.random() < 0.3:
        array = numpy.ascontiguousarray(array.T).T
    if array.ndim > 0 and random.random() < 0.2:
        array = array[::-1]
    return array


class Arrays(unittest.TestCase):
    def test_every_dtype_goes_in_and_comes_out(self):
        for dtype in DTYPES:
            with self.subTest(dtype):
                array = numpy.arange(6).reshape(2, 3).astype(dtype)
                tensor = tenon.Tensor(array)
                self.assertEqual((tensor.shape, tensor.dtype), ((2, 3), array.dtype))
                numpy.testing.assert_array_equal(tensor.numpy(), array)
                self.assertEqual(tensor.numpy().dtype, array.dtype)

    def test_memory_is_shared_in_both_directions(self):
        array = numpy.arange(6.0).reshape(2, 3)
        tensor = tenon.Tensor(array.T)
        self.assertEqual(address(numpy.from_dlpack(tensor)), address(array))
        tenon.ops.mul_(tensor, 2)
        numpy.testing.assert_array_equal(array, numpy.arange(6.0).reshape(2, 3) * 2)

    def test_memory_outlives_the_other_side(self):
        tensor = tenon.Tensor(numpy.arange(1000.0))
        gc.collect()
        self.assertEqual(tensor.sum().item(), 499500)
        array = tensor.numpy()
        del tensor
        gc.collect()
        self.assertEqual(array.sum(), 499500)

    def test_arrays_that_dlpack_refuses_are_copied(self):
        frozen = numpy.arange(4.0)
        frozen.flags.writeable = False
        for array in (frozen, numpy.arange(4.0)[::-1], numpy.arange(4, dtype=">i4")):
            numpy.testing.assert_array_equal(tenon.Tensor(array).numpy(), array)

    def test_a_capsule_is_taken_once_and_released_where_none_takes_it(self):
        tensor = tenon.Tensor(numpy.arange(3.0))

        class Twice:
            capsule = tensor.__dlpack__(max_version=(1, 3))

            def __dlpack__(self, **keywords):
                return self.capsule

            def __dlpack_device__(self):
                return 1, 0

        taken = tenon.from_dlpack(Twice())
        self.assertEqual(taken.shape, (3,))
        with self.assertRaisesRegex(ValueError, "taken before"):
            tenon.from_dlpack(Twice())
        for _ in range(100):
            tensor.__dlpack__()

    def test_devices_and_objects_are_refused(self):
        class Elsewhere:
            def __dlpack__(self):
                raise AssertionError("asked for memory of a device")

            def __dlpack_device__(self):
                return 2, 0

        with self.assertRaisesRegex(ValueError, "is not in memory of the CPU"):
            tenon.from_dlpack(Elsewhere())
        with self.assertRaises(TypeError):
            tenon.Tensor(numpy.array([object()]))


class Calls(unittest.TestCase):
    def test_arguments_are_bound_by_the_schema(self):
        array = numpy.arange(6.0).reshape(2, 3)
        numpy.testing.assert_array_equal(tenon.ops.add(array, other=array, alpha=2).numpy(), 3 * array)
        numpy.testing.assert_array_equal(tenon.ops.cat([array, array], dim=1).numpy(), numpy.hstack([array, array]))
        self.assertEqual(tenon.ops.to(array, numpy.float32).dtype, numpy.float32)

    def test_errors_have_pythons_types(self):
        for error, call in ((TypeError, lambda: tenon.ops.add(numpy.ones(2))),
                            (TypeError, lambda: tenon.ops.add(numpy.ones(2), 1, bad=1)),
                            (ValueError, lambda: tenon.ops.add(numpy.ones(2), numpy.ones(3))),
                            (IndexError, lambda: tenon.ops.sum(numpy.ones(2), dim=5)),
                            (AttributeError, lambda: tenon.ops.no_such_op)):
            with self.assertRaises(error):
                call()

    def test_ops_are_listed_with_their_schemas(self):
        self.assertIn("add", dir(tenon.ops))
        docs = {op.__name__: op.__doc__ for op in tenon.ops}
        self.assertTrue(docs["exp"].startswith("exp("))
        self.assertTrue(any(name.startswith("nn.functional.") for name in docs))

    def test_gradients(self):
        x = tenon.Tensor(numpy.array([1.0, 2.0, 3.0]), requires_grad=True)
        (x * x * x).sum().backward()
        numpy.testing.assert_array_equal(numpy.from_dlpack(x.grad), [3, 12, 27])
        y = tenon.ops.exp(x)
        y.backward(numpy.ones(3))
        numpy.testing.assert_allclose(x.grad.numpy(), [3, 12, 27] + numpy.exp([1, 2, 3]))
        with self.assertRaises(ValueError):
            x.__dlpack__()


class NumpyFunctions(unittest.TestCase):
    def test_functions_of_numpy_run_the_ops(self):
        x = tenon.Tensor(numpy.arange(6.0).reshape(2, 3))
        self.assertIsInstance(numpy.sin(x), tenon.Tensor)
        numpy.testing.assert_array_equal(numpy.sum(x, axis=1).numpy(), [3, 12])
        self.assertEqual(numpy.concatenate([x, x]).shape, (4, 3))
        self.assertIsInstance(numpy.ones(3) + x, tenon.Tensor)

    def test_every_function_of_numpy_that_is_an_op_agrees(self):
        random.seed(1)
        known = set(dir(tenon.ops))
        compared = 0
        for name, function in sorted(vars(numpy).items()):
            op = tenon._NUMPY_NAMES.get(name, name)
            if not isinstance(function, numpy.ufunc) or op not in known or function.nout != 1:
                continue
            with self.subTest(name):
                compared += self.compare(function, getattr(tenon.ops, op))
        self.assertGreater(compared, 40)

    def compare(self, function, op):
        """200 calls on random arrays; whether there were any that both take."""
        calls = 0
        for i in range(200):
            dtype = ("f8", "f4", "i4", "bool")[i % 4]
            shape = [random.randint(0, 4) for _ in range(random.randint(0, 3))]
            arrays = [random_array(dtype, shape) for _ in range(function.nin)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found = op(*arrays).numpy()
                    expected = function(*arrays)
                except (TypeError, ValueError, RuntimeError):
                    continue  # one of them has no such dtype
                self.assertEqual(found.shape, expected.shape)
                if found.dtype.kind == expected.dtype.kind == "f":
                    tolerance = 1e-10 if dtype == "f8" else 1e-3 if expected.dtype == numpy.float16 else 1e-5
                    numpy.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
                    calls += 1
                elif found.dtype.kind == expected.dtype.kind and dtype != "i4":
                    numpy.testing.assert_array_equal(found, expected)
                    calls += 1
        return calls > 0


if __name__ == "__main__":
    unittest.main()
