#!/usr/bin/env bash
# ONNX Runtime 1.30 (npm onnxruntime-node): MaxPool answers differently when its second output is read.
#
# Expected: the first output of MaxPool is the largest element of each window, whether or not Indices, the second
# output, is there. The largest of two times -inf is -inf, as NumPy and PyTorch have it.
# Seen: without Indices a window of -inf alone gives the lowest finite float, -3.4e38, and so does one with NaN
# alone; with Indices they give -inf and NaN. Nothing of the input is -3.4e38.
# Hit: pools over scores that were masked with -inf: a softmax behind it sees finite numbers, so that a row that
# is masked entirely becomes a uniform distribution and not NaN.
# Remedy: read Indices too, or mask with a finite number.
set -euo pipefail
package=onnxruntime-node@1.30.0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts "$package" >/dev/null 2>&1
cat >pool.js <<'SOURCE'
const ort = require("onnxruntime-node");
// Messages of protobuf: a field is a number with what it has, a text, a message or an integer.
const varint = (n) => (n < 128 ? [n] : [(n % 128) | 128, ...varint(Math.floor(n / 128))]);
const field = (number, value) => {
  if (typeof value === "number") return [...varint(number * 8), ...varint(value)];
  const bytes = typeof value === "string" ? [...Buffer.from(value)] : value;
  return [...varint(number * 8 + 2), ...varint(bytes.length), ...bytes];
};
const info = (name, type) => [...field(1, name), ...field(2, field(1, field(1, type)))];
function model(outputs) {
  const kernel = [...field(1, "kernel_shape"), ...field(8, 2), ...field(20, 7)];
  const node = [
    ...field(1, "x"), ...outputs.flatMap((name) => field(2, name)), ...field(4, "MaxPool"), ...field(5, kernel),
  ];
  const graph = [
    ...field(1, node), ...field(2, "pool"), ...field(11, info("x", 1)),
    ...outputs.flatMap((name) => field(12, info(name, name === "y" ? 1 : 7))),
  ];
  return Uint8Array.from([...field(1, 8), ...field(7, graph), ...field(8, field(2, 12))]);
}
async function main() {
  for (const outputs of [["y"], ["y", "indices"]]) {
    const session = await ort.InferenceSession.create(model(outputs), { logSeverityLevel: 4 });
    const x = new ort.Tensor("float32", [-Infinity, -Infinity, 1, NaN, NaN], [1, 1, 5]);
    const { y } = await session.run({ x });
    console.log(outputs.length, "outputs:", Array.from(y.data).join(" "));
  }
}
main();
SOURCE
seen=$(node pool.js)
printf '%s\n' "$package" "$seen"
expected="1 outputs: -3.4028234663852886e+38 1 1 -3.4028234663852886e+38
2 outputs: -Infinity 1 1 NaN"
[[ $seen == "$expected" ]] || { echo 'this has changed' >&2; exit 1; }
