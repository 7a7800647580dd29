#!/usr/bin/env bash
# ONNX Runtime 1.30 (npm onnxruntime-node): equal elements of one tensor have unequal sines, cosines, logarithms,
# arcs and softplus, depending on where in the tensor they are.
#
# Expected: an elementwise operator is a function of the element: equal inputs, equal outputs.
# Seen: of 19 equal f32 numbers, the last ones get other results than the first ones, for about one number in three
# for Asin, by up to 3 units in the last place; Exp, Tanh, Erf and Sigmoid give equal results. Whole vectors
# and the rest behind them are computed by two implementations.
# Hit: a model run on a batch differs from the same rows run one by one; padding a sequence changes results that
# were not padded; caches and golden outputs keyed by input break; comparing batched with unbatched runs bit for
# bit fails without a fault of the model.
# Remedy: pad tensors to a multiple of 16 elements, or compare within 4 units in the last place.
set -euo pipefail
package=onnxruntime-node@1.30.0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts "$package" >/dev/null 2>&1
cat >position.js <<'SOURCE'
const { InferenceSession, Tensor } = require("onnxruntime-node");
// Fields of protobuf, each shorter than 128 bytes.
const put = (number, value) =>
  typeof value === "number" ? [8 * number, value] : [8 * number + 2, value.length, ...Buffer.from(value)];
// A model of one node, y = type(x): tensors of f32 of any shape.
function modelOf(type) {
  const tensor = (name) => [...put(1, name), ...put(2, put(1, put(1, 1)))];
  const node = [...put(1, "x"), ...put(2, "y"), ...put(4, type)];
  const graph = [...put(1, node), ...put(2, "g"), ...put(11, tensor("x")), ...put(12, tensor("y"))];
  return Uint8Array.from([...put(1, 8), ...put(7, graph), ...put(8, put(2, 15))]);
}
async function main() {
  for (const type of ["Asin", "Atan", "Cos", "Log", "Sin", "Softplus", "Erf", "Exp", "Sigmoid", "Tanh"]) {
    const session = await InferenceSession.create(modelOf(type), { intraOpNumThreads: 1 });
    let unequal = 0;
    for (let i = 1; i < 500; ++i) {
      const x = new Tensor("float32", new Float32Array(19).fill(i / 501), [19]);
      const { y } = await session.run({ x });
      if (y.data[0] !== y.data[18]) ++unequal;
    }
    console.log(`${type}: ${unequal === 0 ? "equal" : "first and last differ"}`);
  }
}
main();
SOURCE
seen=$(node position.js)
printf '%s\n' "$package" "$seen"
expected="Asin: first and last differ
Atan: first and last differ
Cos: first and last differ
Log: first and last differ
Sin: first and last differ
Softplus: first and last differ
Erf: equal
Exp: equal
Sigmoid: equal
Tanh: equal"
[[ $seen == "$expected" ]] || { echo 'this has changed' >&2; exit 1; }
