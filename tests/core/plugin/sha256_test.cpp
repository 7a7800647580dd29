// The published test vectors, and files.
#include "core/plugin/sha256.hpp"

#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

TEST_SUITE("sha256") {
  TEST_CASE("the test vectors of the standard") {
    CHECK(sha256_text("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(sha256_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(sha256_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(sha256_text(std::string(1000000, 'a')) ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }

  TEST_CASE("pieces of any size give the same digest as the whole") {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 7);
    for (size_t piece : {1u, 3u, 55u, 56u, 63u, 64u, 65u, 200u}) {
      Sha256 hash;
      for (size_t at = 0; at < text.size(); at += piece) {
        hash.update(text.data() + at, std::min(piece, text.size() - at));
      }
      CHECK(hash.finish() == sha256_text(text));
    }
  }

  TEST_CASE("a file's digest is that of its bytes") {
    CHECK(sha256_file(fixture("plain")) == sha256_text(read_file(fixture("plain"))));
    CHECK_THROWS_AS(sha256_file("/no/such/file"), Error);
    CHECK_THROWS_AS(sha256_file("/"), Error);
  }
}
