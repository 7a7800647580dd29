// The transforms of batches.
#include <cmath>

#include "../compare.hpp"

using namespace compare;
using namespace tenon;

TEST_SUITE("plugins/data/random_transforms") {
  TEST_CASE("a flip reverses whole samples, about as many as the probability says") {
    const Tensor images = numbers({400, 2, 3, 4});
    const Tensor flipped = data::random_flip(images, 5, 0.25);
    int64_t count = 0;
    for (int64_t i = 0; i < 400; ++i) {
      const Tensor before = images.select(0, i), after = flipped.select(0, i);
      if (equal(before, after)) continue;
      CHECK(equal(after, flip(before, {2})));
      ++count;
    }
    CHECK(count > 60);
    CHECK(count < 140);
    CHECK(equal(data::random_flip(images, 5, 1, 2), flip(images, {2})));
    CHECK(equal(data::random_flip(images, 5, 0), images));
    CHECK(refusal([&] { data::random_flip(images, 5, 1, 0); }).find("dim") != std::string::npos);
  }

  TEST_CASE("a crop moves each image, all its planes alike, and fills with zeros") {
    const Tensor images = numbers({50, 2, 5, 6}, f64) + 2;
    const Tensor moved = data::random_crop(images, 3, 2), padded = pad(images, {2, 2, 2, 2});
    bool centred = false, other = false;
    for (int64_t i = 0; i < 50; ++i) {
      bool found = false;
      for (int64_t y = 0; y < 5; ++y) {
        for (int64_t x = 0; x < 5; ++x) {
          const Tensor place = narrow(narrow(padded.select(0, i), 1, y, 5), 2, x, 6);
          if (!equal(moved.select(0, i), place)) continue;
          found = true;
          (x == 2 && y == 2 ? centred : other) = true;
        }
      }
      CHECK(found);
    }
    CHECK(other);
    CHECK(equal(data::random_crop(images, 3, 0), images));
    CHECK(refusal([&] {
            data::random_crop(numbers({4, 4}), 1, 1);
          }).find("[samples") != std::string::npos);
  }

  TEST_CASE("noise is normal, and the seed alone decides it") {
    const Tensor zeros = data::random_noise(numbers({200, 50}) * 0, 9, 2);
    CHECK(std::fabs(mean(zeros).item()) < 0.1);
    CHECK(std::fabs(tenon::std(zeros).item() - 2) < 0.1);
    const Tensor x = numbers({3, 4});
    CHECK(equal(data::random_noise(x, 9, 2), data::random_noise(x, 9, 2)));
    CHECK_FALSE(equal(data::random_noise(x, 9, 2), data::random_noise(x, 10, 2)));
    CHECK(equal(data::random_noise(x, 9, 0), x));
    CHECK(data::random_noise(x.t(), 9, 0).sizes() == x.t().sizes());
  }
}
