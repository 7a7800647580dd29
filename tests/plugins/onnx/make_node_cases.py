"""Writes the node tests that Debian's python3-onnx carries as programs: for each case a folder with the
model, its inputs and expected outputs as TensorProto files. Lists them in FOLDER/cases.txt, a line for
each: name, tolerances, then a letter for each input and each output, T or S with its length."""
import os
import sys
import warnings

warnings.simplefilter("ignore")
import numpy as np

# The package is older than NumPy 1.24, which has no such names any more.
for name, type_ in (("float", float), ("int", int), ("object", object), ("bool", bool)):
    setattr(np, name, type_)

from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def write(folder, name, value):
    """Writes a tensor, or the tensors of a sequence; returns the letter."""
    values = value if isinstance(value, list) else [value]
    for place, one in enumerate(values):
        part = f"{name}.{place}" if isinstance(value, list) else name
        message = numpy_helper.from_array(np.asarray(one), part)
        with open(os.path.join(folder, part + ".pb"), "wb") as file:
            file.write(message.SerializeToString())
    return f"S{len(values)}" if isinstance(value, list) else "T"


def main():
    target = sys.argv[1]
    os.makedirs(target, exist_ok=True)
    lines = []
    for case in collect_testcases(None):
        folder = os.path.join(target, case.name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(case.model.SerializeToString())
        inputs, outputs = case.data_sets[0]
        try:
            kinds = [write(folder, f"input_{i}", one) for i, one in enumerate(inputs)]
            kinds.append("->")
            kinds += [write(folder, f"output_{i}", one) for i, one in enumerate(outputs)]
        except (TypeError, NotImplementedError, RuntimeError, KeyError, ValueError):
            kinds = ["?"]  # an optional without a value, or a map
        lines.append(f"{case.name} {case.rtol} {case.atol} {' '.join(kinds)}")
    with open(os.path.join(target, "cases.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(sorted(lines)) + "\n")


main()
