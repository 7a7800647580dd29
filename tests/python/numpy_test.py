"""Arrays as operands, tensors as arrays, and NumPy's functions against the ops that answer for them."""

import gc
import random
import sys
import unittest
import warnings
import weakref

try:
    import numpy
except ImportError:
    sys.exit(77)  # skipped

import tenon

CALLS = 200  # for each function
DTYPES = ("float32", "float64", "int64", "int32", "uint8", "bool")


def strided(array, choose):
    """The elements in other memory: transposed, reversed or with gaps."""
    form = choose.randrange(4)
    if form == 1:
        return numpy.ascontiguousarray(array.T).T
    if form == 2 and array.ndim:
        return numpy.ascontiguousarray(array[::-1])[::-1]
    if form == 3 and array.ndim:
        wide = numpy.zeros(array.shape[:-1] + (2 * array.shape[-1],), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    return array


def operand(choose, shape, dtypes=DTYPES):
    dtype = choose.choice(dtypes)
    seed = numpy.random.default_rng(choose.randrange(1 << 30))
    if dtype.startswith("float"):
        array = seed.normal(size=shape).astype(dtype)
        if array.size and choose.random() < 0.3:
            array.flat[choose.randrange(array.size)] = choose.choice((numpy.nan, numpy.inf, -numpy.inf, 0, -0.0))
    else:
        array = seed.integers(0, 2 if dtype == "bool" else 5, size=shape).astype(dtype)
    return strided(array, choose)


def shape_of(choose, least=0, empty=True):
    return tuple(choose.randrange(0 if empty and choose.random() < 0.1 else 1, 5) for _ in range(choose.randrange(least, 4)))


def broadcast_pair(choose, dtypes):
    shape = shape_of(choose)
    other = tuple(choose.choice((size, 1)) for size in shape)[choose.randrange(len(shape) + 1):]
    dtype = (choose.choice(dtypes),)  # promotion is compared elsewhere
    return (operand(choose, shape, dtype), operand(choose, other, dtype)), {}


FLOATS, NUMBERS, WHOLE = ("float32", "float64"), ("float32", "float64", "int64"), ("int64", "int32", "uint8")


def one(dtypes):
    return lambda choose: ((operand(choose, shape_of(choose), dtypes),), {})


def two(dtypes):
    return lambda choose: broadcast_pair(choose, dtypes)


def reduced(dtypes, empty=True, axes=True):
    def make(choose):
        shape = shape_of(choose, 1, empty)
        keywords = {"axis": choose.randrange(-len(shape), len(shape))} if axes or choose.random() < 0.7 else {}
        if axes is None:
            if not keywords and choose.random() < 0.5:
                keywords["axis"] = None
        elif choose.random() < 0.5:
            keywords["keepdims"] = True
        return (operand(choose, shape, dtypes),), keywords
    return make


def of_lists(new_axis):
    def make(choose):
        shape = shape_of(choose, 1)
        count, dtype = choose.randrange(1, 4), (choose.choice(NUMBERS),)
        axis = choose.randrange(-len(shape), len(shape))
        if not new_axis and choose.random() < 0.3:
            axis = None  # joins the flattened operands
        return ([operand(choose, shape, dtype) for _ in range(count)],), {"axis": axis}
    return make


def with_axis(choose):
    shape = shape_of(choose, 1)
    return (operand(choose, shape), choose.randrange(len(shape))), {}


def squeezed(choose):
    shape = shape_of(choose, 1)
    axis = choose.randrange(len(shape))
    return (operand(choose, shape[:axis] + (1,) + shape[axis + 1:]),), {"axis": axis}


def products(choose):
    n, k, m = (choose.randrange(1, 6) for _ in range(3))
    batch = shape_of(choose, empty=False)[:2]
    dtype = (choose.choice(FLOATS),)
    return (operand(choose, batch + (n, k), dtype), operand(choose, (k, m), dtype)), {}


def vectors(choose):
    dtype = (choose.choice(FLOATS),)
    return (operand(choose, (choose.randrange(1, 5),), dtype), operand(choose, (choose.randrange(1, 5),), dtype)), {}


def moved(choose):
    shape = shape_of(choose, 2)
    shape = shape if len(shape) > 1 else (2, 3)
    return (operand(choose, shape), choose.randrange(len(shape)), choose.randrange(len(shape))), {}


def reshaped(choose):
    shape = shape_of(choose, 1, empty=False)
    return (operand(choose, shape), (-1, shape[0])), {}


def spread(choose):
    shape = shape_of(choose, empty=False)
    return (operand(choose, tuple(choose.choice((1, size)) for size in shape)), (2,) + shape), {}


def chosen(choose):
    shape = shape_of(choose)
    dtype = (choose.choice(NUMBERS),)
    return (operand(choose, shape, ("bool",)), operand(choose, shape, dtype), operand(choose, shape, dtype)), {}


def triangle(choose):
    return (operand(choose, (choose.randrange(1, 5), choose.randrange(1, 5)), NUMBERS),), {"k": choose.randrange(-3, 4)}


def clipped(choose):
    return (operand(choose, shape_of(choose, 1), FLOATS), -0.5, 0.75), {}


def summed(choose):
    n, k, m = (choose.randrange(1, 5) for _ in range(3))
    dtype = (choose.choice(FLOATS),)
    return ("ij,jk->ki", operand(choose, (n, k), dtype), operand(choose, (k, m), dtype)), {}


def finite(choose, shape):
    return strided(numpy.random.default_rng(choose.randrange(1 << 30)).standard_normal(shape), choose)


def matrices(choose):
    """Symmetric ones, which have an inverse."""
    n, batch = choose.randrange(1, 5), shape_of(choose, empty=False)[:2]
    half = finite(choose, batch + (n, n))
    return half @ half.swapaxes(-1, -2) + 4 * numpy.eye(n)


def solved(choose):
    matrix = matrices(choose)
    return (matrix, finite(choose, matrix.shape[:-1] + (choose.randrange(1, 4),))), {}


def with_ends(choose):
    matrix = operand(choose, (choose.randrange(1, 5), choose.randrange(1, 5)) + shape_of(choose)[:1], ("float64",))
    return (matrix, choose.randrange(-2, 3)) if choose.random() < 0.7 else (matrix,), {}


def transformed(choose, least=1):
    shape = tuple(choose.randrange(least, 6) for _ in range(choose.randrange(2, 4)))
    keywords = {"axis": choose.randrange(-len(shape), len(shape))} if choose.random() < 0.7 else {}
    if choose.random() < 0.5:
        keywords["n"] = choose.randrange(least, 8)
    if choose.random() < 0.5:
        keywords["norm"] = choose.choice(("backward", "ortho", "forward"))
    return (finite(choose, shape),), keywords


def transformed_axes(choose):
    shape = tuple(choose.randrange(2, 6) for _ in range(choose.randrange(2, 4)))
    keywords = {"axes": tuple(choose.sample(range(len(shape)), 2))} if choose.random() < 0.7 else {}
    if keywords and choose.random() < 0.5:
        keywords["s"] = (choose.randrange(2, 7), choose.randrange(2, 7))
    return (finite(choose, shape),), keywords


def shifted(choose):
    shape = shape_of(choose, 1)
    keywords = {"axes": (choose.randrange(len(shape)),)} if choose.random() < 0.7 else {}
    return (operand(choose, shape, ("float64",)),), keywords


def turned(choose):
    shape = (2, 3, 4)
    return (operand(choose, shape, NUMBERS), choose.randrange(-5, 6)), {"axes": tuple(choose.sample(range(3), 2))}


def differences(choose):
    shape = shape_of(choose, 1, empty=False)
    return (operand(choose, shape, ("float64", "int64")), choose.randrange(1, 3)), \
        {"axis": choose.randrange(-len(shape), len(shape))}


# How each function is called; those that are not named take one operand with a floating dtype.
CALLED = {
    **dict.fromkeys(("add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "less", "less_equal",
                     "greater", "greater_equal"), two(NUMBERS)),
    **dict.fromkeys(("true_divide", "divide", "power", "arctan2", "hypot", "logaddexp", "fmax", "fmin", "copysign",
                     "nextafter", "floor_divide", "remainder", "fmod"), two(FLOATS)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), two(("bool",))),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), two(WHOLE)),
    "logical_not": one(("bool",)), "invert": one(WHOLE), "square": one(NUMBERS), "negative": one(NUMBERS),
    "absolute": one(NUMBERS), "sum": reduced(("float64", "int64"), axes=False),
    "prod": reduced(("float64", "int64"), axes=False), "mean": reduced(("float64",), empty=False, axes=False),
    **dict.fromkeys(("amax", "amin", "max", "min"), reduced(NUMBERS, empty=False)),
    **dict.fromkeys(("all", "any"), reduced(("bool", "int64"))),
    **dict.fromkeys(("argmax", "argmin"), reduced(("int64",), empty=False)),
    **dict.fromkeys(("cumsum", "cumprod"), reduced(("float64", "int64"), axes=None)),
    "concatenate": of_lists(False), "stack": of_lists(True), "squeeze": squeezed, "expand_dims": with_axis,
    "reshape": reshaped, "broadcast_to": spread, "moveaxis": moved, "swapaxes": moved, "flip": with_axis,
    "tril": triangle, "triu": triangle, "clip": clipped, "kron": vectors, "outer": vectors, "matmul": products,
    "where": chosen, "einsum": summed, "trace": lambda choose: ((operand(choose, (3, 4), ("float64", "int64")),), {}),
    "diagonal": with_ends, "diff": differences, "rot90": turned, "isin": two(("int64",)),
    "count_nonzero": reduced(NUMBERS), "nansum": reduced(("float64",), axes=False),
    "nanmean": reduced(("float64",), empty=False, axes=False),
    **dict.fromkeys(("linalg.inv", "linalg.det", "linalg.cholesky", "linalg.eigvalsh"),
                    lambda choose: ((matrices(choose),), {})),
    "linalg.solve": solved, "linalg.matrix_power": lambda choose: ((matrices(choose), choose.randrange(-2, 4)), {}),
    **dict.fromkeys(("fft.fft", "fft.ifft", "fft.rfft"), transformed),
    "fft.irfft": lambda choose: transformed(choose, 2),
    **dict.fromkeys((f"fft.{name}" for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")),
                    transformed_axes),
    "fft.fftshift": shifted, "fft.ifftshift": shifted}


def function_of(name):
    place = numpy
    for part in name.split("."):
        place = getattr(place, part)
    return place


def as_tensors(value):
    if isinstance(value, list):
        return [as_tensors(item) for item in value]
    return tenon.ops.clone(value) if isinstance(value, numpy.ndarray) else value


class Functions(unittest.TestCase):
    def test_functions_of_numpy_compute_what_numpy_computes(self):
        for name in sorted(tenon._NUMPY):
            function, make = function_of(name), CALLED.get(name, one(FLOATS))
            choose = random.Random(name)
            for call in range(CALLS):
                arguments, keywords = make(choose)
                with warnings.catch_warnings(), self.subTest(function=name, call=call):
                    warnings.simplefilter("ignore")
                    expected = function(*arguments, **keywords)
                    found = function(*map(as_tensors, arguments), **keywords)
                    self.assertIsInstance(found, tenon.Tensor)
                    self.assertEqual(found.shape, numpy.shape(expected))
                    self.assertEqual(found.dtype, expected.dtype.name)
                    near = 32 * numpy.finfo(expected.dtype).eps if expected.dtype.kind in "fc" else 0
                    # Sums of products are near relative to the largest.
                    largest = max(1, numpy.max(abs(expected), initial=0)) if "." in name else 1
                    numpy.testing.assert_allclose(found.numpy(), expected, rtol=near, atol=near * largest)

    def test_a_function_that_means_something_else_is_refused(self):
        for function in (numpy.std, numpy.sort, numpy.sign):
            with self.assertRaisesRegex(TypeError, "no implementation|NotImplemented"):
                function(tenon.tensor([1.0]))


class Arrays(unittest.TestCase):
    def test_arrays_of_every_stride_are_operands_without_a_copy(self):
        choose = random.Random(1)
        for call in range(CALLS):
            array = operand(choose, shape_of(choose))
            tensor = tenon._as_tensor(array)
            with self.subTest(call=call):
                self.assertEqual(tensor.shape, array.shape)
                numpy.testing.assert_array_equal(tensor.numpy(), array)
                self.assertTrue(array.size == 0 or numpy.shares_memory(tensor.numpy(), array))

    def test_what_the_host_cannot_read_as_it_is_becomes_a_copy(self):
        fixed = numpy.arange(3.0)
        fixed.flags.writeable = False
        for array in (fixed, numpy.arange(3.0).astype(">f8"), numpy.frombuffer(b"\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", "i8")):
            tensor = tenon._as_tensor(array)
            tenon.ops.add_(tensor, 1)
            numpy.testing.assert_array_equal(tensor.numpy(), array + 1)

    def test_an_array_lives_as_long_as_a_graph_that_saved_it(self):
        array = numpy.ones(3, "f4")
        gone = weakref.ref(array)
        x = tenon.tensor(2.0, requires_grad=True)
        y = (x * array).sum()
        del array
        gc.collect()
        self.assertIsNotNone(gone())
        y.backward()
        self.assertEqual(x.grad.item(), 3)
        del y
        gc.collect()
        self.assertIsNone(gone())

    def test_a_tensor_lives_as_long_as_its_array(self):
        array = tenon.tensor([1.0, 2.0]).numpy()
        gc.collect()
        numpy.testing.assert_array_equal(array, [1, 2])

    def test_scalars_of_numpy_are_numbers(self):
        x = tenon.tensor([1.0])
        self.assertEqual((x + numpy.float64(2)).dtype, "float32")
        self.assertEqual(tenon.ops.sum(x, dim=numpy.int64(0)).item(), 1)
        self.assertEqual(tenon.tensor(numpy.int8(3)).dtype, "int8")

    def test_elements_without_a_dtype_of_tensors_are_refused(self):
        for array in (numpy.array(["a"]), numpy.array([None]), numpy.zeros(1, "longdouble"), numpy.zeros(1, "i4,f4")):
            with self.assertRaisesRegex(TypeError, "not a dtype of tensors"):
                tenon.ops.neg(array)
        with self.assertRaisesRegex(BufferError, "NumPy has no bfloat16"):
            tenon.tensor([1.0], dtype="bfloat16").numpy()

    def test_dlpack_goes_both_ways(self):
        array = numpy.arange(6.0).reshape(2, 3)
        tensor = tenon.from_dlpack(array)
        self.assertTrue(numpy.shares_memory(numpy.from_dlpack(tensor), array))


if __name__ == "__main__":
    unittest.main()
