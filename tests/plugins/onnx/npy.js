// Tensors of ONNX Runtime as .npy files.
"use strict";
const fs = require("fs");

const types = {
  float32: ["<f4", Float32Array], float64: ["<f8", Float64Array], int64: ["<i8", BigInt64Array],
  int32: ["<i4", Int32Array], int8: ["|i1", Int8Array], uint8: ["|u1", Uint8Array], bool: ["|b1", Uint8Array],
};

exports.write = (file, tensor) => {
  const shape = tensor.dims.length === 1 ? `${tensor.dims[0]},` : tensor.dims.join(", ");
  let header = `{'descr': '${types[tensor.type][0]}', 'fortran_order': False, 'shape': (${shape}), }`;
  header += " ".repeat(63 - ((10 + header.length) % 64)) + "\n";
  const start = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255, header.length >> 8]);
  const data = tensor.data;
  fs.writeFileSync(file, Buffer.concat([start, Buffer.from(header), Buffer.from(data.buffer, data.byteOffset, data.byteLength)]));
};

// An array of version 1, in C order.
exports.read = (file, ort) => {
  const bytes = fs.readFileSync(file);
  const end = 10 + bytes.readUInt16LE(8);
  const header = bytes.toString("latin1", 10, end);
  const descriptor = /'descr': '([^']*)'/.exec(header)[1];
  const dims = /'shape': \(([^)]*)\)/.exec(header)[1].split(",").filter((one) => one.trim()).map(Number);
  const [type, [, List]] = Object.entries(types).find(([, [one]]) => one === descriptor);
  const data = bytes.buffer.slice(bytes.byteOffset + end, bytes.byteOffset + bytes.length);
  return new ort.Tensor(type, new List(data), dims);
};
