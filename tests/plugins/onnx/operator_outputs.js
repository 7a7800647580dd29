// Results of ONNX Runtime for the models of make_operator_cases.py: writes FOLDER/NAME/output_N.npy, and
// FOLDER/cases.txt, the lines of operators.txt, when all are there. One that it cannot compute is an error; with
// `refusals` behind the folder it is left out, and is in FOLDER/refusals.txt.
"use strict";
const fs = require("fs");
const path = require("path");

const [modules, folder, refusals] = process.argv.slice(2);
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
  const computed = [], refused = [];
  for (const line of fs.readFileSync(path.join(folder, "operators.txt"), "utf8").trim().split("\n")) {
    const name = line.split(" ")[0];
    try {
      await compute(name);
      computed.push(line);
    } catch (error) {
      if (!refusals) throw error;
      refused.push(`${name} ${String(error.message).split("\n")[0]}`);
    }
  }
  if (refusals) fs.writeFileSync(path.join(folder, "refusals.txt"), refused.join("\n") + "\n");
  fs.writeFileSync(path.join(folder, "cases.txt"), computed.join("\n") + "\n");
}
main();
