#!/usr/bin/env python3
"""Writes each value that ONNX Runtime computes in a model's file, by name, for `tenon diff`.

usage: onnx_values.py MODEL.onnx VALUES.npz NAME=INPUT.npy...

    tenon run net.onnx --input x=x.npy --trace net.trace
    tools/onnx_values.py net.onnx net.npz x=x.npy
    tenon diff net.trace net.npz

Needs the packages onnx, onnxruntime and numpy. Nothing is optimized, so that no value is joined with another one.
Values within the graphs of If, Loop and Scan are not written.
"""
import sys

import numpy
import onnx
import onnxruntime


def with_all_outputs(model):
    """The model with the results of all nodes as outputs, in the order of the nodes; and their names."""
    names = [name for node in model.graph.node for name in node.output if name]
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return model, names


def main(arguments):
    if len(arguments) < 2 or any("=" not in one for one in arguments[2:]):
        sys.exit(__doc__)
    path, output, *inputs = arguments
    given = {}
    for one in inputs:
        name, file = one.split("=", 1)
        given[name] = numpy.load(file)
    model, names = with_all_outputs(onnx.load(path))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    missing = [one.name for one in session.get_inputs() if one.name not in given]
    if missing:
        sys.exit(f"{path} needs {', '.join(missing)}: give NAME=FILE.npy for each")
    values = session.run(names, given)
    arrays = {name: value for name, value in zip(names, values) if isinstance(value, numpy.ndarray)}
    numpy.savez(output, **arrays)
    print(f"{output}: {len(arrays)} values")


if __name__ == "__main__":
    main(sys.argv[1:])
