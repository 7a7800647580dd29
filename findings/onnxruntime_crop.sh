#!/usr/bin/env bash
# ONNX Runtime 1.30 (npm onnxruntime-node): Resize with tf_crop_and_resize returns its input where sizes are equal.
#
# Expected: coordinate_transformation_mode tf_crop_and_resize samples the region `roi` of the input, as the
# standard's text says: x_original = start_x * (length_original - 1) + ..., and extrapolation_value where a
# place is outside. A region from -0.5 to 1.5 of four elements, resized to four, begins and ends outside.
# Seen: where the output has the size of the input, the region is not read: the output is the input. Resized to
# five elements the same region is sampled, and its ends are extrapolation_value.
# Hit: crops of a fixed size, as detectors take them: whether a region counts depends on the size of the picture.
# Remedy: another size, or Slice and Pad before Resize.
set -euo pipefail
package=onnxruntime-node@1.30.0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts "$package" >/dev/null 2>&1
cat >crop.js <<'SOURCE'
const ort = require("onnxruntime-node");
// Messages of protobuf: a field is a number with what it has, a text, a message or an integer.
const varint = (n) => (n < 128 ? [n] : [(n % 128) | 128, ...varint(Math.floor(n / 128))]);
const field = (number, value) => {
  if (typeof value === "number") return [...varint(number * 8), ...varint(value)];
  const bytes = typeof value === "string" ? [...Buffer.from(value)] : value;
  return [...varint(number * 8 + 2), ...varint(bytes.length), ...bytes];
};
const text = (name, value) => [...field(1, name), ...field(4, value), ...field(20, 3)];
const real = (name, value) => {
  const bits = Buffer.alloc(4);
  bits.writeFloatLE(value);
  return [...field(1, name), 2 * 8 + 5, ...bits, ...field(20, 1)];
};
const info = (name, type) => [...field(1, name), ...field(2, field(1, field(1, type)))];
const node = [
  ...["x", "roi", "", "sizes"].flatMap((name) => field(1, name)), ...field(2, "y"), ...field(4, "Resize"),
  ...field(5, text("mode", "linear")),
  ...field(5, text("coordinate_transformation_mode", "tf_crop_and_resize")),
  ...field(5, real("extrapolation_value", 9)),
];
const graph = [
  ...field(1, node), ...field(2, "crop"), ...field(11, info("x", 1)), ...field(11, info("roi", 1)),
  ...field(11, info("sizes", 7)), ...field(12, info("y", 1)),
];
const model = [...field(1, 9), ...field(7, graph), ...field(8, field(2, 19))];
async function main() {
  const session = await ort.InferenceSession.create(Uint8Array.from(model), { logSeverityLevel: 4 });
  for (const size of [4, 5]) {
    const { y } = await session.run({
      x: new ort.Tensor("float32", [1, 2, 3, 4], [1, 1, 1, 4]),
      roi: new ort.Tensor("float32", [0, 0, 0, -0.5, 1, 1, 1, 1.5], [8]),
      sizes: new ort.Tensor("int64", BigInt64Array.from([1n, 1n, 1n, BigInt(size)]), [4]),
    });
    console.log(size, "elements:", Array.from(y.data).join(" "));
  }
}
main();
SOURCE
seen=$(node crop.js)
printf '%s\n' "$package" "$seen"
expected="4 elements: 1 2 3 4
5 elements: 9 1 2.5 4 9"
[[ $seen == "$expected" ]] || { echo 'this has changed' >&2; exit 1; }
