// The answers of ONNX Runtime for differences.json, whose models are FOLDER/0.onnx and those behind it: writes
// FOLDER/onnxruntime.json.
"use strict";
const fs = require("fs");
const path = require("path");

const [modules, folder] = process.argv.slice(2);
const ort = require(path.join(modules, "onnxruntime-node"));
const types = { f32: "float32", u8: "uint8", i32: "int32", i64: "int64", bool: "bool" };

function tensor(input) {
  const [type, value] = Object.entries(input)[0];
  const dims = [];
  for (let inner = value; Array.isArray(inner); inner = inner[0]) dims.push(inner.length);
  const special = { nan: NaN, inf: Infinity, "-inf": -Infinity };
  const numbers = [value].flat(Infinity).map((one) => (one in special ? special[one] : one));
  const data = type === "i64" ? BigInt64Array.from(numbers.map(BigInt))
    : type === "f32" ? Float32Array.from(numbers) : type === "i32" ? Int32Array.from(numbers)
      : Uint8Array.from(numbers);
  return new ort.Tensor(types[type], data, dims);
}

async function answer(one, model) {
  try {
    const session = await ort.InferenceSession.create(model, {
      intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4,
    });
    const inputs = {};
    one.inputs.forEach((input, i) => { if (input) inputs[`x${i}`] = tensor(input); });
    const outputs = await session.run(inputs);
    return session.outputNames.map((name) => ({
      dims: Array.from(outputs[name].dims), numbers: Array.from(outputs[name].data, String),
    }));
  } catch (error) {
    return "error";
  }
}

async function main() {
  const { groups } = JSON.parse(fs.readFileSync(path.join(__dirname, "differences.json"), "utf8"));
  const answers = [];
  for (const one of groups.flatMap((group) => group.cases))
    answers.push(await answer(one, path.join(folder, `${answers.length}.onnx`)));
  fs.writeFileSync(path.join(folder, "onnxruntime.json"), JSON.stringify(answers));
}
main();
