// The reader of WAV files of examples/listen, with files that are made byte by byte here.
#include "examples/listen/wav.hpp"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include <tenon/error.hpp>

namespace {

std::string bytes_of(uint32_t value, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}
std::string float_bytes(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bytes_of(bits, 4);
}

std::string chunk(const std::string& name, const std::string& contents) {
  return name + bytes_of(static_cast<uint32_t>(contents.size()), 4) + contents +
         std::string(contents.size() % 2, '\0');
}
std::string format(uint32_t code, uint32_t channels, uint32_t rate, uint32_t bits) {
  const uint32_t frame = channels * bits / 8;
  return bytes_of(code, 2) + bytes_of(channels, 2) + bytes_of(rate, 4) + bytes_of(rate * frame, 4) +
         bytes_of(frame, 2) + bytes_of(bits, 2);
}
std::string riff(const std::string& chunks) {
  return "RIFF" + bytes_of(static_cast<uint32_t>(4 + chunks.size()), 4) + "WAVE" + chunks;
}
std::string wav(const std::string& format, const std::string& data) {
  return riff(chunk("fmt ", format) + chunk("data", data));
}

std::string refused(const std::string& bytes) {
  try {
    parse_wav(bytes);
  } catch (const tenon::ValueError& error) {
    return error.what();
  }
  return "";
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("samples of each format are from -1 to 1") {
  const auto samples = [](uint32_t code, uint32_t bits, const std::string& data) {
    const Sound sound = parse_wav(wav(format(code, 1, 8000, bits), data));
    CHECK(sound.rate == 8000);
    return sound.samples;
  };
  CHECK(samples(1, 16, bytes_of(0x8000, 2) + bytes_of(0x4000, 2)) == std::vector<float>{-1, 0.5});
  CHECK(samples(1, 24, bytes_of(0x800000, 3) + bytes_of(1, 3)) ==
        std::vector<float>{-1, 1.0F / 8388608});
  CHECK(samples(1, 32, bytes_of(0xc0000000, 4)) == std::vector<float>{-0.5});
  CHECK(samples(3, 32, float_bytes(0.3F) + float_bytes(-2)) == std::vector<float>{0.3F, -2});
}

TEST_CASE("channels are mixed into their mean") {
  const std::string data = bytes_of(0x4000, 2) + bytes_of(0, 2) + bytes_of(0x8000, 2) +
                           bytes_of(0x4000, 2) + bytes_of(0x4000, 2) + bytes_of(0x4000, 2);
  CHECK(parse_wav(wav(format(1, 2, 16000, 16), data)).samples ==
        std::vector<float>{0.25, -0.25, 0.5});
}

TEST_CASE("random numbers are read as they were written, whatever chunks are between") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const auto channels = static_cast<uint32_t>(1 + random() % 3);
    const auto bits = static_cast<uint32_t>(16 + 8 * (random() % 3));
    const size_t frames = 1 + random() % 20;
    std::string data;
    std::vector<double> expected;
    for (size_t i = 0; i < frames; ++i) {
      double sum = 0;
      for (uint32_t c = 0; c < channels; ++c) {
        const auto largest = static_cast<int64_t>(1) << (bits - 1);
        const int64_t number = static_cast<int64_t>(random()) % (2 * largest) - largest;
        data += bytes_of(static_cast<uint32_t>(number), static_cast<int>(bits / 8));
        sum += static_cast<double>(number) / static_cast<double>(largest);
      }
      expected.push_back(sum / channels);
    }
    const auto other = [&] {
      return random() % 2 == 0 ? "" : chunk("LIST", std::string(random() % 7, 'x'));
    };
    const Sound sound = parse_wav(riff(other() + chunk("fmt ", format(1, channels, 16000, bits)) +
                                       other() + chunk("data", data) + other()));
    REQUIRE(sound.samples.size() == frames);
    for (size_t i = 0; i < frames; ++i)
      CHECK(static_cast<double>(sound.samples[i]) == doctest::Approx(expected[i]).epsilon(1e-6));
  }
}

TEST_CASE("an extensible format names its code behind the other fields") {
  const std::string extended = format(0xfffe, 1, 16000, 16) + bytes_of(22, 2) + bytes_of(16, 2) +
                               bytes_of(4, 4) + bytes_of(1, 2) + std::string(14, '\0');
  CHECK(parse_wav(wav(extended, bytes_of(0x4000, 2))).samples == std::vector<float>{0.5});
}

TEST_CASE("a recorder that wrote into a pipe may leave the size of the samples open") {
  const std::string open = riff(chunk("fmt ", format(1, 1, 16000, 16)) + "data" +
                                bytes_of(0xffffffff, 4) + bytes_of(0x4000, 2));
  CHECK(parse_wav(open).samples == std::vector<float>{0.5});
}

TEST_CASE("a file that ends early is refused, wherever it was cut") {
  const std::string whole =
      riff(chunk("LIST", "abc") + chunk("fmt ", format(1, 1, 16000, 16)) + chunk("data", "abcd"));
  REQUIRE(parse_wav(whole).samples.size() == 2);
  for (size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK(refused(whole.substr(0, length)) != "");
  }
  CHECK(contains(refused(whole.substr(0, whole.size() - 1)),
                 "the chunk at byte 48 has 4 bytes by its header, and 3 follow"));
}

TEST_CASE("other files and formats are named with what is expected") {
  CHECK(contains(refused("OggS and more"), "it is not a WAV file"));
  CHECK(contains(refused(wav(format(1, 1, 16000, 8), "ab")),
                 "samples have 8 bits in format 1, expected 16, 24 or 32 bits"));
  CHECK(contains(refused(wav(format(6, 1, 16000, 8), "ab")), "8 bits in format 6"));
  CHECK(contains(refused(wav(format(3, 1, 16000, 64), "abcdefgh")), "64 bits in format 3"));
  CHECK(contains(refused(wav("short", "ab")), "the chunk 'fmt ' has 5 bytes, expected 16"));
  CHECK(contains(refused(wav(format(1, 0, 16000, 16), "ab")), "0 channels"));
  CHECK(contains(refused(wav(format(1, 1, 16000, 16), "")), "'data' has 0 bytes"));
  CHECK(contains(refused(wav(format(1, 2, 16000, 16), "ab")), "one or more frames of 4"));
  CHECK(contains(refused(riff(chunk("data", "ab"))), "no chunk 'fmt ' before"));
  CHECK(contains(refused(riff(chunk("fmt ", format(1, 1, 16000, 16)))), "no chunk 'data'"));
  const std::string nan = float_bytes(std::numeric_limits<float>::quiet_NaN());
  CHECK(contains(refused(wav(format(3, 1, 16000, 32), float_bytes(0) + nan)),
                 "sample 1 is not a finite number"));
}

TEST_CASE("errors name the file") {
  const std::string path = "wav_test.wav";
  std::ofstream(path, std::ios::binary) << "not sound";
  CHECK_THROWS_WITH_AS(read_wav(path), doctest::Contains("wav_test.wav: it is not a WAV file"),
                       tenon::ValueError);
  std::filesystem::remove(path);
  CHECK_THROWS_WITH_AS(read_wav(path), "wav_test.wav: the file cannot be read; check the path",
                       tenon::IOError);
  CHECK_THROWS_AS(read_wav("."), tenon::IOError);
}
