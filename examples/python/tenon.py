"""Tenon in Python: every op of every plugin, over the C boundary, by ctypes alone.

    import numpy, tenon
    tenon.load("build/cube.so")                    # or tenon.add_plugin_path("build")
    x = tenon.tensor([1.0, 2.0], requires_grad=True)
    y = tenon.ops.cube(x)                          # takes NumPy arrays, too
    y.sum().backward()
    x.grad.numpy()                                 # shares its memory
    for op in tenon.ops: print(op.name, op.__doc__)

Nothing here is about one op: the host binds arguments by the op's schema, as it does for C++. Arrays become
tensors over the same memory and tensors arrays over the same memory; DLPack passes either to other
libraries. Errors are TypeError, ValueError and so on, each also a tenon.Error with `op` and `provider`.

The host is libtenon: the one that TENON_LIBRARY names, of a build of this tree, or of the installed Tenon
that this file belongs to. Tensors may be used from several threads; the recording mode is of a thread.
"""

import ast
import contextlib
import ctypes
import inspect
import itertools
import json
import os

try:
    import numpy
except ImportError:  # Tensors, ops and DLPack work without it.
    numpy = None

__all__ = ["Error", "Op", "Tensor", "add_plugin_path", "enable_grad", "from_dlpack", "gradients", "load", "no_grad",
           "ops", "tensor"]


# ---- the boundary: sdk/include/tenon/abi ----

# Services that are called, each with its slots in the order of its table up to the last one in use. Behind a
# colon the slot's result and parameters, a letter each; a slot without is not called.
_SERVICES = {
    "values": """error_set error_kind:ip error_message:sp error_op:sp error_provider:sp error_cause:pp
        error_release:vp error_pass allocate free_memory release_cached_memory string_create release:vp""",
    "tensors": """empty:iblppp wrap:iblppppppp alias alias_as retain:vp release:vp use_count version
        storage_number shares_storage copy:ippp fill item:ippp text:ippp""",
    "ops": """find:islpp name:sp call call_filled call_keywords:ipplpplpp bind bind_attributes result_count:lp
        returns_tuple:ip parameter schema:ippp""",
    "autograd": """requires_grad:ip set_requires_grad:ipip grad:pp set_grad:ippp is_leaf:ip retain_grad:ipp
        detach:ippp grad_mode:i grad_mode_set:ii inference_mode inference_mode_set anomaly_mode
        anomaly_mode_set strict_gradients_set backward:ipplpliip gradients:ipplpliiipp""",
    "documents": """parse:islpppp dump:ipipp build retain release:vp value is_object size at find key place
        document:iupp facts_read providers schema_parse:islpp""",
    "plugins": "path_add:isp load:isp",
    "dlpack": "give:ipupp give_legacy:ipupp take:ipupp take_legacy:ipupp",
}
_LETTERS = {"v": None, "i": ctypes.c_int32, "u": ctypes.c_uint32, "l": ctypes.c_int64, "b": ctypes.c_uint8,
            "s": ctypes.c_char_p, "p": ctypes.c_void_p}
_ABI_MAJOR = 1
_VERSION = 1  # every service's
_FACTS = 2    # TENON_DOCUMENT_FACTS

# dtype code: its name, and the same of NumPy.
_DTYPES = {1: ("bool", "?"), 2: ("uint8", "u1"), 3: ("int8", "i1"), 4: ("int16", "i2"), 5: ("int32", "i4"),
           6: ("int64", "i8"), 7: ("float32", "f4"), 8: ("float64", "f8"), 9: ("float16", "f2"),
           10: ("bfloat16", None), 11: ("uint16", "u2"), 12: ("uint32", "u4"), 13: ("uint64", "u8"),
           14: ("complex64", "c8"), 15: ("complex128", "c16"),
           16: ("float8_e4m3fn", None), 17: ("float8_e5m2", None), 18: ("float8_e8m0fnu", None),
           19: ("float6_e2m3fn", None), 20: ("float6_e3m2fn", None), 21: ("float4_e2m1fn", None)}
_CODES = {name: code for code, (name, _) in _DTYPES.items()}
# Names of Tenon, where they are not those of other dtypes in NumPy ("f8", "i8").
_OWN_CODES = {"bf16": 10, "f8_e4m3": 16, "f8_e5m2": 17, "f8_e8m0": 18, "f6_e2m3": 19, "f6_e3m2": 20, "f4_e2m1": 21}

# Tags of values.
(_NONE, _BOOL, _INT, _FLOAT, _DTYPE, _STRING, _TENSOR, _INTS, _FLOATS, _BOOLS, _STRINGS, _TENSORS,
 _JSON) = range(13)

_REQUIRES_GRAD, _TYPED, _SHAPE_ONLY, _READ_ONLY = 1 << 1, 1 << 3, 1 << 5, 1 << 6


class _Host(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_uint32), ("size", ctypes.c_uint32), ("abi_major", ctypes.c_uint32),
                ("abi_minor", ctypes.c_uint32), ("error_set", ctypes.c_void_p), ("service", ctypes.c_void_p)]


class _String(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("length", ctypes.c_int64)]


class _Member(ctypes.Union):
    _fields_ = [("integer", ctypes.c_int64), ("number", ctypes.c_double), ("pointer", ctypes.c_void_p)]


class _Value(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_uint32), ("length", ctypes.c_uint32), ("member", _Member)]


class _View(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("count", ctypes.c_int64), ("flags", ctypes.c_uint32),
                ("type", ctypes.c_uint32), ("dtype", ctypes.c_uint8), ("rank", ctypes.c_uint8)]


class _Service:
    """The slots of one service, as functions under their names."""

    def __init__(self, name, table, slots):
        addresses = ctypes.cast(table.value + 8, ctypes.POINTER(ctypes.c_void_p))
        for address, slot in zip(addresses, slots.split()):
            name, _, letters = slot.partition(":")
            if letters:
                result, *parameters = (_LETTERS[letter] for letter in letters)
                setattr(self, name, ctypes.CFUNCTYPE(result, *parameters)(address))


def _library():
    """The path of libtenon."""
    here = os.path.dirname(os.path.abspath(__file__))
    tried = [os.environ["TENON_LIBRARY"]] if "TENON_LIBRARY" in os.environ else [
        os.path.join(here, *folder, "libtenon.so")
        for folder in (("..", "..", "build", "lib"), ("..", "..", "..", "..", "lib"),
                       ("..", "..", "..", "..", "lib", os.uname().machine + "-linux-gnu"))]
    for path in tried:
        if os.path.exists(path):
            return os.path.abspath(path)
    raise ImportError("libtenon.so is not there; looked for " + ", ".join(map(os.path.normpath, tried)) +
                      ": set TENON_LIBRARY to its path")


def _open_host(path):
    """libtenon and its services by their names."""
    library = ctypes.CDLL(path)
    library.tenon_host_get.restype = ctypes.POINTER(_Host)
    host = library.tenon_host_get().contents
    if host.abi_major != _ABI_MAJOR:
        raise ImportError(f"{path} has boundary {host.abi_major}.{host.abi_minor}; this file is for {_ABI_MAJOR}: "
                          "take the tenon.py of that release")
    service = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p,
                               ctypes.c_void_p)(host.service)
    services = {}
    for name, slots in _SERVICES.items():
        table = ctypes.c_void_p()
        if service(b"tenon." + name.encode(), _VERSION, ctypes.byref(table), None, None) != 0:
            raise ImportError(f"{path} has no service tenon.{name} of version {_VERSION}")
        services[name] = _Service(name, table, slots)
    return library, services


_host, _services = _open_host(_library())
_values, _tensors, _ops = _services["values"], _services["tensors"], _services["ops"]
_autograd, _documents, _plugins = _services["autograd"], _services["documents"], _services["plugins"]
_dlpack = _services["dlpack"]


# ---- errors ----


class Error(Exception):
    """An error of Tenon's. `op` and `provider` are the op that failed and its plugin, or ""."""

    op = provider = ""


# A class for each kind, which is also the exception that Python has for it.
_KINDS = [None] + [type(name, (Error, base), {"__module__": __name__}) for name, base in (
    ("TypeError", TypeError), ("ValueError", ValueError), ("IndexError", IndexError), ("ArgumentError", TypeError),
    ("NotImplementedError", NotImplementedError), ("GraphError", RuntimeError), ("InplaceError", RuntimeError),
    ("GradcheckError", AssertionError), ("PluginError", ImportError), ("ConfigError", ValueError),
    ("IOError", OSError), ("MemoryError", MemoryError), ("RuntimeError", RuntimeError),
    ("InternalError", RuntimeError), ("DistributedError", RuntimeError), ("InterruptedError", RuntimeError))]


def _exception(error):
    kind = _values.error_kind(error)
    exception = (_KINDS[kind] if 0 < kind < len(_KINDS) else Error)(_values.error_message(error).decode())
    exception.op, exception.provider = _values.error_op(error).decode(), _values.error_provider(error).decode()
    cause = _values.error_cause(error)
    exception.__cause__ = _exception(cause) if cause else None
    return exception


def _checked(function, *arguments):
    """Calls a slot that returns a status, and raises its error."""
    error = ctypes.c_void_p()
    status = function(*arguments, ctypes.byref(error))
    if status == 0:
        return
    try:
        exception = _exception(error) if error else Error(f"an error of kind {status} without a message")
    finally:
        _values.error_release(error)
    raise exception


# ---- values ----


def _texts(words):
    array = (_String * len(words))()
    for entry, word in zip(array, words):
        entry.data = word.encode()
        entry.length = len(word.encode())
    return array


def _list_value(items, kind, keep):
    """A list as a value: of the element that the schema names, else of what its elements are."""
    if kind == "Tensor" or (kind == "any" and any(_is_tensor_like(item) for item in items)):
        tensors = [None if item is None else _as_tensor(item) for item in items]
        keep.append(tensors)
        return _TENSORS, (ctypes.c_void_p * len(items))(*[None if item is None else item._handle for item in tensors])
    if items and all(isinstance(item, str) for item in items):
        return _STRINGS, _texts(items)
    if items and all(_is_number(item, bool) for item in items):
        return _BOOLS, (ctypes.c_uint8 * len(items))(*map(bool, items))
    if all(_is_number(item, int) for item in items) and kind != "float":
        return _INTS, (ctypes.c_int64 * len(items))(*map(_int64, items))
    if all(_is_number(item, float) for item in items):
        return _FLOATS, (ctypes.c_double * len(items))(*map(float, items))
    found = ", ".join(sorted({type(item).__name__ for item in items}))
    raise TypeError(f"a list of {found} is not an argument of an op: pass numbers, texts or tensors of one kind")


def _int64(number):
    """An integer of the host's, which ctypes would cut to 64 bits."""
    number = int(number)
    if not -2**63 <= number < 2**63:
        raise ValueError(f"{number} is outside of int64")
    return number


def _is_number(value, kind):
    """Whether a value of Python or NumPy is a number of that kind: a bool is an int, an int a float."""
    if isinstance(value, (bool, int, float)[:{bool: 1, int: 2, float: 3}[kind]]):
        return True
    return numpy is not None and isinstance(value, numpy.generic) and value.dtype.kind in {
        bool: "b", int: "biu", float: "biuf"}[kind]


def _is_tensor_like(value):
    return isinstance(value, Tensor) or (hasattr(value, "__dlpack__") and not _is_number(value, float)) or (
        numpy is not None and isinstance(value, numpy.ndarray))


def _code_of(dtype):
    """The code of a dtype: a name, a NumPy dtype, or one of Python's number types."""
    if isinstance(dtype, str) and dtype in _OWN_CODES:
        return _OWN_CODES[dtype]
    names = {bool: "bool", int: "int64", float: "float32", complex: "complex64"}
    name = names.get(dtype) if isinstance(dtype, type) else None
    if name is None and isinstance(dtype, str) and dtype in _CODES:
        name = dtype
    if name is None and numpy is not None:
        with contextlib.suppress(TypeError):
            name = numpy.dtype(dtype).name
    if name not in _CODES:
        raise TypeError(f"{dtype!r} is not a dtype of tensors; expected one of {', '.join(_CODES)}")
    return _CODES[name]


def _value(argument, kind, keep):
    """An argument as a value. `kind` is the schema's word for it; `keep` holds what the value borrows."""
    value = _Value()
    if argument is None:
        value.tag = _NONE
    elif kind == "dtype" and not isinstance(argument, Tensor):
        value.tag, value.member.integer = _DTYPE, _code_of(argument)
    elif _is_number(argument, bool):
        value.tag, value.member.integer = _BOOL, bool(argument)
    elif _is_number(argument, int):
        value.tag, value.member.integer = _INT, _int64(argument)
    elif _is_number(argument, float):
        value.tag, value.member.number = _FLOAT, float(argument)
    elif isinstance(argument, str):
        text = argument.encode()
        keep.append(text)
        value.tag, value.length = _STRING, len(text)
        value.member.pointer = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p)
    elif _is_tensor_like(argument):
        held = _as_tensor(argument)
        keep.append(held)
        value.tag, value.member.pointer = _TENSOR, held._handle
    elif isinstance(argument, dict):
        document, text = ctypes.c_void_p(), json.dumps(argument).encode()
        _checked(_documents.parse, text, len(text), None, ctypes.byref(document), None)
        keep.append(_Owned(_documents.release, document))
        value.tag, value.member.pointer = _JSON, document
    elif isinstance(argument, (list, tuple, range)):
        value.tag, array = _list_value(list(argument), kind, keep)
        keep.append(array)
        value.length, value.member.pointer = len(array), ctypes.cast(array, ctypes.c_void_p)
    elif isinstance(argument, complex):
        held = tensor(argument)
        keep.append(held)
        value.tag, value.member.pointer = _TENSOR, held._handle
    else:
        raise TypeError(f"a {type(argument).__name__} is not an argument of an op: pass a tensor, array, number, "
                        "text, dtype, dictionary, or a list of these")
    return value


class _Owned:
    """Something of the host's that is released with this object."""

    def __init__(self, release, pointer):
        self._release, self._pointer = release, pointer

    def __del__(self):
        self._release(self._pointer)


def _elements(value, element):
    return ctypes.cast(value.member.pointer, ctypes.POINTER(element))[:value.length] if value.length else []


def _taken(value):
    """A result as an object of Python; its tensors become the caller's."""
    tag = value.tag
    try:
        if tag == _NONE:
            return None
        if tag == _BOOL:
            return bool(value.member.integer)
        if tag == _INT:
            return value.member.integer
        if tag == _FLOAT:
            return value.member.number
        if tag == _DTYPE:
            return _DTYPES[value.member.integer][0]
        if tag == _STRING:
            return ctypes.string_at(value.member.pointer, value.length).decode()
        if tag == _TENSOR:
            return _retained(value.member.pointer)
        if tag == _TENSORS:
            return [_retained(handle) for handle in _elements(value, ctypes.c_void_p)]
        if tag == _STRINGS:
            return [ctypes.string_at(text.data, text.length).decode() for text in _elements(value, _String)]
        if tag == _BOOLS:
            return [bool(element) for element in _elements(value, ctypes.c_uint8)]
        if tag in (_INTS, _FLOATS):
            return _elements(value, ctypes.c_int64 if tag == _INTS else ctypes.c_double)
        if tag == _JSON:
            return _json(value.member.pointer)
        raise TypeError(f"a result of tag {tag} has no object in Python")
    finally:
        _values.release(ctypes.byref(value))


def _json(document):
    text = _Value()
    _checked(_documents.dump, document, 0, ctypes.byref(text))
    return json.loads(_taken(text))


def _document(function, *arguments):
    """The document that a slot makes, as dictionaries and lists."""
    document = ctypes.c_void_p()
    _checked(function, *arguments, ctypes.byref(document))
    try:
        return _json(document)
    finally:
        _documents.release(document)


# ---- tensors ----

_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_owners, _owner_numbers = {}, itertools.count(1)


@_RELEASE
def _release_owner(number):
    """Called by the host, on any thread, when no tensor uses an owner's memory any more."""
    _owners.pop(number, None)


def _wrapped(code, shape, strides, data, owner):
    """A tensor over memory that `owner` keeps. `strides` count elements."""
    handle, number, rank = ctypes.c_void_p(), next(_owner_numbers), len(shape)
    _owners[number] = owner
    sizes, steps = (ctypes.c_int64 * rank)(*shape), (ctypes.c_int64 * rank)(*strides)
    try:
        _checked(_tensors.wrap, code, rank, sizes, steps, data, number, ctypes.cast(_release_owner, ctypes.c_void_p),
                 ctypes.byref(handle))
    except Error:
        del _owners[number]
        raise
    return Tensor(handle.value)


def _from_array(array):
    """The array's memory as a tensor; a copy where it is read-only, or its elements are not as the host's."""
    code = _code_of(array.dtype)
    native = array.dtype.newbyteorder("=")
    size = array.dtype.itemsize
    if not array.flags.writeable or not array.flags.aligned or array.dtype != native or any(
            stride % size for stride in array.strides):
        array = numpy.array(array, dtype=native, order="K")
    return _wrapped(code, array.shape, [stride // size for stride in array.strides], array.ctypes.data, array)


def _as_tensor(value):
    if isinstance(value, Tensor):
        return value
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _from_array(value)
    if hasattr(value, "__dlpack__"):
        return from_dlpack(value)
    raise TypeError(f"expected a tensor or an array, found {type(value).__name__}")


def _retained(handle):
    if not handle:
        return None
    _tensors.retain(handle)
    return Tensor(handle)


def _shape_of(data):
    """The sizes of nested lists, by the first element of each."""
    shape = []
    while isinstance(data, (list, tuple)):
        shape.append(len(data))
        data = data[0] if data else None
    return shape


def _elements_of(data, shape, depth=0):
    """The elements of nested lists in order, which have that shape."""
    if not isinstance(data, (list, tuple)) or depth == len(shape):
        if depth != len(shape) or isinstance(data, (list, tuple)):
            raise ValueError("the lists of a tensor have different depths")
        return [data]
    if shape[depth] != len(data):
        raise ValueError(f"the lists of a tensor have {shape[depth]} and {len(data)} elements in dimension {depth}")
    return [element for item in data for element in _elements_of(item, shape, depth + 1)]


def _row_major(shape):
    """The strides of a tensor without gaps, in elements."""
    return list(itertools.accumulate(reversed(shape[1:]), lambda a, b: a * b, initial=1))[::-1][:len(shape)]


def tensor(data, dtype=None, requires_grad=False):
    """A new tensor with a copy of `data`: a number, nested lists, an array or a tensor.

    Without a dtype: that of an array, else bool, int64, float32 or complex64 by the elements.
    """
    if numpy is not None and isinstance(data, numpy.generic):
        data = numpy.array(data)
    if _is_tensor_like(data):
        made = ops.clone(_as_tensor(data).detach())
    else:
        shape = _shape_of(data)
        elements = _elements_of(data, shape)
        kinds = {type(element) for element in elements}
        if not kinds <= {bool, int, float, complex}:
            raise TypeError(f"elements of a tensor are numbers; found {', '.join(kind.__name__ for kind in kinds)}")
        kind = next((kind for kind in (complex, float, int, bool) if kind in kinds), float)
        if kind is int:
            elements = list(map(_int64, elements))
        dtype = dtype or _DTYPES[_code_of(kind)][0]
        # As exact as Python has them, and then converted.
        if kind is complex:
            code, element = _CODES["complex128"], ctypes.c_double
            elements = [part for number in map(complex, elements) for part in (number.real, number.imag)]
        else:
            code = _CODES["float64"] if kind is float else _code_of(kind)
            element = {bool: ctypes.c_bool, int: ctypes.c_int64, float: ctypes.c_double}[kind]
        memory = (element * len(elements))(*elements)
        made = ops.clone(_wrapped(code, shape, _row_major(shape), ctypes.addressof(memory), memory))
    if dtype is not None and _code_of(dtype) != _CODES[made.dtype]:
        made = made.to(dtype)
    if requires_grad:
        made.requires_grad = True
    return made


class Tensor:
    """A tensor of the host. Ops whose schema begins with a tensor are its methods, `x.sum(dim=0)`, too."""

    __slots__ = ("_handle", "__weakref__")
    __array_priority__ = 1000

    def __init__(self, handle):
        self._handle = handle

    def __del__(self):
        if _tensors is not None:
            _tensors.release(self._handle)

    @property
    def _view(self):
        return _View.from_address(self._handle)

    @property
    def shape(self):
        view = self._view
        return tuple(view.shape[:view.rank])

    @property
    def strides(self):
        """Steps of each dimension, in elements."""
        view = self._view
        return tuple(view.strides[:view.rank])

    @property
    def ndim(self):
        return self._view.rank

    @property
    def size(self):
        """The number of elements."""
        return self._view.count

    @property
    def dtype(self):
        """The name, "float32"; NumPy takes it where it has that dtype."""
        return _DTYPES[self._view.dtype][0]

    @property
    def requires_grad(self):
        return bool(_autograd.requires_grad(self._handle))

    @requires_grad.setter
    def requires_grad(self, enabled):
        _checked(_autograd.set_requires_grad, self._handle, bool(enabled))

    def requires_grad_(self, enabled=True):
        self.requires_grad = enabled
        return self

    @property
    def is_leaf(self):
        return bool(_autograd.is_leaf(self._handle))

    @property
    def grad(self):
        handle = _autograd.grad(self._handle)
        return Tensor(handle) if handle else None

    @grad.setter
    def grad(self, gradient):
        _checked(_autograd.set_grad, self._handle, None if gradient is None else gradient._handle)

    def retain_grad(self):
        _checked(_autograd.retain_grad, self._handle)

    def detach(self):
        handle = ctypes.c_void_p()
        _checked(_autograd.detach, self._handle, ctypes.byref(handle))
        return Tensor(handle.value)

    def backward(self, gradient=None, retain_graph=False, create_graph=False, inputs=None):
        """Adds to `.grad` of all leaves, or of `inputs` alone; `gradient` may be left out of a single element."""
        seed = None if gradient is None else _as_tensor(gradient)
        leaves = [] if inputs is None else list(inputs)
        _checked(_autograd.backward, _handles([self]), _handles([seed]), 1, _handles(leaves),
                 -1 if inputs is None else len(leaves), retain_graph, create_graph)

    def item(self):
        """The only element, as a number of Python."""
        if self.dtype.startswith("complex"):
            parts = ops.view_as_real(self.detach().reshape([]))
            return complex(ops.select(parts, 0, 0).item(), ops.select(parts, 0, 1).item())
        value = _Value()
        _checked(_tensors.item, self._handle, ctypes.byref(value))
        return _taken(value)

    def tolist(self):
        """The elements as nested lists of numbers."""
        if self.ndim == 0:
            return self.item()
        return [self[i].tolist() for i in range(self.shape[0])]

    def __repr__(self):
        text = _Value()
        _checked(_tensors.text, self._handle, ctypes.byref(text))
        return _taken(text)

    # -- memory for others --

    def _memory(self):
        """The view, where its memory can be given away."""
        view = self._view
        if view.flags & (_TYPED | _SHAPE_ONLY):
            raise BufferError("a tensor of another type than Tensor, or without data, has no memory to share")
        if self.requires_grad:
            raise BufferError("a tensor that requires grad does not share its memory: take detach() of it")
        return view

    @property
    def __array_interface__(self):
        view = self._memory()
        code = _DTYPES[view.dtype][1]
        if code is None:
            raise BufferError(f'NumPy has no {self.dtype}: convert it by to("float32")')
        size = int(code[1:]) if code != "?" else 1
        order = "|" if size == 1 else "<" if ctypes.c_uint16(1).value.to_bytes(2, "little")[0] else ">"
        return {"version": 3, "shape": self.shape, "typestr": order + ("b1" if code == "?" else code),
                "strides": tuple(step * size for step in self.strides),
                "data": (view.data or 0, bool(view.flags & _READ_ONLY))}

    def numpy(self):
        """An array over the same memory, which it keeps alive."""
        if numpy is None:
            raise ImportError("NumPy is not installed")
        view = self._memory()
        if view.count == 0:
            return numpy.empty(self.shape, _DTYPES[view.dtype][1])
        return numpy.asarray(self)

    def __dlpack_device__(self):
        return (1, 0)  # the processor's memory

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule over the same memory, by DLPack 1.x where the consumer takes it, else by the older struct."""
        if stream is not None or dl_device not in (None, (1, 0)):
            raise BufferError("the tensor is in the processor's memory, which has no streams")
        self._memory()
        return _capsule(self, max_version is not None and tuple(max_version) >= (1, 0), bool(copy))

    # -- NumPy's functions and operators --

    def __array_ufunc__(self, ufunc, method, *arguments, **keywords):
        if method != "__call__":
            return NotImplemented
        return self.__array_function__(ufunc, None, arguments, keywords)

    def __array_function__(self, function, types, arguments, keywords):
        name = (function.__module__ + "." if getattr(function, "__module__", None) not in (None, "numpy") else "") + \
            function.__name__
        meaning = _NUMPY.get(name.removeprefix("numpy."))
        if meaning is None:
            return NotImplemented
        return _call_as_numpy(meaning, arguments, keywords)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            op = ops._find(name)
        except Error as error:
            raise AttributeError(f"a tensor has no attribute {name!r}, and no op has that name: {error}") from None
        return lambda *arguments, **keywords: op(self, *arguments, **keywords)

    def __getitem__(self, index):
        return _indexed(self, index)

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("a tensor of rank 0 has no length")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __bool__(self):
        return bool(self.item())

    def __int__(self):
        return int(self.item())

    def __float__(self):
        return float(self.item())

    def __index__(self):
        value = self.item()
        if not isinstance(value, int):
            raise TypeError(f"a {self.dtype} is not an index")
        return value

    @property
    def T(self):
        return ops.permute(self, list(range(self.ndim))[::-1])

    __hash__ = object.__hash__


def _handles(tensors):
    return (ctypes.c_void_p * len(tensors))(*[None if item is None else item._handle for item in tensors])


def _operator(op, reverse=False):
    def method(self, other):
        if not (_is_number(other, float) or isinstance(other, complex) or _is_tensor_like(other)):
            return NotImplemented
        if not reverse:
            return ops._find(op)(self, other)
        if not _is_tensor_like(other):
            other = tensor(other, dtype=None if isinstance(other, complex) else _promoted(self, other))
        return ops._find(op)(other, self)
    return method


def _promoted(operand, number):
    """The dtype of a number beside a tensor: that of the tensor, unless the number is of a higher kind."""
    own = operand.dtype
    if isinstance(number, float) and not own.startswith(("float", "bfloat", "complex")):
        return "float32"
    if own == "bool" and not isinstance(number, bool):
        return "int64"
    return own


for _symbol, _op in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide",
                     "mod": "remainder", "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or",
                     "xor": "bitwise_xor"}.items():
    setattr(Tensor, f"__{_symbol}__", _operator(_op))
    setattr(Tensor, f"__r{_symbol}__", _operator(_op, reverse=True))
for _symbol, _op in {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "iadd": "add_",
                     "isub": "sub_", "imul": "mul_", "itruediv": "div_"}.items():
    setattr(Tensor, f"__{_symbol}__", _operator(_op))
for _symbol, _op in {"neg": "neg", "abs": "abs", "invert": "bitwise_not"}.items():
    setattr(Tensor, f"__{_symbol}__", lambda self, op=_op: ops._find(op)(self))


def _indexed(self, index):
    """Numbers, slices, None and ... as views; one tensor or list of indices, or a mask, as a copy."""
    items = index if isinstance(index, tuple) else (index,)
    plain = sum(item is not None and item is not Ellipsis for item in items)
    if plain > self.ndim:
        raise IndexError(f"{plain} indices for a tensor of {self.ndim} dimensions")
    picking = sum(_is_tensor_like(item) or isinstance(item, list) for item in items)
    if picking > 1:
        raise IndexError(f"{picking} lists or tensors of indices: index with one of them after the other")
    if sum(item is Ellipsis for item in items) == 0:
        items += (Ellipsis,)
    result, dim = self, 0
    for place, item in enumerate(items):
        if item is Ellipsis:
            dim += self.ndim - plain
        elif item is None:
            result, dim = ops.unsqueeze(result, dim), dim + 1
        elif isinstance(item, slice):
            start, stop, step = item.indices(result.shape[dim])
            if step < 0:
                result = ops.flip(result, [dim])
                size = result.shape[dim]
                start, stop, step = size - 1 - start, size - 1 - stop, -step
            result, dim = ops.slice(result, dim, start, max(start, stop), step), dim + 1
        elif _is_number(item, int) and not _is_number(item, bool):
            size = result.shape[dim]
            if not -size <= int(item) < size:
                raise IndexError(f"index {item} is outside of dimension {dim}, which has {size} elements")
            result = ops.select(result, dim, int(item))
        elif _is_tensor_like(item) or isinstance(item, list):
            picks = _as_tensor(item) if _is_tensor_like(item) else tensor(item)
            if picks.dtype == "bool":
                if picks.shape != result.shape[dim:dim + picks.ndim] or dim != 0:
                    raise IndexError(f"a mask of shape {list(picks.shape)} does not fit the tensor's shape")
                if picks.ndim != result.ndim or any(later is not Ellipsis for later in items[place + 1:]):
                    raise IndexError("a mask covers all dimensions of the tensor, and no index follows it")
                return ops.masked_select(result, picks)
            if picks.ndim != 1:
                raise IndexError("indices are a list or a tensor of one dimension")
            if picks.size and not picks.dtype.startswith(("int", "uint")):
                raise IndexError(f"indices are integers, found {picks.dtype}")
            size = result.shape[dim]
            picks = ops.where(ops.lt(picks, 0), ops.add(picks, size), picks).to("int64")
            result, dim = ops.index_select(result, dim, picks), dim + 1
        else:
            raise TypeError(f"a {type(item).__name__} is not an index")
    return result


# ---- DLPack: capsules around the structs of the host's service ----

# Names of a capsule before and after it is taken, where its struct has the deleter, and the slots. Names are
# borrowed by capsules.
_FORMS = [(ctypes.c_char_p(b"dltensor_versioned"), ctypes.c_char_p(b"used_dltensor_versioned"), 16, _dlpack.give,
           _dlpack.take),
          (ctypes.c_char_p(b"dltensor"), ctypes.c_char_p(b"used_dltensor"), 56, _dlpack.give_legacy,
           _dlpack.take_legacy)]
_COPY = 1  # TENON_DLPACK_COPY
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _capsule_function(name, capsule, result, *parameters):
    return ctypes.PYFUNCTYPE(result, capsule, *parameters)((name, ctypes.pythonapi))


_capsule_is = _capsule_function("PyCapsule_IsValid", ctypes.py_object, ctypes.c_int, ctypes.c_char_p)
_capsule_get = _capsule_function("PyCapsule_GetPointer", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p)
_capsule_rename = _capsule_function("PyCapsule_SetName", ctypes.py_object, ctypes.c_int, ctypes.c_char_p)
_capsule_new = _capsule_function("PyCapsule_New", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p, ctypes.c_void_p)
# By its address where it is being destroyed, when it must not be referenced again.
_dying_is = _capsule_function("PyCapsule_IsValid", ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
_dying_get = _capsule_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)


@_RELEASE
def _destroy_capsule(capsule):
    """Deletes the struct of a capsule that no consumer has taken."""
    for name, _, deleter, _, _ in _FORMS:
        if _dying_is(capsule, name):
            managed = _dying_get(capsule, name)
            _DELETER(ctypes.c_void_p.from_address(managed + deleter).value)(managed)


def _capsule(source, versioned, copy):
    name, _, _, give, _ = _FORMS[0 if versioned else 1]
    managed = ctypes.c_void_p()
    _checked(give, source._handle, _COPY if copy else 0, ctypes.byref(managed))
    return _capsule_new(managed, name, ctypes.cast(_destroy_capsule, ctypes.c_void_p))


def from_dlpack(source):
    """A tensor over the memory of a producer (`__dlpack__`) or of a capsule; a copy where it steps backwards."""
    capsule = source
    if hasattr(source, "__dlpack__"):
        device = source.__dlpack_device__()[0]
        if device != 1:
            raise BufferError(f"an array on device {int(device)} is not in the processor's memory: copy it there")
        try:
            capsule = source.__dlpack__(max_version=(1, 3))
        except TypeError:  # the producer is older than versions
            capsule = source.__dlpack__()
    for name, used, _, _, take in _FORMS:
        if _capsule_is(capsule, name):
            handle, managed = ctypes.c_void_p(), _capsule_get(capsule, name)
            try:
                _checked(take, managed, 0, ctypes.byref(handle))
            except ValueError as error:
                if "stride" not in str(error):
                    raise
                _checked(take, managed, _COPY, ctypes.byref(handle))
            _capsule_rename(capsule, used)
            return Tensor(handle.value)
    if type(capsule).__name__ != "PyCapsule":
        raise TypeError("from_dlpack() takes an array with __dlpack__ or a DLPack capsule, got "
                        f"{type(source).__name__}")
    raise ValueError("a DLPack capsule is consumed once: this one was taken before, or is of another kind")


# ---- ops ----


def _default(written):
    """A default of a signature: a literal, or the name of a dtype."""
    return written.id if isinstance(written, ast.Name) else ast.literal_eval(written)


class Op:
    """An op: called with tensors, arrays, numbers and keywords, which the host binds by its schema."""

    def __init__(self, name, handle):
        self.name, self._handle = name, handle
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self._parameters = None

    @property
    def schema(self):
        text = _Value()
        _checked(_ops.schema, self._handle, ctypes.byref(text))
        return _taken(text)

    @property
    def parameters(self):
        """The schema's parameters: dictionaries of name, kind, optional and so on."""
        if self._parameters is None:
            schema = self.schema.encode()
            self._parameters = _document(_documents.schema_parse, schema, len(schema))["parameters"]
        return self._parameters

    @property
    def __doc__(self):
        facts = ops._facts().get(self.name)
        return None if facts is None else f"{self.__name__}{facts['signature']}\n\n{facts['doc']}"

    @property
    def __signature__(self):
        signature = _document(_documents.schema_parse, self.schema.encode(), len(self.schema.encode()))["signature"]
        try:
            arguments = ast.parse(f"lambda {signature[1:-1]}: None", mode="eval").body.args
        except SyntaxError:
            return inspect.Signature([inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL),
                                      inspect.Parameter("keywords", inspect.Parameter.VAR_KEYWORD)])
        kinds = [(arguments.args, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                  [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults),
                 (arguments.kwonlyargs, inspect.Parameter.KEYWORD_ONLY, arguments.kw_defaults)]
        return inspect.Signature([
            inspect.Parameter(argument.arg, kind, default=inspect.Parameter.empty if default is None
                              else _default(default))
            for names, kind, defaults in kinds for argument, default in zip(names, defaults)])

    def __call__(self, *arguments, **keywords):
        kinds = [parameter["kind"] for parameter in self.parameters]
        by_name = {parameter["name"]: parameter["kind"] for parameter in self.parameters}
        keep = []
        positional = (_Value * len(arguments))(*[
            _value(argument, kinds[i] if i < len(kinds) else "any", keep) for i, argument in enumerate(arguments)])
        named = (_Value * len(keywords))(*[
            _value(argument, by_name.get(name, "any"), keep) for name, argument in keywords.items()])
        results = (_Value * max(1, _ops.result_count(self._handle)))()
        _checked(_ops.call_keywords, self._handle, positional, len(arguments), _texts(list(keywords)), named,
                 len(keywords), results)
        taken = tuple(_taken(result) for result in results)[:_ops.result_count(self._handle)]
        return taken if len(taken) != 1 or _ops.returns_tuple(self._handle) else taken[0]

    def __repr__(self):
        return f"<op {self.schema}>"


class _Ops:
    """Ops by their names, `ops.nn.functional.linear`; iterated, all ops of the plugins that can be found."""

    def __init__(self, prefix, found):
        self._prefix, self._found = prefix, found

    def _find(self, name):
        op = self._found.get(name)
        if op is None:
            handle, text = ctypes.c_void_p(), name.encode()
            _checked(_ops.find, text, len(text), ctypes.byref(handle))
            op = self._found[name] = Op(name, handle.value)
        return op

    def _facts(self):
        """The facts of each op in plugin files, by its name."""
        declared = {}
        for plugin in _document(_documents.document, _FACTS):
            for op in plugin.get("facts", {}).get("ops", ()):
                if "fault" not in op:
                    declared.setdefault(op["name"], op)
        return declared

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        full = self._prefix + name
        try:
            return self._find(full)
        except Error as error:
            if any(declared.startswith(full + ".") for declared in self._facts()):
                return _Ops(full + ".", self._found)
            raise AttributeError(str(error)) from error

    def __iter__(self):
        for name in sorted(self._facts()):
            if name.startswith(self._prefix):
                with contextlib.suppress(Error):  # a plugin that does not load
                    yield self._find(name)

    def __dir__(self):
        names = {name[len(self._prefix):].partition(".")[0] for name in self._facts()
                 if name.startswith(self._prefix)}
        return sorted(names)


ops = _Ops("", {})


# ---- what NumPy's functions are in ops ----

# NumPy's function: the op, and keywords that have another name in it. Only functions that mean what the op
# means are here; others answer TypeError, as NumPy has it for types that do not implement them.
_REDUCED = {"axis": "dim", "keepdims": "keepdim"}
_NUMPY = {name: (name, {}) for name in (
    "exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sqrt", "square", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "floor", "ceil", "trunc", "isnan", "isinf", "isfinite", "matmul", "where", "outer", "hypot",
    "logaddexp", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_not", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "nextafter", "floor_divide", "remainder", "fmod")}
_NUMPY.update({
    "add": ("add", {}), "subtract": ("sub", {}), "multiply": ("mul", {}), "true_divide": ("div", {}),
    "divide": ("div", {}), "power": ("pow", {}), "negative": ("neg", {}), "absolute": ("abs", {}),
    "reciprocal": ("reciprocal", {}), "arcsin": ("asin", {}), "arccos": ("acos", {}), "arctan": ("atan", {}),
    "arcsinh": ("asinh", {}), "arccosh": ("acosh", {}), "arctanh": ("atanh", {}), "arctan2": ("atan2", {}),
    "rint": ("round", {}), "invert": ("bitwise_not", {}), "equal": ("eq", {}), "not_equal": ("ne", {}),
    "less": ("lt", {}), "less_equal": ("le", {}), "greater": ("gt", {}), "greater_equal": ("ge", {}),
    "sum": ("sum", _REDUCED), "mean": ("mean", _REDUCED), "prod": ("prod", _REDUCED), "amax": ("amax", _REDUCED),
    "amin": ("amin", _REDUCED), "max": ("amax", _REDUCED), "min": ("amin", _REDUCED), "all": ("all", _REDUCED),
    "any": ("any", _REDUCED), "argmax": ("argmax", _REDUCED), "argmin": ("argmin", _REDUCED),
    "cumsum": ("cumsum", _REDUCED), "cumprod": ("cumprod", _REDUCED), "concatenate": ("cat", _REDUCED),
    "stack": ("stack", _REDUCED), "squeeze": ("squeeze", _REDUCED), "expand_dims": ("unsqueeze", _REDUCED),
    "reshape": ("reshape", {"newshape": "shape"}), "broadcast_to": ("expand", {"shape": "size"}),
    "moveaxis": ("movedim", {}), "swapaxes": ("transpose", {}), "flip": ("flip", {"axis": "dims"}),
    "tril": ("tril", {"k": "diagonal"}), "triu": ("triu", {"k": "diagonal"}), "clip": ("clamp", {}),
    "kron": ("kron", {}), "einsum": ("einsum", {}), "signbit": ("signbit", {}), "trace": ("trace", {}),
    "diagonal": ("diagonal", {"axis1": "dim1", "axis2": "dim2"}), "diff": ("diff", _REDUCED),
    "count_nonzero": ("count_nonzero", _REDUCED), "nansum": ("nansum", _REDUCED), "nanmean": ("nanmean", _REDUCED),
    "rot90": ("rot90", {"axes": "dims"}), "isin": ("isin", {"element": "elements"}),
    "linalg.inv": ("linalg.inv", {}), "linalg.det": ("linalg.det", {}), "linalg.cholesky": ("linalg.cholesky", {}),
    "linalg.solve": ("linalg.solve", {}), "linalg.matrix_power": ("linalg.matrix_power", {}),
    "linalg.eigvalsh": ("linalg.eigvalsh", {})})
_NUMPY.update({f"fft.{name}": (f"fft.{name}", {"axis": "dim", "axes": "dim"}) for name in (
    "fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn", "fftshift",
    "ifftshift")})


# Ops whose functions run over all elements in one line where `axis` is None, with the axis of a call without one.
_FLATTENED = {"cat": 0, "cumsum": None, "cumprod": None}


def _flattened(operand):
    return ops.reshape(operand, [-1]) if _is_tensor_like(operand) else [_flattened(item) for item in operand]


def _call_as_numpy(meaning, arguments, keywords):
    name, renamed = meaning
    if name in _FLATTENED:
        axis = arguments[1] if len(arguments) > 1 else keywords.get("axis", _FLATTENED[name])
        if axis is None:
            arguments = (_flattened(arguments[0]), *arguments[2:])
            keywords = {**keywords, "axis": 0}
    keywords = {renamed.get(key, key): value for key, value in keywords.items()
                if value is not None and repr(value) != "<no value>"}
    op, arguments = ops._find(name), list(arguments)
    for i, parameter in enumerate(op.parameters[:len(arguments)]):
        if parameter["kind"] == "Tensor" and parameter.get("list") and _is_tensor_like(arguments[i]):
            arguments[i:] = [arguments[i:]]  # NumPy takes the operands one by one
    return op(*arguments, **keywords)


# ---- gradients and plugins ----


def gradients(outputs, inputs, seeds=None, retain_graph=False, create_graph=False, allow_unused=False):
    """One gradient for each input; `.grad` stays as it is."""
    outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    seeds = [None] * len(outputs) if seeds is None else [seeds] if _is_tensor_like(seeds) else list(seeds)
    seeds = [None if seed is None else _as_tensor(seed) for seed in seeds]
    if len(seeds) != len(outputs):
        raise ValueError(f"{len(seeds)} seeds for {len(outputs)} outputs")
    results = (ctypes.c_void_p * len(inputs))()
    _checked(_autograd.gradients, _handles(outputs), _handles(seeds), len(outputs), _handles(inputs), len(inputs),
             retain_graph, create_graph, allow_unused, results)
    return [Tensor(handle) if handle else None for handle in results]


@contextlib.contextmanager
def _recording(enabled):
    previous = _autograd.grad_mode_set(enabled)
    try:
        yield
    finally:
        _autograd.grad_mode_set(previous)


def no_grad():
    """A block in which nothing is recorded: `with tenon.no_grad():`."""
    return _recording(0)


def enable_grad():
    """A block in which calls are recorded, also within no_grad()."""
    return _recording(1)


def load(plugin):
    """Loads a plugin now, by id or file; without it, the first use of one of its ops does."""
    _checked(_plugins.load, os.fspath(plugin).encode())


def add_plugin_path(folder):
    """Has a folder searched for plugins before the others."""
    _checked(_plugins.path_add, os.fspath(folder).encode())
