"""Checks FOLDER/*/model.onnx with the checker of ONNX, inferred shapes among it; those of opsets that it knows."""
import pathlib
import sys

import onnx

faults = 0
for path in sorted(pathlib.Path(sys.argv[1]).glob("*/model.onnx")):
    model = onnx.load(str(path))
    if any(one.domain == "" and one.version > onnx.defs.onnx_opset_version() for one in model.opset_import):
        continue
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as fault:  # the checker and shape inference have several kinds
        print(f"{path}: {fault}")
        faults += 1
sys.exit(1 if faults else 0)
