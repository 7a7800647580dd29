"""Tensors, calls, errors, gradients and shared memory of the module tenon, without NumPy."""

import ctypes
import gc
import inspect
import threading
import unittest

import tenon


class Calls(unittest.TestCase):
    def test_arguments_go_by_position_and_by_name(self):
        x = tenon.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(tenon.ops.sum(x, 1).tolist(), [3, 7])
        self.assertEqual(tenon.ops.sum(x, dim=[0]).tolist(), [4, 6])
        self.assertEqual(x.sum(dim=1, keepdim=True).tolist(), [[3], [7]])

    def test_a_wrong_call_raises_what_python_raises(self):
        with self.assertRaisesRegex(TypeError, "missing 1 required positional argument: 'other'") as caught:
            tenon.ops.add(tenon.tensor(1.0))
        self.assertIsInstance(caught.exception, tenon.Error)
        self.assertEqual(caught.exception.op, "add")
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'axis'"):
            tenon.ops.sum(tenon.tensor(1.0), axis=0)
        with self.assertRaisesRegex(ValueError, "cannot be broadcast") as caught:
            tenon.ops.add(tenon.tensor([1.0, 2.0]), tenon.tensor([1.0, 2.0, 3.0]))
        self.assertEqual(caught.exception.provider, "math")
        with self.assertRaises(IndexError):
            tenon.tensor([1.0])[1]

    def test_an_op_that_is_not_there_is_an_attribute_error_that_says_where_it_was_looked_for(self):
        with self.assertRaisesRegex(AttributeError, "no op is named 'nonesuch'"):
            tenon.ops.nonesuch
        with self.assertRaisesRegex(AttributeError, "'nonesuch'"):
            tenon.tensor(1.0).nonesuch

    def test_what_cannot_be_an_argument_is_refused_by_its_type(self):
        with self.assertRaisesRegex(TypeError, "a object is not an argument"):
            tenon.ops.neg(object())
        with self.assertRaisesRegex(TypeError, "a list of float, str is not an argument"):
            tenon.ops.sum(tenon.tensor(1.0), dim=[1.5, "x"])
        with self.assertRaisesRegex(TypeError, "'float33' is not a dtype"):
            tenon.ops.zeros([2], dtype="float33")

    def test_integers_beyond_64_bits_are_refused(self):
        for number in (2**63, -2**63 - 1):
            with self.assertRaisesRegex(ValueError, f"{number} is outside of int64"):
                tenon.ops.add(tenon.tensor([1]), number)
            with self.assertRaisesRegex(ValueError, f"{number} is outside of int64"):
                tenon.tensor([1.0]).reshape([number])
        self.assertEqual((tenon.tensor([0]) + (2**63 - 1)).tolist(), [2**63 - 1])

    def test_results_are_a_tuple_where_the_schema_has_several(self):
        values, indices = tenon.ops.sort(tenon.tensor([3.0, 1.0, 2.0]))
        self.assertEqual((values.tolist(), indices.tolist()), ([1, 2, 3], [1, 2, 0]))

    def test_namespaces_are_followed_by_their_names(self):
        linear = tenon.ops.nn.functional.linear
        self.assertEqual(linear.name, "nn.functional.linear")
        self.assertIn("functional", dir(tenon.ops.nn))

    def test_every_op_has_a_text_and_a_signature(self):
        listed = list(tenon.ops)
        self.assertGreater(len(listed), 300)
        for op in listed:
            with self.subTest(op=op.name):
                self.assertTrue(op.__doc__.startswith(op.__name__ + "("))
                self.assertEqual([*inspect.signature(op).parameters], [p["name"] for p in op.parameters])


class Tensors(unittest.TestCase):
    def test_nested_lists_become_tensors_of_the_dtype_of_their_elements(self):
        for data, dtype in (([True, False], "bool"), ([[1], [2]], "int64"), ([1, 2.5], "float32"), (1 + 2j, "complex64"),
                            ([], "float32")):
            made = tenon.tensor(data)
            self.assertEqual((made.tolist(), made.dtype), (data, dtype))
        self.assertEqual(tenon.tensor([1, 2], dtype="uint8").dtype, "uint8")

    def test_lists_that_are_no_box_are_refused(self):
        with self.assertRaisesRegex(ValueError, "have 2 and 1 elements in dimension 1"):
            tenon.tensor([[1, 2], [3]])
        with self.assertRaisesRegex(ValueError, "different depths"):
            tenon.tensor([1, [2]])
        with self.assertRaisesRegex(TypeError, "found str"):
            tenon.tensor(["1"])
        with self.assertRaisesRegex(ValueError, "outside of int64"):
            tenon.tensor(2**63)

    def test_operators_are_ops(self):
        x = tenon.tensor([1.0, 2.0])
        self.assertEqual((2 ** x - x * x + 1 / x).tolist(), [2.0, 0.5])
        self.assertEqual((x > 1).tolist(), [False, True])
        self.assertEqual((-x).abs().tolist(), [1, 2])
        x += 1
        self.assertEqual(x.tolist(), [2, 3])
        with self.assertRaises(TypeError):
            x + "1"

    def test_a_number_does_not_change_the_dtype_of_its_kind(self):
        self.assertEqual((1 - tenon.tensor([1.0], dtype="float64")).dtype, "float64")
        self.assertEqual((1.5 - tenon.tensor([1])).dtype, "float32")
        self.assertEqual((1 - tenon.tensor([1], dtype="uint8")).dtype, "uint8")

    def test_indices_are_those_of_a_nested_list(self):
        data = [[[k + 4 * j + 12 * i for k in range(4)] for j in range(3)] for i in range(2)]
        x = tenon.tensor(data)
        self.assertEqual(x[1].tolist(), data[1])
        self.assertEqual(x[-1, ..., 2].tolist(), [row[2] for row in data[-1]])
        self.assertEqual(x[:, 1:, ::-2].tolist(), [[row[::-2] for row in plane[1:]] for plane in data])
        self.assertEqual(x[:, None, 0].shape, (2, 1, 4))
        self.assertEqual(x[0, [2, -3]].tolist(), [data[0][2], data[0][0]])
        self.assertEqual(x[x > 20].tolist(), [21, 22, 23])
        self.assertEqual(x[:, 3:1].shape, (2, 0, 4))
        self.assertEqual([plane.tolist() for plane in x], data)
        for index in ((0, 0, 0, 0), "a", [[0]]):
            with self.assertRaises((IndexError, TypeError)):
                x[index]

    def test_an_index_that_would_be_ignored_or_cut_is_refused(self):
        x = tenon.tensor([[1.0, 2.0], [3.0, 4.0]])
        for index, fault in (((x > 1, 0), "no index follows"), ((x > 1, None), "no index follows"),
                             ([0.9], "found float32"), (([0, 1], [0, 1]), "2 lists or tensors of indices")):
            with self.assertRaisesRegex(IndexError, fault):
                x[index]
        self.assertEqual(x[x > 1, ...].tolist(), [2, 3, 4])
        self.assertEqual(x[0, x[0] > 1].tolist(), [2])
        self.assertEqual(x[[]].shape, (0, 2))

    def test_tensors_are_released(self):
        before = len(tenon._owners)
        for _ in range(100):
            tenon.ops.neg(tenon.tensor([1.0] * 1000))
        gc.collect()
        self.assertEqual(len(tenon._owners), before)


class Gradients(unittest.TestCase):
    def test_backward_adds_to_the_leaves(self):
        x = tenon.tensor([1.0, 2.0], requires_grad=True)
        (x ** 3).sum().backward()
        x.sum().backward()
        self.assertEqual(x.grad.tolist(), [4, 13])
        x.grad = None
        self.assertIsNone(x.grad)

    def test_gradients_can_be_differentiated_again(self):
        x = tenon.tensor(2.0, requires_grad=True)
        (first,) = tenon.gradients(x ** 3, x, create_graph=True)
        (second,) = tenon.gradients(first, x)
        self.assertEqual((first.item(), second.item()), (12, 12))

    def test_nothing_is_recorded_in_no_grad(self):
        x = tenon.tensor(2.0, requires_grad=True)
        with tenon.no_grad():
            self.assertFalse((x * 2).requires_grad)
            with tenon.enable_grad():
                self.assertTrue((x * 2).requires_grad)
        self.assertTrue((x * 2).requires_grad)

    def test_a_graph_that_was_used_up_says_so(self):
        x = tenon.tensor(2.0, requires_grad=True)
        y = x * x
        y.backward()
        with self.assertRaises(RuntimeError) as caught:
            y.backward()
        self.assertEqual(type(caught.exception).__name__, "GraphError")

    def test_threads_record_on_their_own(self):
        def descend(results, i):
            x = tenon.tensor(float(i), requires_grad=True)
            for _ in range(50):
                x.grad = None
                (x * x).backward()
                x = (x.detach() - 0.1 * x.grad).requires_grad_()
            results[i] = x.item()

        results = [None] * 8
        threads = [threading.Thread(target=descend, args=(results, i)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i, result in enumerate(results):
            self.assertAlmostEqual(result, i * 0.8 ** 50, places=5)


class DLTensor(ctypes.Structure):
    """The struct of DLPack, to change what a producer says."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


def struct_of(capsule):
    return DLTensor.from_address(tenon._capsule_get(capsule, b"dltensor"))


class DLPack(unittest.TestCase):
    def test_both_structs_share_memory(self):
        for version in (None, (1, 0)):
            x = tenon.tensor([[1.0, 2.0], [3.0, 4.0]])
            y = tenon.from_dlpack(x.T.__dlpack__(max_version=version))
            self.assertEqual(y.tolist(), [[1, 3], [2, 4]])
            y.mul_(2)
            self.assertEqual(x.tolist(), [[2, 4], [6, 8]])

    def test_a_capsule_is_taken_once(self):
        capsule = tenon.tensor([1.0]).__dlpack__()
        tenon.from_dlpack(capsule)
        with self.assertRaisesRegex(ValueError, "consumed once"):
            tenon.from_dlpack(capsule)
        with self.assertRaisesRegex(TypeError, "with __dlpack__ or a DLPack capsule, got object"):
            tenon.from_dlpack(object())

    def test_eight_bit_numbers_are_kept_and_converted(self):
        narrow = tenon.ops.to(tenon.tensor([1.0, 500.0]), "f8_e4m3")
        self.assertEqual(narrow.dtype, "float8_e4m3fn")
        again = tenon.from_dlpack(narrow.__dlpack__(max_version=(1, 3)))
        self.assertEqual((again.dtype, tenon.ops.to(again, "float32").tolist()), ("float8_e4m3fn", [1, 448]))

    def test_memory_lives_as_long_as_the_last_user_and_no_longer(self):
        memory = (ctypes.c_float * 1)(5)
        before = len(tenon._owners)
        taken = tenon.from_dlpack(tenon._wrapped(7, [1], [1], ctypes.addressof(memory), memory))
        gc.collect()
        self.assertEqual((taken.tolist(), len(tenon._owners)), ([5], before + 1))
        capsule = taken.__dlpack__()
        del taken
        gc.collect()
        self.assertEqual(len(tenon._owners), before + 1)
        del capsule  # which no consumer has taken
        gc.collect()
        self.assertEqual(len(tenon._owners), before)

    def test_copies_do_not_share(self):
        x = tenon.tensor([1.0])
        y = tenon.from_dlpack(x.__dlpack__(max_version=(1, 0), copy=True))
        y.mul_(3)
        self.assertEqual(x.item(), 1)

    def test_tensors_that_cannot_be_shared_say_why(self):
        x = tenon.tensor([1.0], requires_grad=True)
        with self.assertRaisesRegex(BufferError, "detach"):
            x.__dlpack__()
        self.assertEqual(tenon.from_dlpack(x.detach()).tolist(), [1])
        with self.assertRaisesRegex(BufferError, "processor's memory"):
            tenon.tensor([1.0]).__dlpack__(dl_device=(2, 0))

    def test_offsets_empty_shapes_and_missing_strides_are_read(self):
        capsule = tenon.tensor([0.0, 1.0, 2.0, 3.0]).__dlpack__()
        given = struct_of(capsule)
        given.byte_offset, given.shape[0] = 8, 2
        given.strides = ctypes.POINTER(ctypes.c_int64)()
        self.assertEqual(tenon.from_dlpack(capsule).tolist(), [2, 3])
        self.assertEqual(tenon.from_dlpack(tenon.ops.zeros([0, 3])).shape, (0, 3))

    def test_what_is_not_read_is_refused_and_stays_with_its_capsule(self):
        for field, value, kind in (("device_type", 2, ValueError), ("lanes", 4, TypeError), ("code", 3, TypeError),
                                   ("shape", -1, ValueError)):
            capsule = tenon.tensor([1.0]).__dlpack__()
            given = struct_of(capsule)
            if field == "shape":
                given.shape[0] = value
            else:
                setattr(given, field, value)
            with self.subTest(field=field), self.assertRaises(kind):
                tenon.from_dlpack(capsule)
            self.assertTrue(tenon._capsule_is(capsule, b"dltensor"))


if __name__ == "__main__":
    unittest.main()
