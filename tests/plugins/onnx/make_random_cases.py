"""Writes models of one node with attributes, shapes and elements drawn at random, in the folders of
make_operator_cases.py. Operators are of a random version that takes the attributes. Cases that ONNX Runtime refuses
are left out by `operator_outputs.js ... refusals`, so a few attributes that do not fit do no harm.

    make_random_cases.py FOLDER [SEED [CASES OF AN OPERATOR]]"""
import sys

import numpy as np

from operator_cases import F, Cases, TensorProto, onnx_type

SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 4
rng = np.random.default_rng(SEED)
cases = Cases(sys.argv[1])
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


# ---- what is drawn ----

def pick(*choices):
    return choices[rng.integers(len(choices))]


def maybe(value, chance=0.5):
    return value if rng.random() < chance else None


def shape(low=1, high=4, least=1, most=5):
    return tuple(int(n) for n in rng.integers(least, most + 1, rng.integers(low, high + 1)))


def normal(*sizes):
    return rng.standard_normal(sizes).astype(F)


def numbers(sizes, dtype):
    """Elements of a dtype; of integers few, so that some are equal."""
    dtype = np.dtype(dtype)
    if dtype == bool:
        return rng.random(sizes) > 0.5
    if dtype.kind == "f":
        return np.asarray(rng.standard_normal(sizes) * 2, dtype)
    return np.asarray(rng.integers(0 if dtype.kind == "u" else -6, 7, sizes), dtype)


def whole(*sizes):
    """Floats among which some are equal."""
    return np.asarray(rng.integers(-4, 5, sizes), F)


def ints(*values):
    return [np.array(values, np.int64)]


def axis_of(array):
    return int(rng.integers(-array.ndim, array.ndim))


def axes_of(array, least=1):
    count = int(rng.integers(least, array.ndim + 1))
    return [int(a) if rng.random() < 0.5 else int(a) - array.ndim for a in rng.permutation(array.ndim)[:count]]


def broadcast(sizes):
    """A shape that is broadcast with another one."""
    made = [1 if rng.random() < 0.3 else n for n in sizes]
    return tuple(made[int(rng.integers(0, len(made))):] if rng.random() < 0.4 else made)


def given(**attributes):
    return {key: value for key, value in attributes.items() if value is not None}


# ---- elementwise ----

def unary(operator, opset, low=None, high=None, dtypes=(F,), result=None):
    def draw():
        dtype = pick(*dtypes)
        x = numbers(shape(0, 4), dtype)
        if low is not None:
            x = np.asarray(rng.uniform(low, high, x.shape), dtype)
        return dict(operator=operator, opset=pick(*opset), inputs=[x], results=[result or onnx_type(x.dtype)])
    return operator, draw


def binary(operator, opset, dtypes=(F,), result=None, second=None):
    def draw():
        dtype = pick(*dtypes)
        sizes = shape(1, 4)
        a, b = numbers(sizes, dtype), numbers(broadcast(sizes), dtype)
        if second is not None:
            b = second(b)
        if rng.random() < 0.3 and second is None:
            a, b = b, a
        return dict(operator=operator, opset=pick(*opset), inputs=[a, b], results=[result or onnx_type(dtype)])
    return operator, draw


def not_zero(array):
    array = np.array(array)
    array[array == 0] = 3
    return array


def parameterized(operator, opset, least=1, **ranges):
    def draw():
        return dict(operator=operator, opset=pick(*opset), inputs=[numbers(shape(1, 3, least), F)],
                    **{key: (float(np.round(rng.uniform(*r), 2)) if isinstance(r[0], float) else pick(*r))
                       for key, r in ranges.items() if rng.random() < 0.7})
    return operator, draw


def many(operator):
    def draw():
        sizes, dtype = shape(1, 3), pick(F, F, np.int32, np.int64) if operator in ("Max", "Min") else F
        return dict(operator=operator, opset=13, inputs=[numbers(broadcast(sizes), dtype) for _ in range(rng.integers(1, 5))],
                    results=[onnx_type(dtype)])
    return operator, draw


def clip():
    dtype = pick(F, np.int32, np.int64, np.int8, np.uint8)
    low, high = sorted(int(n) for n in rng.integers(0, 6, 2))
    return dict(operator="Clip", opset=pick(12, 13), inputs=[numbers(shape(), dtype), maybe([dtype(low)], 0.8), maybe([dtype(high)], 0.8)],
                results=[onnx_type(dtype)])


def mod():
    dtype = pick(np.int32, np.int64, np.int8, np.uint8, F)
    sizes = shape()
    return dict(operator="Mod", opset=13, inputs=[numbers(sizes, dtype), not_zero(numbers(broadcast(sizes), dtype))],
                results=[onnx_type(dtype)], fmod=1 if dtype == F else pick(0, 1))


def shift():
    sizes = shape()
    return dict(operator="BitShift", opset=11, inputs=[numbers(sizes, np.uint8), numbers(broadcast(sizes), np.uint8)],
                results=[TensorProto.UINT8], direction=pick("LEFT", "RIGHT"))


def power():
    base, exponent = pick(F, np.int32, np.int64), pick(F, np.int32, np.int64)
    sizes = shape(1, 3)
    a = np.abs(numbers(sizes, base)) + base(1)
    return dict(operator="Pow", opset=pick(13, 15), inputs=[a, np.abs(numbers(broadcast(sizes), exponent))], results=[onnx_type(base)])


def where():
    sizes, dtype = shape(), pick(F, np.int64, np.uint8, np.int32)
    return dict(operator="Where", opset=pick(9, 16), inputs=[numbers(broadcast(sizes), bool), numbers(sizes, dtype), numbers(broadcast(sizes), dtype)],
                results=[onnx_type(dtype)])


def cast():
    source, target = pick(F, np.int32, np.int64, np.uint8, bool, np.float64), pick(F, np.int32, np.int64, np.int8, np.uint8, bool, np.float64)
    x = np.abs(numbers(shape(), source)) if source != bool else numbers(shape(), bool)
    if rng.random() < 0.5:
        return dict(operator="CastLike", opset=15, inputs=[x, numbers((2,), target)], results=[onnx_type(target)])
    return dict(operator="Cast", opset=pick(9, 13, 19, 21), inputs=[x], results=[onnx_type(target)], to=onnx_type(target))


def is_inf():
    x = numbers(shape(), F)
    x[rng.random(x.shape) < 0.3] = pick(np.inf, -np.inf, np.nan)
    return dict(operator="IsInf", opset=pick(10, 20), inputs=[x], results=[BOOL], detect_negative=pick(0, 1), detect_positive=pick(0, 1))


# ---- shapes ----

def concat():
    dtype, x = pick(F, np.int64), shape(1, 4)
    axis = int(rng.integers(-len(x), len(x)))
    parts = []
    for _ in range(rng.integers(1, 4)):
        sizes = list(x)
        sizes[axis] = int(rng.integers(0, 4))
        parts.append(numbers(sizes, dtype))
    return dict(operator="Concat", opset=pick(11, 13), inputs=parts, results=[onnx_type(dtype)], axis=axis)


def slice_():
    x = numbers(shape(1, 4), pick(F, np.int64))
    axes = axes_of(x)
    starts, ends, steps = [], [], []
    for _ in axes:
        steps.append(pick(1, 1, 2, 3, -1, -2))
        starts.append(int(rng.integers(-7, 8)))
        ends.append(pick(int(rng.integers(-7, 8)), 2**31 - 1 if steps[-1] > 0 else -2**31))
    return dict(operator="Slice", opset=pick(10, 11, 13), inputs=[x, ints(*starts), ints(*ends), ints(*axes), ints(*steps)],
                results=[onnx_type(x.dtype)])


def gather():
    x = numbers(shape(1, 4), pick(F, np.int64))
    axis = axis_of(x)
    size = x.shape[axis]
    places = rng.integers(-size, size, shape(0, 2, 1, 3), np.int64)
    return dict(operator="Gather", opset=pick(11, 13), inputs=[x, places], results=[onnx_type(x.dtype)], axis=axis)


def gather_elements():
    x = numbers(shape(1, 3), F)
    axis = axis_of(x)
    sizes = [int(rng.integers(1, n + 1)) for n in x.shape]
    sizes[axis] = int(rng.integers(1, 6))
    return dict(operator="GatherElements", opset=pick(11, 13), inputs=[x, rng.integers(-x.shape[axis], x.shape[axis], sizes, np.int64)], axis=axis)


def gather_nd():
    x = numbers(shape(2, 4), F)
    batch = int(rng.integers(0, x.ndim))
    last = int(rng.integers(1, x.ndim - batch + 1))
    sizes = x.shape[:batch] + shape(1, 2, 1, 3) + (last,)
    places = np.stack([rng.integers(-x.shape[batch + i], x.shape[batch + i], sizes[:-1], np.int64) for i in range(last)], -1)
    return dict(operator="GatherND", opset=pick(12, 13), inputs=[x, places], batch_dims=batch)


def scatter_elements():
    x = numbers(shape(1, 3), F)
    axis = axis_of(x)
    reduction = pick("none", "add", "mul", "max", "min")
    sizes = [int(rng.integers(1, n + 1)) for n in x.shape]
    sizes[axis] = x.shape[axis] if reduction == "none" else int(rng.integers(1, 6))
    places = rng.integers(-x.shape[axis], x.shape[axis], sizes, np.int64)
    if reduction == "none":  # the order of updates for one place is not defined
        places = np.argsort(rng.random(sizes), axis=axis).astype(np.int64)
    return dict(operator="ScatterElements", opset=18, inputs=[x, places, numbers(sizes, F)], axis=axis, reduction=reduction)


def scatter_nd():
    x = numbers(shape(2, 3), F)
    reduction = pick("add", "mul", "max", "min")
    last = int(rng.integers(1, x.ndim + 1))
    count = int(rng.integers(1, 5))
    places = np.stack([rng.integers(-x.shape[i], x.shape[i], count, np.int64) for i in range(last)], -1)
    return dict(operator="ScatterND", opset=18, inputs=[x, places, numbers((count,) + x.shape[last:], F)], reduction=reduction)


def pad():
    x = numbers(shape(1, 4, 3), pick(F, np.int64))
    mode = pick("constant", "edge", "reflect", "wrap")
    low = 0 if mode != "constant" else -1
    sides = [int(rng.integers(low, 3)) for _ in range(2 * x.ndim)]
    axes = None
    if rng.random() < 0.4:
        axes = axes_of(x)
        sides = sides[:2 * len(axes)]
    return dict(operator="Pad", opset=19, inputs=[x, ints(*sides), maybe([x.dtype.type(7)]) if mode == "constant" else None, ints(*axes) if axes else None],
                results=[onnx_type(x.dtype)], mode=mode)


def transpose():
    x = numbers(shape(1, 4), pick(F, np.int64, np.uint8, bool))
    return dict(operator="Transpose", opset=pick(1, 13), inputs=[x], results=[onnx_type(x.dtype)], **given(perm=maybe([int(n) for n in rng.permutation(x.ndim)], 0.8)))


def reshape():
    x = numbers(shape(1, 4), F)
    target = [int(n) for n in rng.permutation(x.shape)] if rng.random() < 0.4 else [x.shape[0], -1]
    if rng.random() < 0.5:
        target[0] = 0 if target[0] == x.shape[0] else target[0]
    return dict(operator="Reshape", opset=pick(13, 14), inputs=[x, ints(*target)])


def flatten():
    x = numbers(shape(0, 4), F)
    return dict(operator="Flatten", opset=pick(11, 13), inputs=[x], axis=int(rng.integers(-x.ndim, x.ndim + 1)))


def squeeze():
    sizes = [1 if rng.random() < 0.5 else 3 for _ in range(4)]
    ones = [i for i, n in enumerate(sizes) if n == 1]
    axes = maybe(ints(*[pick(i, i - 4) for i in ones])) if ones else None
    return dict(operator="Squeeze", opset=13, inputs=[numbers(sizes, F), axes])


def unsqueeze():
    x = numbers(shape(0, 3), F)
    places = rng.permutation(x.ndim + 2)[:2]
    return dict(operator="Unsqueeze", opset=13, inputs=[x, ints(*[int(pick(p, p - x.ndim - 2)) for p in places])])


def split():
    x = numbers(shape(1, 3, 4, 7), F)
    axis, count = axis_of(x), int(rng.integers(1, 4))
    if rng.random() < 0.5:
        first = int(rng.integers(0, x.shape[axis] + 1))
        return dict(operator="Split", opset=pick(13, 18), inputs=[x, ints(first, x.shape[axis] - first)], outputs=2, axis=axis)
    return dict(operator="Split", opset=18, inputs=[x], outputs=count, axis=axis, num_outputs=count)


def depth_to_space():
    block, n, c, h, w = 2, *(int(a) for a in rng.integers(1, 4, 4))
    return dict(operator="DepthToSpace", opset=pick(11, 13), inputs=[normal(n, 4 * c, h, w)], blocksize=block, mode=pick("DCR", "CRD"))


def space_to_depth():
    n, c, h, w = (int(a) for a in rng.integers(1, 4, 4))
    return dict(operator="SpaceToDepth", opset=pick(1, 13), inputs=[normal(n, c, 2 * h, 2 * w)], blocksize=2)


def trilu():
    return dict(operator="Trilu", opset=14, inputs=[numbers(shape(2, 4), F), maybe([np.array(rng.integers(-5, 6))])], upper=pick(0, 1))


def tile():
    x = numbers(shape(1, 3), F)
    return dict(operator="Tile", opset=pick(6, 13), inputs=[x, ints(*[int(n) for n in rng.integers(0, 4, x.ndim)])])


def expand():
    sizes = shape(1, 4)
    return dict(operator="Expand", opset=pick(8, 13), inputs=[numbers(broadcast(sizes), F), ints(*broadcast(sizes))])


def cumsum():
    x = numbers(shape(1, 3), pick(F, np.int64))
    return dict(operator="CumSum", opset=pick(11, 14), inputs=[x, [np.array(axis_of(x))]], results=[onnx_type(x.dtype)], exclusive=pick(0, 1), reverse=pick(0, 1))


def one_hot():
    x = rng.integers(-6, 7, shape(1, 3), np.int64)
    return dict(operator="OneHot", opset=11, inputs=[x, [np.array(4)], [np.array([pick(0, -1), 2], F)]], axis=int(rng.integers(-x.ndim - 1, x.ndim + 1)))


def topk():
    x = pick(whole, normal)(*shape(1, 3, 2, 7))
    axis = axis_of(x)
    return dict(operator="TopK", opset=11, inputs=[x, ints(int(rng.integers(0, x.shape[axis] + 1)))], outputs=2, results=[FLOAT, INT64], axis=axis,
                largest=pick(0, 1))


def unique():
    x = whole(*shape(1, 3))
    return dict(operator="Unique", opset=11, inputs=[x], outputs=4, results=[FLOAT, INT64, INT64, INT64], sorted=pick(0, 1), **given(axis=maybe(axis_of(x))))


def nonzero():
    return dict(operator="NonZero", opset=pick(9, 13), inputs=[numbers(shape(1, 3), pick(F, bool, np.int64))], results=[INT64])


def compress():
    x = numbers(shape(1, 3), F)
    axis = maybe(axis_of(x))
    length = x.size if axis is None else x.shape[axis]
    return dict(operator="Compress", opset=11, inputs=[x, rng.random(int(rng.integers(1, length + 1))) > 0.5], **given(axis=axis))


def reverse_sequence():
    x = normal(*shape(2, 4))
    batch = int(rng.integers(0, 2))
    return dict(operator="ReverseSequence", opset=10, inputs=[x, rng.integers(1, x.shape[1 - batch] + 1, x.shape[batch], np.int64)], batch_axis=batch, time_axis=1 - batch)


def eye_like():
    return dict(operator="EyeLike", opset=pick(9, 22), inputs=[normal(*shape(2, 2))], k=int(rng.integers(-3, 4)))


def shape_():
    return dict(operator="Shape", opset=15, inputs=[normal(*shape(0, 4))], results=[INT64], start=int(rng.integers(-5, 5)), **given(end=maybe(int(rng.integers(-5, 6)))))


# ---- reductions ----

def reduce(kind):
    def draw():
        x = numbers(shape(1, 4), F)
        if kind in ("LogSum",):
            x = np.abs(x) + F(0.1)
        axes = maybe(ints(*axes_of(x)), 0.7)
        return dict(operator="Reduce" + kind, opset=pick(18, 18, 20) if kind in ("Max", "Min") else 18, inputs=[x, axes], keepdims=pick(0, 1),
                    noop_with_empty_axes=pick(0, 1))
    return "Reduce" + kind, draw


def arg(operator):
    def draw():
        x = whole(*shape(1, 3, 1, 6))
        return dict(operator=operator, opset=pick(12, 13), inputs=[x], results=[INT64], axis=axis_of(x), keepdims=pick(0, 1), select_last_index=pick(0, 1))
    return operator, draw


def softmax(operator):
    def draw():
        x = pick(normal, whole)(*shape(1, 4))
        return dict(operator=operator, opset=pick(1, 11, 13), inputs=[x], **given(axis=maybe(int(rng.integers(0, x.ndim)), 0.7)))
    return operator, draw


# ---- products ----

def matmul():
    batch, n, k, m = shape(0, 2), *(int(a) for a in rng.integers(1, 6, 3))
    a, b = normal(*broadcast(batch or (1,)), n, k), normal(*(batch or ()), k, m)
    if rng.random() < 0.2:
        a = normal(k)
    elif rng.random() < 0.2:
        b = normal(k)
    return dict(operator="MatMul", opset=pick(9, 13), inputs=[a, b])


def gemm():
    n, k, m = (int(a) for a in rng.integers(1, 6, 3))
    ta, tb = pick(0, 1), pick(0, 1)
    c = pick(None, normal(n, m), normal(m), normal(1, m), normal(n, 1), normal())
    return dict(operator="Gemm", opset=pick(11, 13), inputs=[normal(*((k, n) if ta else (n, k))), normal(*((m, k) if tb else (k, m))), c], transA=ta, transB=tb,
                alpha=pick(1.0, 0.5), beta=pick(1.0, -2.0, 0.0))


def einsum():
    equation, *sizes = pick(("ij,jk->ik", (2, 3), (3, 4)), ("bij,bjk", (2, 2, 3), (2, 3, 2)), ("ii->i", (3, 3)), ("ij->", (2, 3)), ("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2)),
                            ("bhqd,bhkd->bhqk", (1, 2, 3, 4), (1, 2, 5, 4)), ("i,j->ij", (3,), (4,)), ("ij,ik,jk->i", (2, 3), (2, 4), (3, 4)), ("iij->j", (3, 3, 2)))
    return dict(operator="Einsum", opset=12, inputs=[normal(*one) for one in sizes], equation=equation)


def matmul_integer():
    n, k, m = (int(a) for a in rng.integers(1, 6, 3))
    a, b = rng.integers(0, 255, (n, k), np.uint8), rng.integers(-128, 127, (k, m)).astype(pick(np.int8, np.uint8))
    return dict(operator="MatMulInteger", opset=10, inputs=[a, b, maybe([np.uint8(rng.integers(0, 255))]), maybe([b.dtype.type(3)])], results=[TensorProto.INT32])


# ---- windows ----

def window(dims, sizes, ceil=False, dilate=True):
    """kernel, and attributes of a window that fits."""
    kernel = [int(rng.integers(1, min(4, n) + 1)) for n in sizes]
    attributes = {}
    if rng.random() < 0.6:
        attributes["strides"] = [int(n) for n in rng.integers(1, 4, dims)]
    if rng.random() < 0.2:
        attributes["auto_pad"] = pick("SAME_UPPER", "SAME_LOWER", "VALID")
    else:
        if dilate and rng.random() < 0.4:
            attributes["dilations"] = [int(rng.integers(1, 3)) if (k - 1) * 2 < n else 1 for k, n in zip(kernel, sizes)]
        if rng.random() < 0.6:
            attributes["pads"] = [int(rng.integers(0, k)) for k in kernel * 2]
    if ceil and rng.random() < 0.5:
        attributes["ceil_mode"] = 1
    return kernel, attributes


def conv():
    dims = int(rng.integers(1, 4))
    sizes = [int(n) for n in rng.integers(4, 8, dims)]
    kernel, attributes = window(dims, sizes)
    group = pick(1, 1, 2, 3)
    channels, features = group * int(rng.integers(1, 3)), group * int(rng.integers(1, 3))
    return dict(operator="Conv", opset=pick(1, 11, 22), inputs=[normal(int(rng.integers(1, 3)), channels, *sizes), normal(features, channels // group, *kernel), maybe(normal(features))],
                group=group, **attributes)


def conv_transpose():
    dims = int(rng.integers(1, 3))
    sizes = [int(n) for n in rng.integers(2, 6, dims)]
    kernel, attributes = window(dims, [9] * dims)
    group = pick(1, 2)
    channels = group * int(rng.integers(1, 3))
    strides = attributes.get("strides", [1] * dims)
    if attributes.get("auto_pad", "").startswith("SAME") and any(s > k for s, k in zip(strides, kernel)):
        del attributes["auto_pad"]  # the size is in the tables of differences
    if rng.random() < 0.4:
        attributes["output_padding"] = [int(rng.integers(0, s)) for s in strides]
    return dict(operator="ConvTranspose", opset=pick(1, 11), inputs=[normal(1, channels, *sizes), normal(channels, int(rng.integers(1, 3)), *kernel), None], group=group, **attributes)


def pool(operator):
    def draw():
        dims = int(rng.integers(1, 4))
        sizes = [int(n) for n in rng.integers(4, 8, dims)]
        kernel, attributes = window(dims, sizes, True, operator != "AveragePool" or rng.random() < 0.5)
        attributes["kernel_shape"] = kernel
        outputs, results, opset = 1, None, 18
        if operator == "AveragePool":
            opset = 19
            attributes["count_include_pad"] = pick(0, 1)
        if operator == "LpPool":
            attributes["p"] = pick(1, 2, 3)
        if operator == "MaxPool":
            opset = pick(8, 11, 12)
            if opset < 11:
                attributes.pop("ceil_mode", None), attributes.pop("dilations", None)
            if rng.random() < 0.5:
                outputs, results = 2, [FLOAT, INT64]
        return dict(operator=operator, opset=opset, inputs=[normal(2, 3, *sizes)], outputs=outputs, results=results, **attributes)
    return operator, draw


def global_pool():
    return dict(operator=pick("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"), opset=pick(2, 20), inputs=[normal(2, 3, *shape(1, 3))])


def rois(count, size):
    boxes = np.sort(rng.uniform(-1, size + 1, (count, 2, 2)), axis=2)
    return np.stack([boxes[:, 0, 0], boxes[:, 1, 0], boxes[:, 0, 1], boxes[:, 1, 1]], -1).astype(F)


def max_roi_pool():
    x, count = normal(2, 3, 8, 9), int(rng.integers(1, 5))
    boxes = np.concatenate([rng.integers(0, 2, (count, 1)).astype(F), rois(count, 12)], 1)
    return dict(operator="MaxRoiPool", opset=1, inputs=[x, boxes], pooled_shape=[int(n) for n in rng.integers(1, 5, 2)], spatial_scale=pick(1.0, 0.5, 0.7))


def roi_align():
    x, count = normal(2, 3, 8, 9), int(rng.integers(1, 5))
    attributes = given(output_height=maybe(int(rng.integers(1, 5))), output_width=maybe(int(rng.integers(1, 5))), sampling_ratio=pick(0, 1, 2, 3),
                       spatial_scale=pick(1.0, 0.5, 0.7), mode=pick("avg", "max"))
    opset = pick(10, 16)
    if opset >= 16:
        attributes["coordinate_transformation_mode"] = pick("half_pixel", "output_half_pixel")
    return dict(operator="RoiAlign", opset=opset, inputs=[x, rois(count, 8), rng.integers(0, 2, count, np.int64)], **attributes)


def max_unpool():
    n, c, h, w = 1, 2, 3, 4
    places = np.stack([rng.permutation(4 * h * w)[:h * w] for _ in range(n * c)]).reshape(n, c, h, w)
    places = places + np.arange(n * c).reshape(n, c, 1, 1) * 4 * h * w
    return dict(operator="MaxUnpool", opset=pick(9, 11), inputs=[normal(n, c, h, w), places.astype(np.int64)], kernel_shape=[2, 2], strides=[2, 2])


def deform_conv():
    group, offset_group = pick(1, 2), pick(1, 2)
    kernel, attributes = window(2, [5, 6])
    attributes.pop("auto_pad", None)
    strides, dilations, pads = attributes.get("strides", [1, 1]), attributes.get("dilations", [1, 1]), attributes.get("pads", [0] * 4)
    out = [(n + pads[i] + pads[i + 2] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i, n in enumerate((5, 6))]
    if min(out) < 1:
        return None
    return dict(operator="DeformConv", opset=pick(19, 22), inputs=[normal(1, 4, 5, 6), normal(2, 4 // group, *kernel), normal(1, 2 * offset_group * kernel[0] * kernel[1], *out),
                maybe(normal(2)), maybe(np.abs(normal(1, offset_group * kernel[0] * kernel[1], *out)))], group=group, offset_group=offset_group, **attributes)


def col2im():
    kernel, attributes = window(2, [5, 6])
    attributes.pop("auto_pad", None)
    strides, dilations, pads = attributes.get("strides", [1, 1]), attributes.get("dilations", [1, 1]), attributes.get("pads", [0] * 4)
    out = [(n + pads[i] + pads[i + 2] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i, n in enumerate((5, 6))]
    if min(out) < 1:
        return None
    return dict(operator="Col2Im", opset=18, inputs=[normal(2, 3 * kernel[0] * kernel[1], out[0] * out[1]), ints(5, 6), ints(*kernel)], **attributes)


# ---- normalization ----

def batch_norm():
    x = normal(*shape(2, 4, 2))
    c = x.shape[1]
    return dict(operator="BatchNormalization", opset=pick(9, 14, 15), inputs=[x, normal(c), normal(c), normal(c), np.abs(normal(c)) + F(0.1)], epsilon=pick(1e-5, 0.01))


def instance_norm():
    x = normal(*shape(3, 4, 2))
    return dict(operator="InstanceNormalization", opset=pick(6, 22), inputs=[x, normal(x.shape[1]), normal(x.shape[1])], epsilon=pick(1e-5, 0.01))


def layer_norm(operator="LayerNormalization"):
    x = normal(*shape(1, 4, 2))
    axis = axis_of(x)
    sizes = x.shape[axis:]
    inputs = [x, normal(*sizes)] + ([maybe(normal(*sizes))] if operator == "LayerNormalization" else [])
    outputs = pick(1, 3) if operator == "LayerNormalization" else 1
    return dict(operator=operator, opset=17 if operator == "LayerNormalization" else 23, inputs=inputs, outputs=outputs, axis=axis, epsilon=pick(1e-5, 0.01))


def group_norm():
    groups, each = pick(1, 2, 3), int(rng.integers(1, 3))
    x = normal(2, groups * each, *shape(1, 3, 2))
    return dict(operator="GroupNormalization", opset=21, inputs=[x, normal(groups * each), normal(groups * each)], num_groups=groups, epsilon=pick(1e-5, 0.01))


def lrn():
    return dict(operator="LRN", opset=pick(1, 13), inputs=[normal(*shape(4, 4))], size=pick(1, 3, 5), alpha=pick(1e-4, 0.5), beta=pick(0.75, 1.5), bias=pick(1.0, 2.0))


def lp_normalization():
    x = normal(*shape(1, 3, 2))
    return dict(operator="LpNormalization", opset=pick(1, 22), inputs=[x], axis=axis_of(x), p=pick(1, 2))


def mean_variance():
    x = normal(*shape(4, 4, 2))
    return dict(operator="MeanVarianceNormalization", opset=pick(9, 13), inputs=[x], **given(axes=maybe(sorted(axes_of(np.zeros((1, 1, 1, 1)))) and [0, 2, 3])))


# ---- recurrent ----

def recurrent(operator):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[operator]

    def draw():
        steps, batch, size, hidden = (int(n) for n in rng.integers(1, 5, 4))
        direction = pick("forward", "reverse", "bidirectional")
        d = 2 if direction == "bidirectional" else 1
        lengths = maybe(rng.integers(1, steps + 1, batch).astype(np.int32), 0.3)
        if lengths is not None:
            lengths[rng.integers(batch)] = steps
        inputs = [normal(steps, batch, size), normal(d, gates * hidden, size), normal(d, gates * hidden, hidden) * F(0.4), maybe(normal(d, 2 * gates * hidden)), lengths,
                  maybe(normal(d, batch, hidden))]
        attributes = dict(hidden_size=hidden, direction=direction, **given(clip=maybe(0.7, 0.3)))
        outputs = 2
        if operator == "LSTM":
            inputs += [maybe(normal(d, batch, hidden)), maybe(normal(d, 3 * hidden), 0.3)]
            attributes.update(given(input_forget=maybe(1, 0.2)))
            outputs = 3
        if operator == "GRU":
            attributes["linear_before_reset"] = pick(0, 1)
        if rng.random() < 0.4:
            each = {"RNN": 1, "GRU": 2, "LSTM": 3}[operator]
            attributes["activations"] = [pick("Tanh", "Sigmoid", "Relu", "Softsign", "HardSigmoid", "Elu", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "Affine") for _ in range(each * d)]
            known = {"HardSigmoid": (0.2, 0.5), "Elu": (1.0, None), "LeakyRelu": (0.01, None), "ThresholdedRelu": (1.0, None), "ScaledTanh": (0.9, 0.6), "Affine": (0.5, 0.1)}
            alphas = [known[a][0] for a in attributes["activations"] if a in known]
            betas = [known[a][1] for a in attributes["activations"] if a in known and known[a][1] is not None]
            attributes.update(given(activation_alpha=alphas or None, activation_beta=betas or None))
        return dict(operator=operator, opset=pick(7, 14, 22), inputs=inputs, outputs=outputs, **attributes)
    return operator, draw


# ---- pictures ----

def resize():
    x = normal(1, 2, *(int(n) for n in rng.integers(2, 8, 2)))
    mode = pick("nearest", "linear", "cubic")
    attributes = dict(mode=mode, coordinate_transformation_mode=pick("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric", "align_corners"))
    if mode == "nearest":
        attributes["nearest_mode"] = pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        attributes.update(cubic_coeff_a=pick(-0.75, -0.5), exclude_outside=pick(0, 1))
    if mode != "nearest" and rng.random() < 0.25:
        attributes.update(antialias=1, exclude_outside=0, coordinate_transformation_mode=pick("half_pixel", "align_corners", "asymmetric"))
    if rng.random() < 0.5:
        inputs = [x, None, [np.array([1, 1, *(float(pick(0.5, 0.75, 1.5, 2, 2.5)) for _ in range(2))], F)]]
    else:
        inputs = [x, None, None, ints(1, 2, *(int(n) for n in rng.integers(1, 10, 2)))]
    return dict(operator="Resize", opset=pick(18, 19), inputs=inputs, **attributes)


def grid_sample():
    x = normal(2, 2, int(rng.integers(2, 6)), int(rng.integers(2, 6)))
    return dict(operator="GridSample", opset=20, inputs=[x, (rng.random((2, 3, 4, 2)) * 2.8 - 1.4).astype(F)], mode=pick("linear", "nearest", "cubic"),
                padding_mode=pick("zeros", "border", "reflection"), align_corners=pick(0, 1))


def affine_grid():
    dims = pick(2, 3)
    return dict(operator="AffineGrid", opset=20, inputs=[normal(2, dims, dims + 1), ints(2, 3, *(int(n) for n in rng.integers(2, 6, dims)))], align_corners=pick(0, 1))


def center_crop_pad():
    x = normal(*shape(1, 4))
    if rng.random() < 0.5:
        return dict(operator="CenterCropPad", opset=18, inputs=[x, ints(*(int(n) for n in rng.integers(1, 8, x.ndim)))])
    axes = axes_of(x)
    return dict(operator="CenterCropPad", opset=18, inputs=[x, ints(*(int(n) for n in rng.integers(1, 8, len(axes))))], axes=axes)


def non_max_suppression():
    boxes = np.abs(np.stack([rois(6, 5) for _ in range(2)]))
    return dict(operator="NonMaxSuppression", opset=11, inputs=[boxes, rng.random((2, 3, 6)).astype(F), [np.int64(rng.integers(0, 5))], maybe([F(rng.uniform(0, 1))], 0.8),
                maybe([F(rng.uniform(0, 0.7))])], results=[INT64], center_point_box=pick(0, 0, 1))


# ---- signals ----

def dft():
    inverse, onesided = pick(0, 1), 0
    x = normal(2, int(rng.integers(2, 9)), int(rng.integers(1, 5)), pick(1, 2) if not inverse else 2)
    if x.shape[-1] == 1 and rng.random() < 0.5:
        onesided = 1
    if rng.random() < 0.5:
        return dict(operator="DFT", opset=17, inputs=[x, maybe([np.array(int(rng.integers(2, 10)))], 0.3)], axis=pick(1, 2), inverse=inverse, onesided=onesided)
    return dict(operator="DFT", opset=20, inputs=[x, maybe([np.array(int(rng.integers(2, 10)))], 0.3), [np.array(pick(1, 2, -2, -3))]], inverse=inverse, onesided=onesided)


def stft():
    length = int(rng.integers(2, 9))
    onesided = pick(0, 1)
    return dict(operator="STFT", opset=17, inputs=[normal(2, 20, 1), [np.array(int(rng.integers(1, 6)))], maybe([normal(length)]), [np.array(length)]], onesided=onesided)


def windows():
    return dict(operator=pick("HannWindow", "HammingWindow", "BlackmanWindow"), opset=17, inputs=[[np.array(int(rng.integers(3, 12)))]], periodic=pick(0, 1))


def mel():
    return dict(operator="MelWeightMatrix", opset=17, inputs=[[np.array(int(rng.integers(2, 9)))], [np.array(pick(16, 32, 64))], [np.array(pick(8000, 16000))], [F(pick(0, 100))], [F(pick(3000, 4000))]])


# ---- quantization ----

def quantize():
    x, kind = normal(*shape(1, 4, 2)) * 4, pick(np.uint8, np.int8)
    axis = axis_of(x)
    size = x.shape[axis]
    per_axis = rng.random() < 0.5
    scale = np.asarray(rng.uniform(0.02, 0.3, (size,) if per_axis else ()), F)
    zero = np.asarray(rng.integers(0, 100, scale.shape), kind)
    return dict(operator="QuantizeLinear", opset=pick(13, 19, 21, 23, 25), inputs=[x, [scale], maybe([zero], 0.8) or (None if kind == np.uint8 else [zero])], results=[onnx_type(kind)], axis=axis)


def dequantize():
    kind = pick(np.uint8, np.int8)
    x = rng.integers(0, 120, shape(1, 4, 2)).astype(kind)
    axis = axis_of(x)
    per_axis = rng.random() < 0.5
    scale = np.asarray(rng.uniform(0.02, 0.3, (x.shape[axis],) if per_axis else ()), F)
    return dict(operator="DequantizeLinear", opset=pick(13, 19, 21, 23, 25), inputs=[x, [scale], maybe([np.asarray(rng.integers(0, 100, scale.shape), kind)])], axis=axis)


def quantize_blocks():
    block, blocks = pick(2, 3), int(rng.integers(1, 4))
    x = normal(3, block * blocks, 2) * 4
    scale = np.asarray(rng.uniform(0.02, 0.3, (3, blocks, 2)), F)
    if rng.random() < 0.5:
        return dict(operator="QuantizeLinear", opset=pick(21, 25), inputs=[x, [scale], [np.zeros(scale.shape, np.int8)]], results=[TensorProto.INT8], axis=1, block_size=block)
    return dict(operator="DequantizeLinear", opset=pick(21, 25), inputs=[numbers(x.shape, np.int8), [scale]], axis=1, block_size=block)


def dynamic_quantize():
    return dict(operator="DynamicQuantizeLinear", opset=11, inputs=[normal(*shape(1, 3)) * pick(0.1, 5)], outputs=3, results=[TensorProto.UINT8, FLOAT, TensorProto.UINT8])


def qlinear_conv():
    kernel, attributes = window(2, [6, 7])
    features, per_axis = int(rng.integers(1, 4)), rng.random() < 0.5
    # Powers of two: which of two neighbors a tie is rounded to is not decided by how a product is rounded.
    scale = np.asarray(rng.choice([0.0078125, 0.015625, 0.03125], (features,) if per_axis else ()), F)
    return dict(operator="QLinearConv", opset=10, inputs=[rng.integers(0, 255, (1, 2, 6, 7), np.uint8), [F(0.0625)], [np.uint8(rng.integers(0, 200))],
                [rng.integers(-90, 90, (features, 2, *kernel)).astype(np.int8)], [scale], [np.zeros(scale.shape, np.int8)], [F(0.25)], [np.uint8(rng.integers(0, 200))],
                maybe([rng.integers(-99, 99, features).astype(np.int32)])], results=[TensorProto.UINT8], **attributes)


def qlinear_matmul():
    n, k, m = (int(a) for a in rng.integers(1, 6, 3))
    return dict(operator="QLinearMatMul", opset=10, inputs=[rng.integers(0, 255, (n, k), np.uint8), [F(0.0625)], [np.uint8(3)], rng.integers(0, 255, (k, m), np.uint8), [F(0.03125)], [np.uint8(100)],
                [F(0.5)], [np.uint8(120)]], results=[TensorProto.UINT8])


# ---- transformers ----

def attention():
    b, kv, each, q, s, size, vsize = (int(n) for n in rng.integers(1, 5, 7))
    heads = kv * pick(1, 1, 2)
    size *= 2
    past = int(rng.integers(1, 4)) if rng.random() < 0.3 else 0
    attributes = dict(is_causal=pick(0, 1), **given(scale=maybe(0.4, 0.3), softcap=maybe(1.5, 0.3)))
    if past and attributes["is_causal"]:
        s = q  # others are in the tables of differences
    total = s + past
    # A row that is masked entirely is in the tables of differences.
    mask = pick(None, None, normal(q, total), normal(b, 1, q, total), normal(1, heads, q, total), np.concatenate([np.ones((q, 1), bool), rng.random((q, total - 1)) > 0.4], 1))
    if rng.random() < 0.3:
        inputs = [normal(b, q, heads * size), normal(b, s, kv * size), normal(b, s, kv * vsize), mask]
        attributes.update(q_num_heads=heads, kv_num_heads=kv)
    else:
        inputs = [normal(b, heads, q, size), normal(b, kv, s, size), normal(b, kv, s, vsize), mask]
    outputs, opset = 1, pick(23, 24)
    if past:
        inputs += [normal(b, kv, past, size), normal(b, kv, past, vsize)]
        outputs = 3
    elif opset == 24 and s >= q and rng.random() < 0.5:
        inputs += [None, None, rng.integers(q, s + 1, b, np.int64)]  # keys of a cache that are filled
    return dict(operator="Attention", opset=opset, inputs=inputs, outputs=outputs, **attributes)


def rotary():
    b, heads, s, half = (int(n) for n in rng.integers(1, 5, 4))
    size, part = 2 * half, 0
    if rng.random() < 0.3 and half > 1:
        part = 2 * (half - 1)
    tables = (part or size) // 2
    attributes = dict(interleaved=pick(0, 1), **given(rotary_embedding_dim=part or None))
    x = normal(b, heads, s, size)
    if rng.random() < 0.3:
        x = normal(b, s, heads * size)
        attributes["num_heads"] = heads
    if rng.random() < 0.5:
        return dict(operator="RotaryEmbedding", opset=23, inputs=[x, normal(9, tables), normal(9, tables), rng.integers(0, 9, (b, s), np.int64)], **attributes)
    return dict(operator="RotaryEmbedding", opset=23, inputs=[x, normal(b, s, tables), normal(b, s, tables)], **attributes)


def loss():
    n, c, rest = int(rng.integers(1, 5)), int(rng.integers(2, 5)), shape(0, 2, 1, 3)
    labels = rng.integers(0, c, (n, *rest), np.int64)
    attributes = dict(reduction=pick("none", "mean", "sum"), **given(ignore_index=maybe(1, 0.3)))
    x = normal(n, c, *rest)
    return dict(operator=pick("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), opset=pick(12, 13), inputs=[x, labels, maybe(np.abs(normal(c)) + F(0.1))], **attributes)


def det():
    n = int(rng.integers(1, 5))
    return dict(operator="Det", opset=pick(11, 22), inputs=[normal(*shape(0, 2), n, n)])


def tensor_scatter():
    circular = pick("linear", "circular")
    return dict(operator="TensorScatter", opset=24, inputs=[normal(2, 3, 5, 4), normal(2, 3, 2, 4), rng.integers(0, 3 if circular == "linear" else 5, 2, np.int64)], mode=circular)


OPERATORS = [
    *[unary(name, (13, 22)) for name in ("Abs", "Neg", "Exp", "Erf", "Sigmoid", "Tanh", "Floor", "Ceil", "Round", "Sign", "Relu", "Identity")],
    *[unary(name, (9, 22)) for name in ("Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh", "Softplus", "Softsign", "Mish", "HardSwish")],
    *[unary(name, (9, 22), -1, 1) for name in ("Asin", "Acos", "Atanh")], unary("Acosh", (9, 22), 1, 4),
    *[unary(name, (13,), 0.1, 5) for name in ("Sqrt", "Log", "Reciprocal")], unary("Not", (1,), dtypes=(bool,)), unary("BitwiseNot", (18,), dtypes=(np.int32, np.uint8, np.int64)),
    unary("IsNaN", (9, 20), result=BOOL),
    *[binary(name, (7, 13, 14), (F, F, np.int32, np.int64, np.float64)) for name in ("Add", "Sub", "Mul")],
    binary("Div", (13, 14), (F, np.int32, np.int64), second=not_zero),
    *[binary(name, (13,), (F, np.int32, np.int64), BOOL) for name in ("Equal", "Greater", "Less")], *[binary(name, (12, 16), (F, np.int32, np.int64), BOOL) for name in ("GreaterOrEqual", "LessOrEqual")],
    *[binary(name, (7,), (bool,)) for name in ("And", "Or", "Xor")], *[binary(name, (18,), (np.int32, np.uint8, np.int64)) for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")],
    ("PRelu", lambda: dict(operator="PRelu", opset=pick(9, 16), inputs=[normal(2, 3, 4), normal(*pick((1,), (4,), (3, 1), (2, 3, 4)))])),
    parameterized("Elu", (6, 22), alpha=(0.1, 2.0)), parameterized("Selu", (6, 22), alpha=(0.5, 2.0), gamma=(0.5, 2.0)), parameterized("Celu", (12,), alpha=(0.5, 2.0)),
    parameterized("LeakyRelu", (6, 16), alpha=(0.0, 0.5)), parameterized("ThresholdedRelu", (10, 22), alpha=(0.0, 1.0)), parameterized("HardSigmoid", (6, 22), alpha=(0.1, 0.5), beta=(0.1, 0.9)),
    parameterized("Shrink", (9,), lambd=(0.1, 1.0), bias=(0.0, 0.5)), parameterized("Gelu", (20,), least=3, approximate=("none", "tanh")),
    *[many(name) for name in ("Max", "Min", "Sum", "Mean")],
    *[(f.__name__, f) for f in (clip, mod, shift, power, where, cast, is_inf, concat, slice_, gather, gather_elements, gather_nd, scatter_elements, scatter_nd, pad, transpose, reshape, flatten,
                                squeeze, unsqueeze, split, depth_to_space, space_to_depth, trilu, tile, expand, cumsum, one_hot, topk, unique, nonzero, compress, reverse_sequence, eye_like, shape_)],
    *[reduce(kind) for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")], arg("ArgMax"), arg("ArgMin"),
    *[softmax(name) for name in ("Softmax", "LogSoftmax", "Hardmax")],
    *[(f.__name__, f) for f in (matmul, gemm, einsum, matmul_integer, conv, conv, conv, conv_transpose, conv_transpose, global_pool, max_roi_pool, roi_align, roi_align, max_unpool, deform_conv, col2im)],
    *[pool(name) for name in ("MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool")],
    *[(f.__name__, f) for f in (batch_norm, instance_norm, layer_norm, group_norm, lrn, lp_normalization, mean_variance)], ("rms_norm", lambda: layer_norm("RMSNormalization")),
    *[recurrent(name) for name in ("RNN", "GRU", "LSTM")] * 2,
    *[(f.__name__, f) for f in (resize, resize, resize, resize, grid_sample, grid_sample, affine_grid, center_crop_pad, non_max_suppression, dft, dft, stft, windows, mel, quantize, dequantize, quantize_blocks,
                                dynamic_quantize, qlinear_conv, qlinear_matmul, attention, attention, attention, rotary, loss, loss, det, tensor_scatter)],
]

for place, (label, draw) in enumerate(OPERATORS):
    for turn in range(COUNT):
        drawn = draw()
        if drawn is not None:
            cases.case(f"{place:03}_{label.strip('_').lower()}_{turn}", **drawn)
cases.finish()
