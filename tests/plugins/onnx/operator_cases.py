"""Folders of models with one node: FOLDER/NAME/model.onnx, input_N.npy, and a line of each in
FOLDER/operators.txt: name, inputs, outputs. operator_outputs.js computes them with ONNX Runtime."""
import os

import numpy as np

for _name, _type in (("float", float), ("int", int), ("object", object), ("bool", bool)):
    setattr(np, _name, _type)

from onnx import TensorProto, helper, numpy_helper

F = np.float32


def onnx_type(dtype):
    return numpy_helper.from_array(np.zeros(1, dtype)).data_type


def tensor_of_bytes(name, data_type, dims, data):
    """A tensor of a type that the package does not know."""
    tensor = TensorProto()
    tensor.name, tensor.data_type, tensor.raw_data = name, data_type, bytes(data)
    tensor.dims.extend(dims)
    return tensor


class Cases:
    def __init__(self, folder):
        self.folder = folder
        self.lines = []
        os.makedirs(folder, exist_ok=True)

    def case(self, name, opset, operator, inputs, outputs=1, results=None, **attributes):
        """Inputs are arrays, None for one that is absent; lists of integers become initializers."""
        folder = os.path.join(self.folder, name)
        os.makedirs(folder, exist_ok=True)
        names, graph_inputs, initializers = [], [], []
        count = 0
        for place, value in enumerate(inputs):
            if value is None:
                names.append("")
                continue
            names.append(f"x{place}")
            if isinstance(value, list):
                initializers.append(numpy_helper.from_array(np.array(value[0]), names[-1]))
                continue
            graph_inputs.append(helper.make_tensor_value_info(names[-1], onnx_type(value.dtype), value.shape))
            np.save(os.path.join(folder, f"input_{count}.npy"), value)
            count += 1
        while names and not names[-1]:
            names.pop()
        results = results or [TensorProto.FLOAT] * outputs
        graph_outputs = [helper.make_tensor_value_info(f"y{i}", one, None) for i, one in enumerate(results)]
        node = helper.make_node(operator, names, [one.name for one in graph_outputs], **attributes)
        self._write(name, opset, helper.make_graph([node], name, graph_inputs, graph_outputs, initializers))
        self.lines.append(f"{name} {count} {outputs}")

    def chain(self, name, opset, nodes, x, initializers=()):
        """Nodes from x0 to y0, both of floats."""
        os.makedirs(os.path.join(self.folder, name), exist_ok=True)
        np.save(os.path.join(self.folder, name, "input_0.npy"), x)
        ends = [helper.make_tensor_value_info("x0", TensorProto.FLOAT, x.shape),
                helper.make_tensor_value_info("y0", TensorProto.FLOAT, None)]
        self._write(name, opset, helper.make_graph(nodes, name, ends[:1], ends[1:], list(initializers)))
        self.lines.append(f"{name} 1 1")

    def _write(self, name, opset, graph):
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 10
        with open(os.path.join(self.folder, name, "model.onnx"), "wb") as file:
            file.write(model.SerializeToString())

    def finish(self):
        with open(os.path.join(self.folder, "operators.txt"), "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines) + "\n")
