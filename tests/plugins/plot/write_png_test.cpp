// plot.write_png: SVG drawn into PNG files.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "../compare.hpp"

using namespace compare;

namespace {

const std::string path = "write_png_test.png";

std::string written(const std::string& svg, double scale = 2) {
  tenon::Op("plot.write_png").call<void>(path, svg, tenon::arg("scale") = scale);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  return bytes;
}
int64_t big_endian(const std::string& bytes, size_t at) {
  int64_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number * 256 + static_cast<unsigned char>(bytes[at + i]);
  return number;
}
std::string svg_of(const std::string& size, const std::string& body) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size + ">" + body + "</svg>";
}
std::string refused(const std::string& svg, double scale = 1) {
  return refusal_of("write_png", [&] { written(svg, scale); });
}

}  // namespace

TEST_SUITE("plot.write_png") {
  TEST_CASE("the image has the size of the document times the scale, and what is drawn") {
    const std::string size = "width=\"40\" height=\"30\"";
    const std::string empty = written(svg_of(size, ""));
    CHECK(empty.substr(0, 8) == "\x89PNG\r\n\x1a\n");
    CHECK(big_endian(empty, 16) == 80);
    CHECK(big_endian(empty, 20) == 60);
    const std::string line = written(svg_of(size, "<path d=\"M1 1 L39 29\" stroke=\"red\"/>"), 1);
    CHECK(big_endian(line, 16) == 40);
    CHECK(line.size() > written(svg_of(size, ""), 1).size() + 50);
    // Letters need a font: two texts differ only where there is one.
    const auto text = [&](const char* word) {
      return written(svg_of(size, std::string("<text y=\"20\">") + word + "</text>"));
    };
    CHECK(text("loss") != text("else"));
  }

  TEST_CASE("what cannot be drawn or written is refused, and a file that is there stays") {
    CHECK(refused("no svg").find("the SVG cannot be drawn: ") == 0);
    CHECK(refused(svg_of("", "")).find("the SVG has no size in pixels") == 0);
    CHECK(refused(svg_of("width=\"40\" height=\"30\"", ""), 1e6).find("an image has 1 to 16384") ==
          0);
    CHECK(refused(svg_of("width=\"40\" height=\"30\"", ""), -1).find("an image has 1 to 16384") ==
          0);
    std::ofstream(path) << "kept";
    CHECK(refusal([] { tenon::Op("plot.write_png").call<void>(path, "<svg"); }) !=
          "nothing was refused");
    CHECK(std::filesystem::file_size(path) == 4);
    std::filesystem::remove(path);
    CHECK(refusal([] {
            tenon::Op("plot.write_png")
                .call<void>("nowhere/x.png", svg_of("width=\"4\" height=\"3\"", ""));
          }).find("nowhere/x.png") != std::string::npos);
  }
}
