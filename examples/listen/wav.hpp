// Sound from WAV files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Samples of all channels mixed into one, from -1 to 1.
struct Sound {
  int64_t rate = 0;  // samples in a second
  std::vector<float> samples;
};

// PCM of 16, 24 and 32 bits and floats of 32. ValueErrors say what the bytes are instead, or where
// they end early.
Sound parse_wav(std::string_view bytes);

// Reads a file, which errors name; IOError where it cannot be read.
Sound read_wav(const std::string& path);
