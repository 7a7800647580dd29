// Writes a PNG image of a page with words, whose letters are strokes: no font is needed.
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include <tenon/op.hpp>

namespace {

// A letter on a grid of 4 by 6, as a path of SVG.
std::string_view strokes(char letter) {
  switch (letter) {
    case 'A':
      return "M0 6L2 0L4 6M1 4H3";
    case 'C':
      return "M4 0H0V6H4";
    case 'D':
      return "M0 0H2L4 2V4L2 6H0Z";
    case 'E':
      return "M4 0H0V6H4M0 3H3";
    case 'I':
      return "M2 0V6";
    case 'N':
      return "M0 6V0L4 6V0";
    case 'O':
      return "M0 0H4V6H0Z";
    case 'P':
      return "M0 6V0H4V3H0";
    case 'R':
      return "M0 6V0H4V3H0M2 3L4 6";
    case 'S':
      return "M4 0H0V3H4V6H0";
    case 'T':
      return "M0 0H4M2 0V6";
    case 'U':
      return "M0 0V6H4V0";
    case 'X':
      return "M0 0L4 6M4 0L0 6";
    default:
      return "";
  }
}

std::string word(std::string_view letters, int x, int y, int scale) {
  std::string paths;
  for (const char letter : letters) {
    paths += "<path transform='translate(" + std::to_string(x) + " " + std::to_string(y) +
             ") scale(" + std::to_string(scale) + ")' d='" + std::string(strokes(letter)) + "'/>";
    x += 6 * scale;
  }
  return paths;
}

std::string page() {
  return "<svg xmlns='http://www.w3.org/2000/svg' width='320' height='200'>"
         "<g fill='none' stroke='#222'><circle cx='270' cy='150' r='30'/><g stroke-width='0.9'>" +
         word("TENON", 24, 24, 4) + word("READS", 176, 24, 4) + word("TEXT", 24, 84, 3) +
         word("IN", 130, 84, 3) + word("PICTURES", 24, 144, 4) + "</g></g></svg>";
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: read_text_page PICTURE.png\n", stderr);
    return 2;
  }
  try {
    tenon::Op("plot.write_png").call<void>(arguments[1], page(), tenon::arg("scale") = 1.0);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "read_text_page: %s\n", error.what());
    return 1;
  }
}
