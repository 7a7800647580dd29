#!/usr/bin/python3
"""Writes the models of compare's group "inference" for ONNX Runtime: onnx_models.py FOLDER

Needs Debian's python3-torch. Weights are random, always the same; those of ResNet-18 are also in resnet18.safetensors,
under the names that resnet18.json gives them, so that both sides can be compared: its "load" key.
"""
import json
import os
import sys

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))


class Graph(nn.Module):
    """The modules and ops of a Graph in a config."""

    def __init__(self, nodes):
        super().__init__()
        self.nodes = nodes
        for name, node in nodes.items():
            if "module" in node:
                kind = {key: value for key, value in node["module"].items() if key != "type"}
                self.add_module(name, getattr(nn, node["module"]["type"])(**kind))

    def forward(self, x):
        values = {}
        for name, node in self.nodes.items():
            inputs = [values[name] for name in node["inputs"]] if "inputs" in node else [x]
            call = getattr(self, name) if "module" in node else getattr(torch.Tensor, node["op"])
            x = values[name] = call(*inputs)
        return x


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.projection, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads = heads

    def forward(self, x):
        steps, batch, width = x.shape
        size = width // self.heads
        q, k, v = [part.reshape(steps, batch * self.heads, size).transpose(0, 1) for part in self.projection(x).split(width, -1)]
        weights = torch.softmax(torch.bmm(q / size ** 0.5, k.transpose(1, 2)), -1)
        return self.output(torch.bmm(weights, v).transpose(0, 1).reshape(steps, batch, width))


class Outputs(nn.Module):
    """Those of a recurrent layer, without its last states."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


def linears(*sizes):
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def resnet18():
    with open(os.path.join(HERE, "resnet18.json"), encoding="utf-8") as file:
        model = Graph(json.load(file)["model"]["nodes"])
    for module in model.modules():  # statistics as after a training, that a fold of them into convolutions shows
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    return model


def cnn():
    return nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(800, 10))


def write_safetensors(tensors, path):
    header, data = {}, b""
    for name, tensor in tensors.items():
        if tensor.dtype != torch.float32:
            continue  # counters of batches
        bytes_of = tensor.numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(bytes_of)]}
        data += bytes_of
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


# name: what makes the model, shape of the input
MODELS = {
    "resnet18_1": (resnet18, (1, 3, 224, 224)),
    "resnet18_8": (resnet18, (8, 3, 224, 224)),
    "cnn": (cnn, (64, 1, 28, 28)),
    "mlp_large": (lambda: linears(784, 1024, 1024, 10), (128, 784)),
    "mlp_row": (lambda: linears(64, 128, 64, 10), (1, 64)),
    "attention": (lambda: Attention(256, 8), (128, 8, 256)),
    "lstm": (lambda: Outputs(nn.LSTM(128, 256)), (64, 16, 128)),
    "lstm_row": (lambda: Outputs(nn.LSTM(128, 256)), (64, 1, 128)),
    "gru": (lambda: Outputs(nn.GRU(128, 256)), (64, 16, 128)),
    "average_pool": (lambda: nn.AvgPool2d(3, 1, 1), (8, 64, 28, 28)),
    "convolution_64_56": (lambda: nn.Conv2d(64, 64, 3, padding=1), (1, 64, 56, 56)),
    "convolution_256_56_1x1": (lambda: nn.Conv2d(256, 64, 1), (1, 256, 56, 56)),
    "convolution_depthwise": (lambda: nn.Conv2d(128, 128, 3, padding=1, groups=128), (1, 128, 56, 56)),
    "convolution_c16_13": (lambda: nn.Conv2d(16, 32, 3), (64, 16, 13, 13)),
    "gelu": (nn.GELU, (1024, 1024)),
    "softmax": (lambda: nn.Softmax(-1), (64, 128, 128)),
    "layer_norm": (lambda: nn.LayerNorm(256), (1024, 256)),
}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, (make, shape) in MODELS.items():
        torch.manual_seed(0)
        model = make().eval()
        if name == "resnet18_1":
            write_safetensors(model.state_dict(), os.path.join(folder, "resnet18.safetensors"))
        torch.onnx.export(model, torch.rand(shape), os.path.join(folder, f"{name}.onnx"), opset_version=13,
                          input_names=["x"], output_names=["y"])
    with open(os.path.join(folder, "shapes.json"), "w", encoding="utf-8") as file:
        json.dump({name: shape for name, (_, shape) in MODELS.items()}, file)


if __name__ == "__main__":
    main()
