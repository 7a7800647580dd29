// Shapes under each other.
#include "shape_drawing.hpp"

#include <random>
#include <sstream>
#include <vector>

#include <doctest/doctest.h>

#include "program.hpp"

TEST_SUITE("shape_drawing") {
  TEST_CASE(
      "shapes of a message are aligned at the right, with a mark where they do not broadcast") {
    CHECK(cli::drawn_shapes_of("shapes [8, 1, 6] and [7, 5] cannot be broadcast together", 80) ==
          "      8  1  6\n"
          "         7  5\n"
          "            ^\n");
    CHECK(cli::drawn_shapes_of("'input' of shape [10, 3] and 'target' of shape [10] differ", 80) ==
          "    input   10   3\n"
          "    target      10\n");
    CHECK(cli::drawn_shapes_of("shape [3] and [] differ", 80) ==
          "      3\n"
          "      (no dimensions)\n");
  }

  TEST_CASE("messages without two different shapes have no drawing") {
    for (const char* message :
         {"no op is named 'ad'", "shape [2, 3] cannot be", "shapes [2] and [2]",
          "a list [1, 2] or [3]", "shape [a] and [b]", "shapes [1, 2", "shape [-1] and [2]",
          "shape [99999999999999999999] [1]"})
      CHECK_MESSAGE(cli::drawn_shapes_of(message, 80).empty(), message);
  }

  TEST_CASE("random shapes: every size is in its column, marks are where broadcasting fails") {
    std::mt19937 random(11);
    for (int round = 0; round < 300; ++round) {
      std::vector<cli::NamedShape> shapes;
      size_t rank = 0;
      for (uint32_t i = 0; i < 2 + random() % 3; ++i) {
        cli::NamedShape& one = shapes.emplace_back();
        for (uint32_t d = 0; d < 1 + random() % 6; ++d)
          one.second.push_back(random() % 3 == 0 ? 1 : static_cast<int64_t>(random() % 3000));
        rank = std::max(rank, one.second.size());
      }
      std::vector<std::vector<std::string>> rows;
      std::istringstream lines(cli::drawn_shapes(shapes, true, 0));
      std::vector<std::string> all;
      for (std::string line; std::getline(lines, line);) all.push_back(line);
      // The end of each column, from the longest row.
      bool refused = false;
      for (size_t back = 0; back < rank; ++back) {
        int64_t first = 1;
        for (const auto& [name, shape] : shapes) {
          if (back >= shape.size()) continue;
          const int64_t size = shape[shape.size() - 1 - back];
          refused = refused || (size != 1 && first != 1 && size != first);
          first = size == 1 ? first : size;
        }
      }
      CHECK(all.size() == shapes.size() + (refused ? 1 : 0));
      for (size_t i = 0; i < shapes.size(); ++i) {
        std::istringstream words(all[i]);
        std::vector<int64_t> read;
        for (int64_t size = 0; words >> size;) read.push_back(size);
        CHECK(read == shapes[i].second);
        // Last sizes end in one column.
        CHECK(all[i].size() == all[0].size());
      }
    }
  }

  TEST_CASE("rows that are too long lose their first dimensions") {
    const cli::NamedShape wide("input", std::vector<int64_t>(16, 123456789));
    const std::string text = cli::drawn_shapes({wide, {"other", {2, 3}}}, true, 80);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
    CHECK(contains(text, "  ..."));
  }

  TEST_CASE("errors of the program are drawn below their message, which stays") {
    const Outcome outcome = run_program("call add f32[8,1,6] f32[7,5]");
    CHECK(outcome.code == 1);
    CHECK(outcome.error ==
          "tenon: ValueError: add(): shapes [8, 1, 6] and [7, 5] cannot be broadcast together: "
          "sizes 6 "
          "and 5 differ at dimension 2\n"
          "      8  1  6\n"
          "         7  5\n"
          "            ^\n");
  }

  TEST_CASE("why draws the shapes of operands and results, computing no element") {
    const Outcome fits = run_program("why add f32[8,1,6] f32[7,1]");
    CHECK(fits.code == 0);
    CHECK(contains(fits.out,
                   "  shapes\n"
                   "    input   8  1  6\n"
                   "    other      7  1\n"
                   "    result  8  7  6\n"));
    const Outcome large = run_program("why mm f32[1000000,1000000] f32[1000000,1000000]");
    CHECK(large.code == 0);
    CHECK(contains(large.out, "    result  1000000  1000000\n"));
    CHECK(contains(run_program("why add f32[8,1,6] f32[7,5]").out, "               ^\n"));
    CHECK(contains(run_program("call add f32[2,3] f32[3] --why").out, "    result  2  3\n"));
  }
}
