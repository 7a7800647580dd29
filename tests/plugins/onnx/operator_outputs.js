// Results of ONNX Runtime for the models of make_operator_cases.py: writes FOLDER/NAME/output_N.npy, and copies
// operators.txt to FOLDER/cases.txt when all are there. One that it cannot compute is an error.
"use strict";
const fs = require("fs");
const path = require("path");

const [modules, folder] = process.argv.slice(2);
const npy = require("./npy.js");
const ort = require(path.join(modules, "onnxruntime-node"));

async function compute(name) {
  const target = path.join(folder, name);
  const session = await ort.InferenceSession.create(path.join(target, "model.onnx"), {
    intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4,
  });
  const inputs = {};
  session.inputNames.forEach((one, i) => { inputs[one] = npy.read(path.join(target, `input_${i}.npy`), ort); });
  const outputs = await session.run(inputs);
  session.outputNames.forEach((one, i) => npy.write(path.join(target, `output_${i}.npy`), outputs[one]));
}

async function main() {
  const lines = fs.readFileSync(path.join(folder, "operators.txt"), "utf8");
  for (const line of lines.trim().split("\n")) await compute(line.split(" ")[0]);
  fs.writeFileSync(path.join(folder, "cases.txt"), lines);
}
main();
