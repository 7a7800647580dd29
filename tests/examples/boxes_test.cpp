// The boxes of examples/read_text, around marks that are drawn here.
#include "examples/read_text/boxes.hpp"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>

namespace {

class Map {
 public:
  Map(int64_t height, int64_t width)
      : height_(height), width_(width), marks_(static_cast<size_t>(height * width)) {}

  Map& mark(int64_t left, int64_t top, int64_t right, int64_t bottom, float probability) {
    for (int64_t y = top; y < bottom; ++y)
      for (int64_t x = left; x < right; ++x)
        marks_[static_cast<size_t>(y * width_ + x)] = probability;
    return *this;
  }
  std::vector<Box> boxes() const { return find_boxes(marks_, height_, width_); }

 private:
  int64_t height_, width_;
  std::vector<float> marks_;
};

}  // namespace

TEST_CASE("a box is larger than its marks by their area over their outline, times 1.5") {
  const std::vector<Box> boxes = Map(40, 60).mark(10, 12, 30, 22, 0.75).boxes();
  REQUIRE(boxes.size() == 1);
  CHECK(boxes[0].left == 5);
  CHECK(boxes[0].top == 7);
  CHECK(boxes[0].right == 35);
  CHECK(boxes[0].bottom == 27);
  CHECK(boxes[0].score == 0.75);
}

TEST_CASE("a box stays in the picture") {
  const std::vector<Box> boxes = Map(10, 20).mark(0, 0, 20, 10, 1).boxes();
  REQUIRE(boxes.size() == 1);
  CHECK(boxes[0].left == 0);
  CHECK(boxes[0].top == 0);
  CHECK(boxes[0].right == 20);
  CHECK(boxes[0].bottom == 10);
}

TEST_CASE("marks that touch at a corner are of one text") {
  CHECK(Map(20, 20).mark(2, 2, 8, 8, 1).mark(8, 8, 12, 12, 1).boxes().size() == 1);
  CHECK(Map(20, 20).mark(2, 2, 8, 8, 1).mark(9, 9, 13, 13, 1).boxes().size() == 2);
}

TEST_CASE("marks that are weak, small or nowhere have no box") {
  CHECK(Map(20, 20).boxes().empty());
  CHECK(Map(20, 20).mark(2, 2, 18, 18, 0.3F).boxes().empty());
  CHECK(Map(20, 20).mark(2, 2, 18, 18, 0.59F).boxes().empty());
  CHECK(Map(20, 20).mark(2, 2, 18, 18, 0.61F).boxes().size() == 1);
  CHECK(Map(20, 20).mark(2, 2, 18, 4, 1).boxes().empty());
  CHECK(Map(20, 20).mark(2, 2, 18, 5, 1).boxes().size() == 1);
}

TEST_CASE("random words on a grid each have their box") {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    Map map(90, 120);
    std::vector<Box> words;
    for (int64_t y = 0; y < 90; y += 30) {
      for (int64_t x = 0; x < 120; x += 40) {
        if (random() % 3 == 0) continue;
        // Rows begin one below another, so that the order of boxes is that of words.
        const int64_t left = x + random() % 10, top = y + x / 40, width = 3 + random() % 25,
                      height = 3 + random() % 20;
        map.mark(left, top, left + width, top + height, 1);
        words.push_back({static_cast<double>(left), static_cast<double>(top),
                         static_cast<double>(left + width), static_cast<double>(top + height), 1});
      }
    }
    const std::vector<Box> boxes = map.boxes();
    REQUIRE(boxes.size() == words.size());
    for (size_t i = 0; i < boxes.size(); ++i) {
      const double width = words[i].right - words[i].left, height = words[i].bottom - words[i].top;
      const double rim = 1.5 * width * height / (2 * (width + height));
      CHECK(boxes[i].left == doctest::Approx(std::max(words[i].left - rim, 0.0)));
      CHECK(boxes[i].top == doctest::Approx(std::max(words[i].top - rim, 0.0)));
      CHECK(boxes[i].right == doctest::Approx(std::min(words[i].right + rim, 120.0)));
      CHECK(boxes[i].bottom == doctest::Approx(std::min(words[i].bottom + rim, 90.0)));
      CHECK(boxes[i].score == 1);
    }
  }
}
