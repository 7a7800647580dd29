// tenon wrappers.
#include <filesystem>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "program.hpp"

namespace {

const std::string plain = std::string(TENON_FIXTURES) + "/plain.so";

}  // namespace

TEST_SUITE("wrappers") {
  TEST_CASE("a header with a function for each op is printed, and none of the plugin's code runs") {
    const Outcome outcome = run_program("wrappers " + plain);
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out, "generated from its facts"));
    CHECK(contains(outcome.out,
                   "namespace plain {\n\n"
                   "inline Tensor add_one(const Tensor& input) {\n"
                   "  static ::tenon::v1::detail::WrappedOp op(\"plain.add_one\");\n"
                   "  const tenon_value given[] = {::tenon::v1::detail::tensor_value(input)};\n"
                   "  return op.call<Tensor>(given);\n"
                   "}\n"));
    // Its entry would throw.
    CHECK(run_program("wrappers " + std::string(TENON_FIXTURES) + "/entry_throws.so").code == 0);
    CHECK(contains(run_program("wrappers math").out, "inline Tensor exp("));
  }

  TEST_CASE("a file that would not change is not written again") {
    const Workspace folder;
    const std::string header = folder.path("plain_ops.hpp");
    REQUIRE(run_program("wrappers " + plain + " -o " + header).code == 0);
    CHECK(folder.read("plain_ops.hpp") == run_program("wrappers " + plain).out);
    const auto long_ago = std::filesystem::last_write_time(header) - std::chrono::hours(1);
    std::filesystem::last_write_time(header, long_ago);
    CHECK(run_program("wrappers " + plain + " -o " + header).code == 0);
    CHECK(std::filesystem::last_write_time(header) == long_ago);
    folder.write("plain_ops.hpp", "another text");
    CHECK(run_program("wrappers " + plain + " -o " + header).code == 0);
    CHECK(std::filesystem::last_write_time(header) != long_ago);
  }

  TEST_CASE("a full disk leaves the old header, and is named") {
    const Workspace folder;
    folder.write("plain_ops.hpp", "another text");
    const std::filesystem::path beside = folder.path("plain_ops.hpp.new");
    std::filesystem::create_symlink("/dev/full", beside);
    const Outcome outcome =
        run_program_in(folder.path(), "wrappers " + plain + " -o plain_ops.hpp");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "cannot write 'plain_ops.hpp': No space left on device"));
    CHECK(folder.read("plain_ops.hpp") == "another text");
    CHECK_FALSE(std::filesystem::is_symlink(beside));
  }

  TEST_CASE("a named pipe in the place of the header is not waited for") {
    const Workspace folder;
    REQUIRE(mkfifo(folder.path("pipe").c_str(), 0600) == 0);
    CHECK(run_program("wrappers " + plain + " -o " + folder.path("pipe").string(), "timeout 60")
              .code != 124);
  }

  TEST_CASE("what is not a plugin, or has a schema that cannot be parsed, is refused") {
    CHECK(run_program("wrappers nothing_of_this_name").code == 1);
    const Outcome outcome =
        run_program("wrappers " + std::string(TENON_FIXTURES) + "/bad_types/bad_schema.so");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "op bad_schema.op: "));
    CHECK(contains(outcome.error, "Tensr"));
    CHECK(run_program("wrappers").code == 2);
  }
}
