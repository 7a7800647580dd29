#!/usr/bin/env bash
# ONNX Runtime 1.30 (npm onnxruntime-node): Softplus as the activation of RNN is infinite from 89 on.
#
# Expected: log(1 + e^x), which is x itself for large x; so the operator Softplus computes it, for every f32.
# Seen: an RNN of one step with activations=["Softplus"] gives 88 for 88, and Infinity for 89 and 100, where
# the operator gives 89 and 100: e^x leaves the range of f32 before the logarithm is taken.
# Hit: recurrent layers whose gates are not bounded: one large input makes the state infinite, and NaN later.
# Remedy: clip at 88 (attribute `clip`), or write the step with the operators MatMul, Add and Softplus.
set -euo pipefail
package=onnxruntime-node@1.30.0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts "$package" >/dev/null 2>&1
cat >softplus.js <<'SOURCE'
const { InferenceSession, Tensor } = require("onnxruntime-node");
// A field of protobuf: a small number, a text, or the bytes of a message of at most 16,383.
const size = (n) => (n < 128 ? [n] : [(n & 127) + 128, n >> 7]);
const put = (number, value) => {
  if (typeof value === "number") return [...size(8 * number), value];
  const bytes = [...Buffer.from(value)];
  return [...size(8 * number + 2), ...size(bytes.length), ...bytes];
};
const tensor = (name) => [...put(1, name), ...put(2, put(1, put(1, 1)))];
function modelOf(type, inputs, attributes) {
  const node = [
    ...inputs.flatMap((name) => put(1, name)), ...put(2, "y"), ...put(4, type),
    ...attributes.flatMap((attribute) => put(5, attribute)),
  ];
  const graph = [
    ...put(1, node), ...put(2, type), ...inputs.flatMap((name) => put(11, tensor(name))), ...put(12, tensor("y")),
  ];
  return Uint8Array.from([...put(1, 9), ...put(7, graph), ...put(8, put(2, 14))]);
}
const load = (model) => InferenceSession.create(model, { logSeverityLevel: 4 });
const of = (number, shape) => new Tensor("float32", [number], shape);
async function main() {
  const rnn = await load(modelOf("RNN", ["x", "w", "r"], [
    [...put(1, "activations"), ...put(9, "Softplus"), ...put(20, 8)],
    [...put(1, "hidden_size"), ...put(3, 1), ...put(20, 2)],
  ]));
  const operator = await load(modelOf("Softplus", ["x"], []));
  for (const x of [88, 89, 100]) {
    const step = await rnn.run({ x: of(x, [1, 1, 1]), w: of(1, [1, 1, 1]), r: of(0, [1, 1, 1]) });
    const alone = await operator.run({ x: of(x, [1]) });
    console.log(`x ${x}: RNN ${step.y.data[0]}, Softplus ${alone.y.data[0]}`);
  }
}
main();
SOURCE
seen=$(node softplus.js)
printf '%s\n' "$package" "$seen"
expected="x 88: RNN 88, Softplus 88
x 89: RNN Infinity, Softplus 89
x 100: RNN Infinity, Softplus 100"
[[ $seen == "$expected" ]] || { echo 'this has changed' >&2; exit 1; }
