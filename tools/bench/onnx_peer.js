// What ONNX Runtime takes for the models that onnx_models.py wrote, one thread: prints
// {"samples_ns": {name: [processor time, ...]}}. PEER_FOLDER has onnxruntime-node installed, and the models in models/.
"use strict";
const fs = require("fs");
const path = require("path");

const REPETITIONS = 5;
const SECONDS = 0.15; // of a sample
const folder = path.resolve(process.env.PEER_FOLDER || ".");
const ort = require(path.join(folder, "node_modules", "onnxruntime-node"));
const models = path.join(folder, "models");
const shapes = JSON.parse(fs.readFileSync(path.join(models, "shapes.json"), "utf8"));
const names = process.env.PEER_BENCHMARKS ? process.env.PEER_BENCHMARKS.split(",") : Object.keys(shapes);

// Of the whole process: the session runs in this thread, Node's others are idle.
function processorTime() {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1e3;
}

// The result goes into the same memory each time: the figure has no copy of it.
async function callOf(name) {
  const session = await ort.InferenceSession.create(path.join(models, `${name}.onnx`), {
    intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: "sequential", graphOptimizationLevel: "all",
  });
  const elements = shapes[name].reduce((a, b) => a * b);
  const x = new ort.Tensor("float32", Float32Array.from({ length: elements }, () => Math.random() * 4 - 2), shapes[name]);
  const { y } = await session.run({ x });
  const result = { y: new ort.Tensor("float32", new Float32Array(y.data.length), y.dims) };
  return () => session.run({ x }, result);
}

// Of one call, as the mean of as many as fill the time.
async function sample(call) {
  const start = processorTime();
  for (let count = 1; ; ++count) {
    await call();
    const taken = processorTime() - start;
    if (taken > SECONDS * 1e9) return taken / count;
  }
}

async function main() {
  const calls = {}, samples = {};
  for (const name of names) {
    calls[name] = await callOf(name);
    samples[name] = [];
  }
  for (let i = 0; i < REPETITIONS; ++i) {
    for (const name of names) samples[name].push(await sample(calls[name]));
  }
  console.log(JSON.stringify({ samples_ns: samples }));
}
main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
