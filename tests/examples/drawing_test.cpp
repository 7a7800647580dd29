// The drawings of examples/read_text.
#include "examples/read_text/drawing.hpp"

#include <doctest/doctest.h>

TEST_CASE("a drawing has the picture and a rectangle for each box") {
  CHECK(draw_boxes({{1, 2.5, 11, 8, 0.9}, {0, 0, 3, 4, 0.7}}, "foob", 20, 30) ==
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"30\" height=\"20\">\n"
        "<image width=\"30\" height=\"20\" href=\"data:image/png;base64,Zm9vYg==\"/>\n"
        "<g fill=\"none\" stroke=\"#d22\" stroke-width=\"2\">\n"
        "<rect x=\"1\" y=\"2.5\" width=\"10\" height=\"5.5\"/>\n"
        "<rect x=\"0\" y=\"0\" width=\"3\" height=\"4\"/>\n"
        "</g>\n</svg>\n");
}

TEST_CASE("the bytes of the picture are base64, padded to groups of four") {
  const auto encodes = [](const std::string& bytes, const std::string& text) {
    return draw_boxes({}, bytes, 1, 1).find("base64," + text + "\"/>") != std::string::npos;
  };
  // The test vectors of RFC 4648.
  CHECK(encodes("", ""));
  CHECK(encodes("f", "Zg=="));
  CHECK(encodes("fo", "Zm8="));
  CHECK(encodes("foo", "Zm9v"));
  CHECK(encodes("fooba", "Zm9vYmE="));
  CHECK(encodes("foobar", "Zm9vYmFy"));
  CHECK(encodes(std::string("\xff\x00\xfe", 3), "/wD+"));
}
