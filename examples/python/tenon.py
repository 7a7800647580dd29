"""Tenon from Python: every op on arrays of NumPy and of any library with DLPack, without a line per op.

    import tenon
    tenon.load("my_cube")
    tenon.ops.my_cube(numpy.arange(3.0))            # arguments are bound by the op's schema
    x = tenon.Tensor(numpy.ones(3), requires_grad=True)
    (x * x).sum().backward()
    numpy.from_dlpack(x.grad)                       # without a copy

One file over ctypes: it opens libtenon at run time, where TENON_LIBRARY names it, else where the system finds it.
"""
import ctypes
import json
import os

import numpy

_library = ctypes.CDLL(os.environ.get("TENON_LIBRARY", "libtenon.so.1"))
_library.tenon_host_get.restype = ctypes.c_void_p

# ---- the boundary: structs and tables of sdk/include/tenon/abi, which grow at their ends only ----

_pointer, _int64, _int32 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
_HOST_SERVICE = 24  # offset of the slot that finds services
_HEAD = 8  # bytes before the slots of a service


class _Payload(ctypes.Union):
    _fields_ = [("integer", _int64), ("number", ctypes.c_double), ("pointer", _pointer)]


class _Value(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_uint32), ("length", ctypes.c_uint32), ("payload", _Payload)]


class _String(ctypes.Structure):
    _fields_ = [("data", _pointer), ("length", _int64)]


class _View(ctypes.Structure):
    _fields_ = [("data", _pointer), ("shape", ctypes.POINTER(_int64)), ("strides", ctypes.POINTER(_int64)),
                ("count", _int64), ("flags", ctypes.c_uint32), ("type", ctypes.c_uint32),
                ("dtype", ctypes.c_uint8), ("rank", ctypes.c_uint8)]


(_NONE, _BOOL, _INT, _FLOAT, _DTYPE, _STRING, _TENSOR, _INTS, _FLOATS, _BOOLS, _STRINGS, _TENSORS,
 _JSON) = range(13)
_DTYPES = {1: "bool", 2: "uint8", 3: "int8", 4: "int16", 5: "int32", 6: "int64", 7: "float32", 8: "float64",
           9: "float16", 11: "uint16", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128"}
_CODES = {numpy.dtype(name): code for code, name in _DTYPES.items()}
_ERRORS = {1: TypeError, 2: ValueError, 3: IndexError, 4: ValueError, 5: NotImplementedError, 11: OSError,
           12: MemoryError}


def _function(table, offset, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)(_pointer.from_address(table + offset).value)


def _service(name, version=1):
    find = _function(_library.tenon_host_get(), _HOST_SERVICE, _int32, ctypes.c_char_p, ctypes.c_uint32, _pointer,
                     _pointer, _pointer)
    table = _pointer()
    if find(name.encode(), version, ctypes.addressof(table), None, None) != 0:
        raise ImportError(f"libtenon has no service {name} of version {version}: update it")

    def slot(index, result, *arguments):
        return _function(table.value, _HEAD + 8 * index, result, *arguments)
    return slot


_values, _tensors, _ops = _service("tenon.values"), _service("tenon.tensors"), _service("tenon.ops")
_autograd, _plugins, _documents = _service("tenon.autograd"), _service("tenon.plugins"), _service("tenon.documents")
_dlpack = _service("tenon.dlpack")

_error_message = _values(2, ctypes.c_char_p, _pointer)
_error_release = _values(6, None, _pointer)
_value_release = _values(12, None, _pointer)
_tensor_retain = _tensors(4, None, _pointer)
_tensor_release = _tensors(5, None, _pointer)
_tensor_text = _tensors(13, _int32, _pointer, _pointer, _pointer)
_item = _tensors(12, _int32, _pointer, _pointer, _pointer)
_op_find = _ops(0, _int32, ctypes.c_char_p, _int64, _pointer, _pointer)
_op_call = _ops(4, _int32, _pointer, _pointer, _int64, _pointer, _pointer, _int64, _pointer, _pointer)
_op_result_count = _ops(7, _int64, _pointer)
_op_returns_tuple = _ops(8, _int32, _pointer)
_op_schema = _ops(10, _int32, _pointer, _pointer, _pointer)
_requires_grad = _autograd(0, _int32, _pointer)
_set_requires_grad = _autograd(1, _int32, _pointer, _int32, _pointer)
_grad = _autograd(2, _pointer, _pointer)
_detach = _autograd(6, _int32, _pointer, _pointer, _pointer)
_backward = _autograd(14, _int32, _pointer, _pointer, _int64, _pointer, _int64, _int32, _int32, _pointer)
_path_add = _plugins(0, _int32, ctypes.c_char_p, _pointer)
_load = _plugins(1, _int32, ctypes.c_char_p, _pointer)
_document_dump = _documents(1, _int32, _pointer, _int32, _pointer, _pointer)
_document_release = _documents(4, None, _pointer)
_document = _documents(12, _int32, ctypes.c_uint32, _pointer, _pointer)
_dl_give = _dlpack(0, _int32, _pointer, ctypes.c_uint32, _pointer, _pointer)
_dl_give_legacy = _dlpack(1, _int32, _pointer, ctypes.c_uint32, _pointer, _pointer)
_dl_take = _dlpack(2, _int32, _pointer, ctypes.c_uint32, _pointer, _pointer)
_dl_take_legacy = _dlpack(3, _int32, _pointer, ctypes.c_uint32, _pointer, _pointer)


def _call(slot, *arguments):
    """Calls a slot with a place for its error at the end, which becomes an exception of its kind."""
    error = _pointer()
    kind = slot(*arguments, ctypes.addressof(error))
    if kind == 0:
        return
    message = _error_message(error.value).decode(errors="replace")
    _error_release(error.value)
    raise _ERRORS.get(kind, RuntimeError)(message)


def _new(slot, *arguments):
    """The pointer that such a slot gives."""
    result = _pointer()
    _call(slot, *arguments, ctypes.addressof(result))
    return result.value


def _text(slot, *arguments):
    value = _Value()
    _call(slot, *arguments, ctypes.addressof(value))
    return _take(value)


# ---- capsules of DLPack ----

_python = ctypes.pythonapi
_capsule_new = ctypes.PYFUNCTYPE(ctypes.py_object, _pointer, ctypes.c_char_p, _pointer)(
    ("PyCapsule_New", _python))
_capsule_valid = ctypes.PYFUNCTYPE(_int32, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", _python))
_capsule_pointer = ctypes.PYFUNCTYPE(_pointer, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _python))
_capsule_rename = ctypes.PYFUNCTYPE(_int32, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", _python))
# By address: the capsule is being destroyed, and must not be counted.
_dying_valid = ctypes.PYFUNCTYPE(_int32, _pointer, ctypes.c_char_p)(("PyCapsule_IsValid", _python))
_dying_pointer = ctypes.PYFUNCTYPE(_pointer, _pointer, ctypes.c_char_p)(("PyCapsule_GetPointer", _python))

# Name, offset of the deleter in the struct, name once it was taken; names live as long as capsules.
_VERSIONED = (b"dltensor_versioned", 16, b"used_dltensor_versioned")
_LEGACY = (b"dltensor", 56, b"used_dltensor")


def _delete(managed, offset):
    deleter = _pointer.from_address(managed + offset).value
    if deleter:
        ctypes.CFUNCTYPE(None, _pointer)(deleter)(managed)


@ctypes.PYFUNCTYPE(None, _pointer)
def _capsule_destroyed(capsule):
    """A capsule that no library has taken releases what it holds."""
    for name, offset, _ in (_VERSIONED, _LEGACY):
        if _dying_valid(capsule, name):
            _delete(_dying_pointer(capsule, name), offset)


def from_dlpack(array):
    """A tensor over the memory of an array of any library, without a copy."""
    if array.__dlpack_device__()[0] != 1:
        raise ValueError(f"an array on device {tuple(array.__dlpack_device__())} is not in memory of the CPU: copy it")
    try:
        capsule = array.__dlpack__(max_version=(1, 3))
    except TypeError:  # libraries before DLPack 1.0 take no version
        capsule = array.__dlpack__()
    for (name, _, used), take in ((_VERSIONED, _dl_take), (_LEGACY, _dl_take_legacy)):
        if _capsule_valid(capsule, name):
            tensor = _new(take, _capsule_pointer(capsule, name), 0)
            _capsule_rename(capsule, used)
            return Tensor._of(tensor)
    raise ValueError("the capsule was taken before, or is not one of DLPack")


# ---- tensors ----

class Tensor:
    """A tensor of Tenon: made of an array, or the result of an op."""
    __slots__ = ("_handle",)
    __array_priority__ = 1000

    def __init__(self, array, requires_grad=False):
        self._handle = None
        made = _tensor_of(array)
        self._handle, made._handle = made._handle, None
        if requires_grad:
            self.requires_grad_()

    @classmethod
    def _of(cls, handle):
        tensor = cls.__new__(cls)
        tensor._handle = handle
        return tensor

    def __del__(self):
        if getattr(self, "_handle", None):
            _tensor_release(self._handle)

    @property
    def _view(self):
        return _View.from_address(self._handle)

    @property
    def shape(self):
        return tuple(self._view.shape[i] for i in range(self._view.rank))

    @property
    def ndim(self):
        return self._view.rank

    @property
    def dtype(self):
        name = _DTYPES.get(self._view.dtype)
        return None if name is None else numpy.dtype(name)  # none: NumPy has no such dtype

    @property
    def requires_grad(self):
        return bool(_requires_grad(self._handle))

    def requires_grad_(self, requires_grad=True):
        _call(_set_requires_grad, self._handle, int(requires_grad))
        return self

    @property
    def grad(self):
        handle = _grad(self._handle)
        return Tensor._of(handle) if handle else None

    def backward(self, gradient=None):
        root = _pointer(self._handle)
        seed = _tensor_of(gradient) if gradient is not None else None
        seeds = _pointer(seed._handle) if seed is not None else None
        _call(_backward, ctypes.addressof(root), ctypes.addressof(seeds) if seeds else None, 1, None, -1, 0, 0)

    def detach(self):
        return Tensor._of(_new(_detach, self._handle))

    def item(self):
        return _text(_item, self._handle)

    def numpy(self):
        """An array of NumPy over the same memory; a copy for bools, which NumPy takes from DLPack since 1.25."""
        tensor = self.detach()
        if tensor.dtype == numpy.dtype(bool):
            return numpy.from_dlpack(ops.to(tensor, numpy.uint8)).view(bool)
        return numpy.from_dlpack(tensor)

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None or dl_device not in (None, (1, 0)):
            raise BufferError("a tensor of Tenon is in memory of the CPU")
        versioned = max_version is not None and max_version[0] >= 1
        managed = _new(_dl_give if versioned else _dl_give_legacy, self._handle, int(bool(copy)))
        name = (_VERSIONED if versioned else _LEGACY)[0]
        return _capsule_new(managed, name, ctypes.cast(_capsule_destroyed, _pointer))

    def __array__(self, dtype=None):
        return numpy.array(self.numpy(), dtype=dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        if method != "__call__":
            return NotImplemented
        return _numpy_call(ufunc.__name__, inputs, keywords)

    def __array_function__(self, function, types, arguments, keywords):
        return _numpy_call(function.__name__, arguments, keywords)

    def __repr__(self):
        return _text(_tensor_text, self._handle)

    def __len__(self):
        return self.shape[0]

    def __bool__(self):
        return bool(self.item())

    def __float__(self):
        return float(self.item())

    def __getattr__(self, name):
        """The op of the name as a method: x.sum(dim=0)."""
        if name.startswith("_"):
            raise AttributeError(name)
        op = getattr(ops, name)
        return lambda *arguments, **keywords: op(self, *arguments, **keywords)


def _operator(name, reverse=False):
    def apply(self, other):
        return getattr(ops, name)(*((other, self) if reverse else (self, other)))
    return apply


for _name, _op in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "matmul": "matmul",
                   "floordiv": "floor_divide", "mod": "remainder"}.items():
    setattr(Tensor, f"__{_name}__", _operator(_op))
    setattr(Tensor, f"__r{_name}__", _operator(_op, reverse=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", _operator(_name))
Tensor.__hash__ = object.__hash__
Tensor.__neg__ = lambda self: ops.neg(self)
Tensor.__abs__ = lambda self: ops.abs(self)

# Names by which NumPy calls what Tenon has under another one.
_NUMPY_NAMES = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div",
                "negative": "neg", "absolute": "abs", "power": "pow", "arcsin": "asin", "arccos": "acos",
                "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "equal": "eq",
                "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
                "concatenate": "cat", "amax": "amax", "amin": "amin", "invert": "bitwise_not"}
_NUMPY_KEYWORDS = {"axis": "dim", "keepdims": "keepdim"}


def _numpy_call(name, arguments, keywords):
    keywords = {_NUMPY_KEYWORDS.get(key, key): value for key, value in keywords.items()}
    name = _NUMPY_NAMES.get(name, name)
    try:
        op = getattr(ops, name)
    except AttributeError:
        return NotImplemented
    return op(*arguments, **keywords)


def _tensor_of(array):
    if isinstance(array, Tensor):
        _tensor_retain(array._handle)
        return Tensor._of(array._handle)
    if not isinstance(array, numpy.ndarray) and hasattr(array, "__dlpack__"):
        return from_dlpack(array)
    array = numpy.asarray(array)
    if array.dtype not in _CODES and array.dtype.newbyteorder("=") not in _CODES:
        raise TypeError(f"no dtype of Tenon is {array.dtype}")
    if array.dtype == numpy.dtype(bool):
        return ops.to(from_dlpack(numpy.array(array).view(numpy.uint8)), bool)
    # Memory that DLPack of this NumPy refuses: it is read-only, of another byte order, or runs backwards.
    if not array.flags.writeable or not array.dtype.isnative or any(step < 0 for step in array.strides):
        array = numpy.array(array, dtype=array.dtype.newbyteorder("="), order="C")
    return from_dlpack(array)


# ---- values ----

def _list_value(items, keep):
    """A list argument: of the narrowest kind that holds all of it."""
    items = [item.item() if isinstance(item, numpy.generic) else item for item in items]
    kinds = {type(item) for item in items}
    if any(isinstance(item, (Tensor, numpy.ndarray)) or hasattr(item, "__dlpack__") for item in items):
        tensors = [_tensor_of(item) for item in items]
        keep.append(tensors)
        return _TENSORS, (_pointer * len(items))(*(tensor._handle for tensor in tensors))
    if kinds == {str}:
        texts = [item.encode() for item in items]
        keep.append(texts)
        return _STRINGS, (_String * len(items))(
            *(_String(ctypes.cast(ctypes.c_char_p(text), _pointer), len(text)) for text in texts))
    if kinds == {bool}:
        return _BOOLS, (ctypes.c_uint8 * len(items))(*items)
    if kinds <= {int, bool}:
        return _INTS, (_int64 * len(items))(*items)
    if kinds <= {int, bool, float}:
        return _FLOATS, (ctypes.c_double * len(items))(*items)
    raise TypeError(f"a list of {sorted(kind.__name__ for kind in kinds)} is not an argument of an op")


def _value(argument, keep):
    """The argument as it crosses the boundary; `keep` holds what it points to."""
    value = _Value()
    if isinstance(argument, numpy.generic) and argument.dtype.kind != "c":
        argument = argument.item()
    if argument is None:
        return value
    if isinstance(argument, bool):
        value.tag, value.payload.integer = _BOOL, argument
    elif isinstance(argument, int):
        value.tag, value.payload.integer = _INT, argument
    elif isinstance(argument, float):
        value.tag, value.payload.number = _FLOAT, argument
    elif isinstance(argument, str):
        text = argument.encode()
        keep.append(text)
        value.tag, value.length = _STRING, len(text)
        value.payload.pointer = ctypes.cast(ctypes.c_char_p(text), _pointer).value
    elif isinstance(argument, (type, numpy.dtype)):
        value.tag, value.payload.integer = _DTYPE, _CODES[numpy.dtype(argument)]
    elif isinstance(argument, (list, tuple)):
        value.tag, array = _list_value(argument, keep)
        keep.append(array)
        value.length, value.payload.pointer = len(argument), ctypes.addressof(array)
    else:
        tensor = _tensor_of(argument)
        keep.append(tensor)
        value.tag, value.payload.pointer = _TENSOR, tensor._handle
    return value


def _take(value):
    """A result, whose memory is released."""
    try:
        tag, payload, length = value.tag, value.payload, value.length
        if tag in (_BOOL, _INT):
            return bool(payload.integer) if tag == _BOOL else payload.integer
        if tag == _FLOAT:
            return payload.number
        if tag == _DTYPE:
            return numpy.dtype(_DTYPES[payload.integer])
        if tag == _STRING:
            return ctypes.string_at(payload.pointer, length).decode()
        if tag == _TENSOR:
            _tensor_retain(payload.pointer)
            return Tensor._of(payload.pointer)
        if tag in (_INTS, _FLOATS, _BOOLS):
            kind = {_INTS: _int64, _FLOATS: ctypes.c_double, _BOOLS: ctypes.c_bool}[tag]
            return list((kind * length).from_address(payload.pointer)) if length else []
        if tag == _STRINGS:
            strings = (_String * length).from_address(payload.pointer) if length else []
            return [ctypes.string_at(text.data, text.length).decode() for text in strings]
        if tag == _TENSORS:
            handles = list((_pointer * length).from_address(payload.pointer)) if length else []
            for handle in handles:
                _tensor_retain(handle)
            return [Tensor._of(handle) for handle in handles]
        return None
    finally:
        _value_release(ctypes.addressof(value))


# ---- ops ----

class Op:
    """An op by its full name. Its docstring is its schema."""

    def __init__(self, name):
        self.__name__ = name
        self._op = _new(_op_find, name.encode(), len(name.encode()))
        self.__doc__ = _text(_op_schema, self._op)

    def __call__(self, *arguments, **keywords):
        keep = []
        positional = (_Value * len(arguments))(*(_value(argument, keep) for argument in arguments))
        names = [key.encode() for key in keywords]
        keep.append(names)
        strings = (_String * len(names))(
            *(_String(ctypes.cast(ctypes.c_char_p(name), _pointer), len(name)) for name in names))
        named = (_Value * len(names))(*(_value(argument, keep) for argument in keywords.values()))
        results = (_Value * max(_op_result_count(self._op), 1))()
        _call(_op_call, self._op, ctypes.addressof(positional), len(arguments), ctypes.addressof(strings),
              ctypes.addressof(named), len(names), ctypes.addressof(results))
        taken = tuple(_take(result) for result in results)
        if _op_result_count(self._op) == 0:
            return None
        return taken if _op_returns_tuple(self._op) else taken[0]

    def __repr__(self):
        return f"<op {self.__doc__}>"


class _Namespace:
    """Ops, or names that begin alike: tenon.ops.nn.functional.relu."""

    def __init__(self, prefix=""):
        self._prefix = prefix

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        full = self._prefix + name
        names = _op_names()
        found = None
        if full in names:
            found = Op(full)
        elif any(known.startswith(full + ".") for known in names):
            found = _Namespace(full + ".")
        else:
            try:
                found = Op(full)
            except (RuntimeError, ValueError) as error:
                raise AttributeError(str(error)) from None
        self.__dict__[name] = found
        return found

    def __iter__(self):
        return (Op(name) for name in sorted(_op_names()) if name.startswith(self._prefix))

    def __dir__(self):
        return sorted({name[len(self._prefix):].split(".")[0] for name in _op_names()
                       if name.startswith(self._prefix)})


_names = None


def _op_names():
    """The full names of all ops that plugins declare."""
    global _names
    if _names is None:
        document = _new(_document, 2)
        try:
            facts = json.loads(_text(_document_dump, document, 0))
        finally:
            _document_release(document)
        plugins = facts["plugins"] if isinstance(facts, dict) else facts
        _names = {op["name"] for plugin in plugins for op in _declared_ops(plugin)}
    return _names


def _declared_ops(plugin):
    for facts in (plugin, plugin.get("facts") or {}):
        for op in facts.get("ops") or ():
            yield op


def load(plugin):
    """Loads a plugin by its id or the path of its file."""
    global _names
    _call(_load, str(plugin).encode())
    _names = None


def path_add(folder):
    """Adds a folder in which plugins are looked for."""
    global _names
    _call(_path_add, str(folder).encode())
    _names = None


ops = _Namespace()
