// The published test vectors, and files.
#include <tenon/trust/sha256.hpp>

#include "tests/lib/trust/support.hpp"

using namespace tenon::trust;
using namespace trust_test;

TEST_SUITE("trust/sha256") {
  TEST_CASE("the test vectors of the standard") {
    CHECK(sha256_text("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(sha256_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(sha256_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  }

  TEST_CASE("a file's digest is that of its bytes, over several blocks as well") {
    const TemporaryFolder folder;
    for (const size_t size : {size_t{0}, size_t{1} << 18, (size_t{1} << 18) + 1, size_t{1000000}}) {
      const std::string bytes(size, 'a');
      write_file(folder / "file", bytes);
      CHECK(sha256_file(folder / "file") == sha256_text(bytes));
    }
    CHECK(sha256_file(folder / "file") ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    CHECK_THROWS_AS(sha256_file("/no/such/file"), tenon::IOError);
    CHECK_THROWS_AS(sha256_file("/"), tenon::IOError);
    CHECK_THROWS_AS(sha256_file("/dev/null"), tenon::IOError);
  }
}
