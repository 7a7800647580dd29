// The example's plugin: a reader of data that makes samples of a text, for the prediction of the
// next character.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tenon/plugin.hpp>
#include <tenon/ops.hpp>

using tenon::Tensor;

namespace {

std::string read_text(std::string_view path) {
  if (!std::filesystem::is_regular_file(path))  // a named pipe would block its reader
    throw tenon::IOError(std::string(path) + ": not a regular file");
  std::ifstream file(std::string(path), std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw tenon::IOError(std::string(path) + ": the file cannot be read");
  return text;
}

// The characters of a text, each once, in the order of their codes 0, 1, ...
std::string alphabet_of(const std::string& text) {
  std::string alphabet = text;
  std::sort(alphabet.begin(), alphabet.end());
  alphabet.erase(std::unique(alphabet.begin(), alphabet.end()), alphabet.end());
  return alphabet;
}

std::vector<int64_t> codes_of(const std::string& text, const std::string& alphabet,
                              std::string_view path) {
  std::array<int64_t, 256> table;
  table.fill(-1);
  for (size_t i = 0; i < alphabet.size(); ++i)
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<int64_t>(i);
  std::vector<int64_t> codes;
  codes.reserve(text.size());
  int64_t line = 1, column = 1;
  for (const char c : text) {
    const int64_t code = table[static_cast<unsigned char>(c)];
    if (code < 0) {
      throw tenon::ValueError(std::string(path) + ":" + std::to_string(line) + ":" +
                              std::to_string(column) + ": the character '" + c +
                              "' is not in the text that the model was trained on; remove it");
    }
    codes.push_back(code);
    column = c == '\n' ? 1 : column + 1;
    line += c == '\n' ? 1 : 0;
  }
  return codes;
}

}  // namespace

// The results of a reader, as plugins/README.md describes them: inputs, targets, parts, and what
// was learned from the file.
struct TextWindows {
  static constexpr auto schema =
      "characters.windows(str path, *, int length=64, int stride=64, float test=0.1, "
      "bool with_targets=True, str fitted='') -> "
      "(Tensor inputs, Tensor targets, Tensor parts, str fitted)";
  static constexpr auto doc =
      "Samples of a text: `length` characters as codes from 0 on, and as targets the characters "
      "that follow each of them. A sample begins every `stride` characters; the last part `test` "
      "of the text is for testing.";

  static std::tuple<Tensor, Tensor, Tensor, std::string> forward(std::string_view path,
                                                                 int64_t length, int64_t stride,
                                                                 double test, bool with_targets,
                                                                 std::string_view fitted) {
    if (length < 1 || stride < 1)
      throw tenon::ValueError("characters.windows(): length and stride must be at least 1");
    if (!(test >= 0 && test < 1))
      throw tenon::ValueError("characters.windows(): test must be from 0 to below 1");
    const std::string text = read_text(path);
    const std::string alphabet = fitted.empty() ? alphabet_of(text) : std::string(fitted);
    const std::vector<int64_t> codes = codes_of(text, alphabet, path);

    // No sample has characters of both parts.
    const auto count = static_cast<int64_t>(codes.size());
    const auto train_end =
        static_cast<int64_t>(std::floor(static_cast<double>(count) * (1 - test)));
    std::vector<float> inputs;
    std::vector<int64_t> targets, parts;
    const auto add = [&](int64_t begin, int64_t end, int64_t part) {
      for (int64_t at = begin; at + length + 1 <= end; at += stride) {
        inputs.insert(inputs.end(), codes.begin() + at, codes.begin() + at + length);
        targets.insert(targets.end(), codes.begin() + at + 1, codes.begin() + at + length + 1);
        parts.push_back(part);
      }
    };
    add(0, train_end, 0);
    add(train_end, count, 2);
    const auto samples = static_cast<int64_t>(parts.size());
    if (samples == 0) {
      throw tenon::ValueError(std::string(path) + ": the text has " + std::to_string(count) +
                              " characters; a sample needs " + std::to_string(length + 1));
    }
    const Tensor all_targets =
        with_targets ? tenon::from_range(targets.begin(), targets.end()).reshape({samples, length})
                     : tenon::empty_tensor({samples, 0});
    return {tenon::from_range(inputs.begin(), inputs.end()).reshape({samples, length}), all_targets,
            tenon::from_range(parts.begin(), parts.end()), alphabet};
  }
};
TENON_OP(TextWindows)

TENON_PLUGIN(characters, "1.0.0")
