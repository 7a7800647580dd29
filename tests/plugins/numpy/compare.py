"""Evaluates the calls of FOLDER/calls.json by the NumPy expressions of ops.json and writes what
differs to FOLDER/report.json. Nothing here is about one op: that is what ops.json is for.

An expression has the call's arguments under the names of their parameters. Before it is evaluated,
operands are converted as the row says:
  "promote": "common" to the dtype that PyTorch's rules give, "float" the same with f32 for integers,
             "exact" only where that dtype is floating; "promoted" names the operands, or all are
  "wide":    "f64" or "longdouble": floating operands are computed in at most that precision
The result is then compared in dtype, shape and elements: "ulp" units in the last place of the
expected element, or of "near" where that is larger; "results" says which of the op's results, by
index, or all are (vectors of decompositions are determined up to a phase: their tests multiply the
factors). "meant" lists differences that are meant: `when` is true of the call (`found` or `refused` is
None; `expected` and `raised` likewise).

Each of "complex" of the table lists ops whose rows are used once more, with complex operands and what
its "with" says; of its "ulp" and "near" and those of the row the larger ones count. Elements are then
compared by their distance, in units of the expected size.

An in-place form, an op with "_" behind the name of another one, is compared with what that op's row gives,
in the dtype of the operand that it changes.
"""

import json
import math
import os
import sys
import warnings

import numpy

TYPES = {"bool": numpy.bool_, "u8": numpy.uint8, "i8": numpy.int8, "i16": numpy.int16,
         "i32": numpy.int32, "i64": numpy.int64, "f32": numpy.float32, "f64": numpy.float64,
         "c64": numpy.complex64, "c128": numpy.complex128}
WIDER = {("f64", "f4"): numpy.float64, ("f64", "c8"): numpy.complex128,
         ("longdouble", "f4"): numpy.float64, ("longdouble", "f8"): numpy.longdouble,
         ("longdouble", "c8"): numpy.complex128, ("longdouble", "c16"): numpy.clongdouble}
NUMBERS = {bool: numpy.dtype("?"), int: numpy.dtype("i8"), float: numpy.dtype("f4")}
MOST_DIFFERENCES = 8  # limit for one op


def kind(dtype):
    return {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}[numpy.dtype(dtype).kind]


def complex_of(dtype):
    """The complex dtype whose parts are `dtype`, floating or complex itself."""
    return numpy.result_type(dtype, numpy.complex64)


def parts_of(dtype):
    """The dtype of a complex one's parts."""
    return numpy.empty(0, dtype).real.dtype


def result_type(*operands):
    """The common dtype by PyTorch's rules: numbers and 0-d tensors only raise the kind."""
    tensors = [x.dtype for x in operands if isinstance(x, numpy.ndarray) and x.ndim > 0]
    scalars = [x.dtype for x in operands if isinstance(x, numpy.ndarray) and x.ndim == 0]
    numbers = [NUMBERS[type(x)] for x in operands if type(x) in NUMBERS]
    common = None
    for group in (tensors, scalars, numbers):
        if not group:
            continue
        # Only dtypes of the highest kind count: integers do not make f32 wider. Floats do make
        # complex numbers wider.
        highest = max(kind(x) for x in group)
        dtype = numpy.result_type(*[x for x in group if kind(x) >= min(highest, 2)])
        if common is None or kind(dtype) > kind(common):
            floats = common is not None and kind(common) == 2
            common = complex_of(common) if floats else dtype
    return common


def floating(dtype):
    return dtype if kind(dtype) >= 2 else numpy.dtype(numpy.float32)


def into(operand, value):
    """What an in-place form leaves in its operand."""
    if value.shape != operand.shape:
        raise ValueError("the result has another shape than the operand")
    if kind(value.dtype) > kind(operand.dtype):
        raise TypeError("the result is of a higher kind than the operand")
    return value.astype(operand.dtype)


def assigned(array, at, value, operation=None):
    """A copy of the array with elements replaced, or combined by an operation."""
    array = array.copy()
    if operation is None:
        array[at] = value
    else:
        operation.at(array, at, value)
    return array


def converted(value, dtype, precision):
    """A tensor, or each one of a list, in `dtype` and then in the precision to compute with."""
    if isinstance(value, list):
        return [converted(x, dtype, precision) for x in value]
    if not isinstance(value, numpy.ndarray):
        return value
    if dtype is not None:
        value = value.astype(dtype)
    return value.astype(WIDER.get((precision, value.dtype.str[1:]), value.dtype))


class Oracle:
    def __init__(self, folder):
        self.elements = numpy.load(os.path.join(folder, "elements.npy"))
        self.space = {"numpy": numpy, "np": numpy, "into": into, "assigned": assigned,
                      "math": math}

    def array(self, text):
        dtype = numpy.dtype(TYPES[text["dtype"]])
        count = int(numpy.prod(text["shape"], dtype=int))
        raw = self.elements[text["at"]:text["at"] + count * dtype.itemsize]
        return raw.view(dtype).reshape(text["shape"])

    def argument(self, text):
        if isinstance(text, dict):
            return TYPES[text["type"]] if "type" in text else self.array(text)
        if isinstance(text, list):
            if text and isinstance(text[0], dict):
                return [self.array(x) for x in text]
            return tuple(text)
        return text

    def expect(self, row, arguments):
        """What NumPy gives; floating results in the dtype that the operands have in common."""
        listed = row.get("promoted") or list(arguments)
        operands = []
        for name in listed:
            value = arguments[name]
            operands += value if isinstance(value, list) else [value]
        promote = row.get("promote")
        if promote is None:
            operands = [x for x in operands if isinstance(x, numpy.ndarray)]
        common = result_type(*operands)
        if promote == "float":
            common = floating(common)
        if promote == "exact" and kind(common) < 2:
            promote = None
        names = dict(self.space, common=common)
        for name, value in arguments.items():
            if promote and name in listed and type(value) in NUMBERS:
                value = numpy.asarray(value).astype(common)
            to = common if promote and name in listed else None
            names[name] = converted(value, to, row.get("wide"))
        expected = eval(row["code"], names)
        if not isinstance(expected, (tuple, list)):
            expected = (expected,)
        dtype = arguments.get("dtype")
        if dtype is None and common is not None:
            dtype = floating(common)
        expected = [narrowed(numpy.asarray(x), dtype) for x in expected]
        if row.get("in_place"):
            changed = next(iter(arguments.values()))
            expected = [into(changed, x) for x in expected]
        return expected


def narrowed(value, dtype):
    if dtype is None or kind(value.dtype) < 2 or kind(dtype) < 2:
        return value
    if kind(value.dtype) == 2:
        return value.astype(parts_of(dtype))
    return value.astype(complex_of(dtype))


def difference(found, expected, row):
    if len(found) != len(expected):
        return f"{len(found)} results, {len(expected)} expected"
    for i, (a, b) in enumerate(zip(found, expected)):
        where = f"result {i}: " if len(found) > 1 else ""
        if a.shape != b.shape:
            return f"{where}shape {a.shape}, {b.shape} expected"
        if a.dtype != b.dtype:
            return f"{where}dtype {a.dtype}, {b.dtype} expected"
        if a.size == 0 or a.tobytes() == b.tobytes():
            continue
        same = a == b
        if a.dtype.kind in "fc":
            near = numpy.maximum(numpy.abs(b), parts_of(a.dtype).type(row.get("near", 0)))
            bound = row.get("ulp", 0) * numpy.spacing(near)
            same = same | (numpy.abs(a - b) <= bound) | (numpy.isnan(a) & numpy.isnan(b))
        if not numpy.all(same):
            at = tuple(int(x) for x in numpy.argwhere(~same)[0])
            return f"{where}element {list(at)} is {a[at]!r}, {b[at]!r} expected"
    return None


def compare(oracle, name, row, entry):
    """Differences as text, and how often: answered, refused by both, meant."""
    differences, counts = [], {"answered": 0, "refused": 0, "meant": 0}
    applied = [0] * len(row.get("meant", []))
    for text, given, result in entry["calls"]:
        arguments = dict(zip(entry["parameters"], map(oracle.argument, given)))
        refused = result if isinstance(result, str) else None
        found = None if refused is not None else [oracle.array(x) for x in result]
        expected = raised = None
        try:
            expected = oracle.expect(row, arguments)
        except Exception as error:  # whatever NumPy refuses with
            raised = f"{type(error).__name__}: {error}"
        if found is None and expected is None:
            counts["refused"] += 1
            continue
        if found is None:
            what = f"refused: {refused}; NumPy: {[x.tolist() for x in expected]}"
        elif expected is None:
            what = f"answered; NumPy raised {raised}"
        else:
            chosen = row.get("results", range(len(found)))
            what = difference([found[i] for i in chosen], expected, row)
        if what is None:
            counts["answered"] += 1
            continue
        names = dict(oracle.space, **arguments, found=found, refused=refused, expected=expected,
                     raised=raised)
        for i, line in enumerate(row.get("meant", [])):
            if eval(line["when"], names):
                applied[i] += 1
                counts["meant"] += 1
                break
        else:
            differences.append(f"{text}: {what}")
    for line, times in zip(row.get("meant", []), applied):
        if times == 0 and not line.get("rare"):
            differences.append(f"{name}: no call differs as meant: {line['reason']}")
    if counts["answered"] == 0:
        differences.append(f"{name}: no call was compared")
    more = len(differences) - MOST_DIFFERENCES
    if more > 0:
        differences = differences[:MOST_DIFFERENCES] + [f"{name}: {more} more"]
    return differences, counts


def rows():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "ops.json")) as file:
        table = json.load(file)
        for group in table["groups"]:
            for name, row in group["ops"].items():
                row = {"numpy": row} if isinstance(row, str) else row
                row = dict(group, **row)
                row["meant"] = group.get("meant_of_all", []) + row.get("meant", [])
                row["code"] = compile(row["numpy"], name, "eval")
                meant = [dict(line, rare=True) for line in row["meant"]]
                yield name, row
                yield name + "_", dict(row, meant=meant, in_place=True)
                for again in table["complex"]:
                    if name not in again["ops"]:
                        continue
                    also = meant + [dict(line, rare=True) for line in again["meant"]]
                    over = dict(again["with"], ulp=max(again["with"]["ulp"], row.get("ulp", 0)),
                                near=max(again["with"]["near"], row.get("near", 0)))
                    row = dict(row, **over, meant=also)
                    yield name + " of complex numbers", row
                    yield name + "_ of complex numbers", dict(row, in_place=True)


def main(folder):
    warnings.simplefilter("ignore")
    numpy.seterr(all="ignore")
    with open(os.path.join(folder, "calls.json")) as file:
        calls = json.load(file)
    oracle = Oracle(folder)
    differences, total = [], {}
    for name, row in rows():
        if name not in calls:
            continue
        found, counts = compare(oracle, name, row, calls[name])
        differences += found
        for key, count in counts.items():
            total[key] = total.get(key, 0) + count
    summary = f"NumPy {numpy.__version__}, {len(calls)} ops: " + \
        ", ".join(f"{count} calls {key}" for key, count in total.items())
    with open(os.path.join(folder, "report.json"), "w") as file:
        json.dump({"summary": summary, "differences": differences}, file)


if __name__ == "__main__":
    main(sys.argv[1])
