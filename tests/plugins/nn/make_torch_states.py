#!/usr/bin/env python3
"""Writes torch_states.safetensors: states, inputs, results and gradients of PyTorch's modules.

Made once, with PyTorch 1.13 on the processor; the test torch_states_test.cpp loads it. The file has,
for the module NAME: "NAME/state/KEY", "NAME/input/I", "NAME/result/I", and "NAME/grad/KEY" of the
sum of result * weight(result), with weight(result)[i] = cos(i). The metadata maps NAME to the
module's description as a config writes it.

usage: make_torch_states.py torch_states.safetensors
"""
import json
import struct
import sys

import torch
from torch import nn

NAMES = {torch.float32: "F32", torch.int64: "I64", torch.bool: "BOOL"}


def write(path, tensors, metadata):
    header, blobs, offset = {"__metadata__": metadata}, [], 0
    for name, tensor in sorted(tensors.items(), key=lambda item: -item[1].element_size()):
        blob = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def cases():
    x = torch.randn(2, 4, 6)
    image = torch.randn(2, 3, 5, 6)
    yield "linear", nn.Linear(4, 3), {"type": "Linear", "in_features": 4, "out_features": 3}, [torch.randn(5, 4)]
    yield "bilinear", nn.Bilinear(3, 4, 2), {"type": "Bilinear", "in1_features": 3, "in2_features": 4, "out_features": 2}, [torch.randn(5, 3), torch.randn(5, 4)]
    yield "embedding", nn.Embedding(6, 3, padding_idx=1), {"type": "Embedding", "num_embeddings": 6, "embedding_dim": 3, "padding_idx": 1}, [torch.tensor([[0, 1], [5, 2]])]
    yield "conv1d", nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), {"type": "Conv1d", "in_channels": 4, "out_channels": 6, "kernel_size": 3, "stride": 2, "padding": 1, "groups": 2}, [x]
    yield "conv2d", nn.Conv2d(3, 4, (2, 3), padding=(1, 0), dilation=(1, 2)), {"type": "Conv2d", "in_channels": 3, "out_channels": 4, "kernel_size": [2, 3], "padding": [1, 0], "dilation": [1, 2]}, [image]
    yield "conv3d", nn.Conv3d(1, 2, 2, bias=False), {"type": "Conv3d", "in_channels": 1, "out_channels": 2, "kernel_size": 2, "bias": False}, [torch.randn(2, 1, 3, 4, 3)]
    yield "conv_transpose1d", nn.ConvTranspose1d(4, 3, 3, stride=2, output_padding=1), {"type": "ConvTranspose1d", "in_channels": 4, "out_channels": 3, "kernel_size": 3, "stride": 2, "output_padding": 1}, [x]
    yield "conv_transpose2d", nn.ConvTranspose2d(3, 4, 2, padding=1), {"type": "ConvTranspose2d", "in_channels": 3, "out_channels": 4, "kernel_size": 2, "padding": 1}, [image]
    yield "layer_norm", nn.LayerNorm([4, 6]), {"type": "LayerNorm", "normalized_shape": [4, 6]}, [x]
    yield "group_norm", nn.GroupNorm(2, 4), {"type": "GroupNorm", "num_groups": 2, "num_channels": 4}, [x]
    yield "batch_norm1d", nn.BatchNorm1d(4), {"type": "BatchNorm1d", "num_features": 4}, [x]
    yield "batch_norm2d", nn.BatchNorm2d(3, momentum=None), {"type": "BatchNorm2d", "num_features": 3, "momentum": None}, [image]
    yield "instance_norm2d", nn.InstanceNorm2d(3, affine=True), {"type": "InstanceNorm2d", "num_features": 3, "affine": True}, [image]
    yield "prelu", nn.PReLU(3), {"type": "PReLU", "num_parameters": 3}, [image]
    for name, kind in (("gelu", nn.GELU()), ("gelu_tanh", nn.GELU(approximate="tanh")), ("silu", nn.SiLU()),
                       ("mish", nn.Mish()), ("elu", nn.ELU(0.5)), ("selu", nn.SELU()), ("celu", nn.CELU(0.5)),
                       ("softplus", nn.Softplus(2, 3)), ("hardswish", nn.Hardswish()), ("glu", nn.GLU(1))):
        described = {"type": type(kind).__name__}
        if name == "gelu_tanh": described["approximate"] = "tanh"
        if name in ("elu", "celu"): described["alpha"] = 0.5
        if name == "softplus": described.update(beta=2, threshold=3)
        if name == "glu": described["dim"] = 1
        yield name, kind, described, [x * 3]
    yield "rnn", nn.RNN(6, 5, 2, nonlinearity="relu"), {"type": "RNN", "input_size": 6, "hidden_size": 5, "num_layers": 2, "nonlinearity": "relu"}, [x]
    yield "lstm", nn.LSTM(6, 5, 2, batch_first=True, bidirectional=True), {"type": "LSTM", "input_size": 6, "hidden_size": 5, "num_layers": 2, "batch_first": True, "bidirectional": True}, [x]
    yield "gru", nn.GRU(6, 4, bias=False), {"type": "GRU", "input_size": 6, "hidden_size": 4, "bias": False}, [x, torch.randn(1, 4, 4)]
    yield "gru2", nn.GRU(6, 4, 2, bidirectional=True), {"type": "GRU", "input_size": 6, "hidden_size": 4, "num_layers": 2, "bidirectional": True}, [x]
    yield "attention", nn.MultiheadAttention(6, 2, batch_first=True), {"type": "MultiheadAttention", "embed_dim": 6, "num_heads": 2, "batch_first": True}, [x, x * 0.5, x + 1]
    layer = dict(d_model=6, nhead=2, dim_feedforward=7, dropout=0.0)
    yield "encoder_layer", nn.TransformerEncoderLayer(**layer), {"type": "TransformerEncoderLayer", **layer}, [x]
    yield "encoder_layer_first", nn.TransformerEncoderLayer(**layer, activation="gelu", norm_first=True, batch_first=True), {"type": "TransformerEncoderLayer", **layer, "activation": "gelu", "norm_first": True, "batch_first": True}, [x]
    yield "encoder", nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), 2, nn.LayerNorm(6)), {"type": "TransformerEncoder", "encoder_layer": {"type": "TransformerEncoderLayer", **layer}, "num_layers": 2, "norm": {"type": "LayerNorm", "normalized_shape": [6]}}, [x]
    yield "decoder", nn.TransformerDecoder(nn.TransformerDecoderLayer(**layer), 2), {"type": "TransformerDecoder", "decoder_layer": {"type": "TransformerDecoderLayer", **layer}, "num_layers": 2}, [x, torch.randn(3, 4, 6)]
    yield "sequential", nn.Sequential(nn.Conv2d(3, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2 * 1 * 2, 3)), {"type": "Sequential", "layers": [{"type": "Conv2d", "in_channels": 3, "out_channels": 2, "kernel_size": 3}, {"type": "BatchNorm2d", "num_features": 2}, "ReLU", {"type": "MaxPool2d", "kernel_size": 2}, "Flatten", {"type": "Linear", "in_features": 4, "out_features": 3}]}, [image]


def flatten(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for part in result if part is not None for tensor in flatten(part)]


def main(path):
    torch.manual_seed(20)
    tensors, metadata = {}, {}
    for name, module, description, inputs in cases():
        with torch.no_grad():
            for parameter in module.parameters():
                if parameter.dim() == 1:  # biases and norms at values that show errors
                    parameter.add_(torch.randn_like(parameter) * 0.3)
        for key, value in module.state_dict().items():
            tensors[f"{name}/state/{key}"] = value.clone()
        results = flatten(module(*inputs))
        if isinstance(module, nn.MultiheadAttention):
            results = results[:1]  # without the averaged weights
        loss = sum((r * torch.cos(torch.arange(r.numel()).float()).reshape(r.shape)).sum() for r in results)
        if loss.requires_grad:
            loss.backward()
        for i, tensor in enumerate(inputs):
            tensors[f"{name}/input/{i}"] = tensor
        for i, tensor in enumerate(results):
            tensors[f"{name}/result/{i}"] = tensor.detach().clone()
        for key, parameter in module.named_parameters():
            tensors[f"{name}/grad/{key}"] = parameter.grad
        for key, value in module.named_buffers():
            tensors[f"{name}/after/{key}"] = value
        metadata[name] = json.dumps(description)
    write(path, tensors, metadata)


main(sys.argv[1])
