// Writes a WAV file that sounds like speech: two phrases of vowels between silence, made of what
// speech is made of. Pulses of the vocal cords pass resonances of the mouth, the formants.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <tenon/state/atomic_file.hpp>

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr int rate = 16000;

// A formant: two numbers of memory, a frequency and a bandwidth in Hz.
class Formant {
 public:
  double filter(double input, double frequency, double bandwidth) {
    const double radius = std::exp(-pi * bandwidth / rate);
    const double output = input + 2 * radius * std::cos(2 * pi * frequency / rate) * last_ -
                          radius * radius * before_;
    before_ = last_;
    last_ = output;
    return output;
  }

 private:
  double last_ = 0, before_ = 0;
};

// Noise that is the same in each run, from -1 to 1.
double noise() {
  static uint32_t seed = 1;
  seed = seed * 1664525U + 1013904223U;
  return static_cast<double>(seed) / 2147483648.0 - 1;
}

// Adds a phrase from one second to another: five syllables in each, in turn of the vowels in "far",
// "see", "you", "bed", "saw", while the voice falls.
void add_phrase(std::vector<double>& sound, double from, double to) {
  constexpr double vowels[][3] = {
      {730, 1090, 2440}, {270, 2290, 3010}, {300, 870, 2240}, {530, 1840, 2480}, {570, 840, 2410}};
  constexpr double bandwidths[] = {80, 100, 140}, levels[] = {0.075, 0.0375, 0.01875};
  constexpr double syllable_seconds = 0.2;
  std::array<Formant, 3> formants;
  double phase = 0;
  for (auto i = static_cast<size_t>(from * rate); i < static_cast<size_t>(to * rate); ++i) {
    const double time = static_cast<double>(i) / rate - from;
    const auto syllable = static_cast<size_t>(time / syllable_seconds);
    const double within = time / syllable_seconds - static_cast<double>(syllable);  // 0 to 1
    phase += (130 - 20 * time / (to - from) + 8 * std::sin(6 * pi * time)) / rate;
    const double pulse = phase >= 1 ? 1 : 0;
    phase -= pulse;
    const double *vowel = vowels[syllable % 5], *next = vowels[(syllable + 1) % 5];
    const double towards_next = std::fmax(0, 2 * within - 1);
    double voice = 0;
    for (size_t f = 0; f < formants.size(); ++f) {
      voice += levels[f] * formants[f].filter(pulse + 0.01 * noise(),
                                              vowel[f] + (next[f] - vowel[f]) * towards_next,
                                              bandwidths[f]);
    }
    if (within < 0.8) sound[i] += voice * std::sin(pi * within / 0.8);
  }
}

std::string little_endian(uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string wav(const std::vector<double>& sound) {
  std::string data;
  for (const double one : sound)
    data += little_endian(static_cast<uint32_t>(std::lround(one * 32767)), 2);
  const auto size = static_cast<uint32_t>(data.size());
  const std::string format = little_endian(1, 2) + little_endian(1, 2) + little_endian(rate, 4) +
                             little_endian(2 * rate, 4) + little_endian(2, 2) +
                             little_endian(16, 2);
  return "RIFF" + little_endian(36 + size, 4) + "WAVEfmt " + little_endian(16, 4) + format +
         "data" + little_endian(size, 4) + data;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: listen_speech SOUND.wav\n", stderr);
    return 2;
  }
  std::vector<double> sound(static_cast<size_t>(6.5 * rate));
  for (double& one : sound) one = 0.001 * noise();
  add_phrase(sound, 1.0, 2.6);
  add_phrase(sound, 3.8, 5.6);
  try {
    tenon::state::write_file(arguments[1], wav(sound));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "listen_speech: %s\n", error.what());
    return 1;
  }
}
