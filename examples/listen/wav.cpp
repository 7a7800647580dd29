// A WAV file is a list of chunks: name, size in bytes, contents, and a byte of padding behind an odd
// size. Two of them matter here, 'fmt ' and behind it 'data'.
#include "wav.hpp"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <tenon/error.hpp>

namespace {

using tenon::ValueError;

uint32_t little_endian(std::string_view bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i)
    value |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

struct Format {
  static constexpr uint32_t pcm = 1, floats = 3, extensible = 0xfffe;
  uint32_t code, channels, rate, frame_bytes, bits;  // a frame: one sample of each channel

  size_t sample_bytes() const { return bits / 8; }
};

Format read_format(std::string_view chunk) {
  if (chunk.size() < 16) {
    throw ValueError("the chunk 'fmt ' has " + std::to_string(chunk.size()) +
                     " bytes, expected 16 or more; record or export the sound again");
  }
  Format format{little_endian(chunk, 0, 2), little_endian(chunk, 2, 2), little_endian(chunk, 4, 4),
                little_endian(chunk, 12, 2), little_endian(chunk, 14, 2)};
  if (format.code == Format::extensible && chunk.size() >= 26)
    format.code = little_endian(chunk, 24, 2);
  const bool known = format.code == Format::pcm
                         ? format.bits == 16 || format.bits == 24 || format.bits == 32
                         : format.code == Format::floats && format.bits == 32;
  if (!known) {
    throw ValueError("samples have " + std::to_string(format.bits) + " bits in format " +
                     std::to_string(format.code) +
                     ", expected 16, 24 or 32 bits in format 1 (PCM) or 32 in 3 (float); convert "
                     "the file: ffmpeg -i FILE -c:a pcm_s16le converted.wav");
  }
  if (format.channels == 0 || format.rate == 0 ||
      format.frame_bytes != format.channels * format.sample_bytes()) {
    throw ValueError("the chunk 'fmt ' has " + std::to_string(format.channels) + " channels of " +
                     std::to_string(format.bits) + " bits in frames of " +
                     std::to_string(format.frame_bytes) + " bytes at " +
                     std::to_string(format.rate) +
                     " Hz, which do not fit; record or export the sound again");
  }
  return format;
}

float sample(std::string_view bytes, const Format& format) {
  const uint32_t bits = little_endian(bytes, 0, bytes.size());
  if (format.code == Format::floats) {
    float number = 0;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }
  // The sign is in the highest byte of a sample, as in an integer of 32 bits with zeros below it.
  const uint32_t high = bits << (32 - format.bits);
  int32_t number = 0;
  std::memcpy(&number, &high, sizeof number);
  return static_cast<float>(number) / 2147483648.0F;
}

std::vector<float> mix(std::string_view data, const Format& format) {
  if (data.empty() || data.size() % format.frame_bytes != 0) {
    throw ValueError("the chunk 'data' has " + std::to_string(data.size()) +
                     " bytes, expected one or more frames of " +
                     std::to_string(format.frame_bytes) + "; record or export the sound again");
  }
  std::vector<float> samples;
  samples.reserve(data.size() / format.frame_bytes);
  for (size_t frame = 0; frame < data.size(); frame += format.frame_bytes) {
    float sum = 0;
    for (size_t at = frame; at < frame + format.frame_bytes; at += format.sample_bytes())
      sum += sample(data.substr(at, format.sample_bytes()), format);
    if (!std::isfinite(sum)) {
      throw ValueError("sample " + std::to_string(samples.size()) +
                       " is not a finite number; record or export the sound again");
    }
    samples.push_back(sum / static_cast<float>(format.channels));
  }
  return samples;
}

}  // namespace

Sound parse_wav(std::string_view bytes) {
  if (bytes.substr(0, 4) != "RIFF" || bytes.size() < 12 || bytes.substr(8, 4) != "WAVE") {
    throw ValueError(
        "it is not a WAV file, which begins with RIFF and WAVE; convert it: "
        "ffmpeg -i FILE converted.wav");
  }
  std::string_view format;
  for (size_t at = 12; at + 8 <= bytes.size();) {
    const std::string_view name = bytes.substr(at, 4), rest = bytes.substr(at + 8);
    size_t size = little_endian(bytes, at + 4, 4);
    // A recorder that writes into a pipe cannot know the size.
    if (name == "data" && size == 0xffffffff) size = rest.size();
    if (size > rest.size()) {
      throw ValueError("the chunk at byte " + std::to_string(at) + " has " + std::to_string(size) +
                       " bytes by its header, and " + std::to_string(rest.size()) +
                       " follow: the file ends early; copy or record it again");
    }
    if (name == "data") {
      if (format.data() == nullptr)
        throw ValueError("the file has no chunk 'fmt ' before 'data'; record or export it again");
      const Format known = read_format(format);
      return {known.rate, mix(rest.substr(0, size), known)};
    }
    if (name == "fmt ") format = rest.substr(0, size);
    at += 8 + size + size % 2;
  }
  throw ValueError("the file has no chunk 'data', and so no sound; record or export it again");
}

Sound read_wav(const std::string& path) {
  std::ostringstream bytes;
  std::error_code code;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, code))
    throw tenon::IOError(path + ": the file cannot be read; check the path");
  bytes << file.rdbuf();
  try {
    return parse_wav(bytes.str());
  } catch (const ValueError& error) {
    throw ValueError(path + ": " + error.what());
  }
}
