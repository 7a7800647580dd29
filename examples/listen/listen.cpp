// Prints where a WAV file has speech: a voice detector in the ONNX format, called chunk by chunk.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <tuple>

#include <tenon/grad_mode.hpp>
#include <tenon/tenon.hpp>

#include "wav.hpp"

using tenon::Module, tenon::Tensor;

namespace {

// The detector looks at 32 ms of sound and at the end of the chunk before.
struct ChunkSizes {
  int64_t chunk, context;
};

ChunkSizes chunk_sizes(const std::string& path, int64_t rate) {
  if (rate == 16000) return {512, 64};
  if (rate == 8000) return {256, 32};
  throw tenon::ValueError(path + ": the sample rate is " + std::to_string(rate) +
                          " Hz, and the detector takes 8000 or 16000; convert the file: "
                          "ffmpeg -i FILE -ar 16000 converted.wav");
}

Module load_detector(const std::string& path) {
  std::error_code code;
  if (!std::filesystem::exists(path, code)) {
    throw tenon::IOError(path +
                         ": the model is missing; `tools/setup --models` in Tenon's source "
                         "fetches it into build-models/node_modules/@ricky0123/vad-web/dist");
  }
  Module model = Module::create("onnx.Model", tenon::arg("path") = path);
  const std::string expected =
      "forward(Tensor input, Tensor state, Tensor sr) -> (Tensor output, Tensor stateN)";
  if (model.forward_schema() != expected) {
    throw tenon::ValueError(path + ": the model has " + model.forward_schema() + ", expected " +
                            expected + "; use silero_vad_v5.onnx");
  }
  return model;
}

// The probability of speech in each chunk. What the detector remembers of the chunks before is a
// tensor that it returns, and takes again.
std::vector<double> listen(const Module& detector, const Sound& sound, const ChunkSizes& sizes) {
  const auto [chunk, context] = sizes;
  const auto length = static_cast<int64_t>(sound.samples.size());
  const int64_t chunks = (length + chunk - 1) / chunk;
  const tenon::NoGrad no_grad;
  const Tensor samples = tenon::from_range(sound.samples.begin(), sound.samples.end())
                             .pad({context, chunks * chunk - length})
                             .reshape({1, context + chunks * chunk});
  const Tensor rate = tenon::full(std::vector<int64_t>{}, sound.rate, tenon::i64);
  Tensor state = tenon::zeros({2, 1, 128});
  std::vector<double> probabilities;
  for (int64_t i = 0; i < chunks; ++i) {
    const auto [probability, next] = detector.call<std::tuple<Tensor, Tensor>>(
        samples.narrow(1, i * chunk, context + chunk), state, rate);
    probabilities.push_back(probability.item());
    state = next;
  }
  return probabilities;
}

struct Interval {
  size_t begin, end;  // chunks
};

// Speech begins at a probability of 0.5 and ends below 0.35, unless it continues within four chunks:
// pauses between words are that short. What is shorter than eight chunks is a click or a cough.
std::vector<Interval> find_speech(const std::vector<double>& probabilities) {
  constexpr size_t pause = 4, shortest = 8;
  std::vector<Interval> found;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const bool speaking = !found.empty() && found.back().end == i;
    if (probabilities[i] < (speaking ? 0.35 : 0.5)) continue;
    if (found.empty() || i - found.back().end >= pause) found.push_back({i, i});
    found.back().end = i + 1;
  }
  const auto last = std::remove_if(found.begin(), found.end(), [](const Interval& one) {
    return one.end - one.begin < shortest;
  });
  found.erase(last, found.end());
  return found;
}

void run(const std::string& model, const std::string& path) {
  const Sound sound = read_wav(path);
  const ChunkSizes sizes = chunk_sizes(path, sound.rate);
  const auto seconds = [&](size_t samples) {
    return static_cast<double>(std::min(samples, sound.samples.size())) /
           static_cast<double>(sound.rate);
  };
  const std::vector<Interval> found = find_speech(listen(load_detector(model), sound, sizes));
  std::printf("%.2f s at %d Hz\n", seconds(sound.samples.size()), static_cast<int>(sound.rate));
  const auto chunk = static_cast<size_t>(sizes.chunk);
  for (const Interval& one : found) {
    std::printf("speech from %.2f s to %.2f s\n", seconds(one.begin * chunk),
                seconds(one.end * chunk));
  }
  if (found.empty()) std::puts("no speech");
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("usage: listen_intervals MODEL.onnx SOUND.wav\n", stderr);
    return 2;
  }
  try {
    run(arguments[1], arguments[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "listen_intervals: %s\n", error.what());
    return 1;
  }
}
