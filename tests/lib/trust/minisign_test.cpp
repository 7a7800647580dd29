// Keys and signatures that minisign 0.11 wrote, and texts that are neither.
#include <string>

#include "tests/lib/trust/minisign_files.hpp"

using namespace tenon::trust;
using namespace trust_test;

TEST_SUITE("trust/minisign") {
  TEST_CASE("keys and signatures have the ids that minisign prints") {
    CHECK(key_id_text(key().id) == "C25AFF0191D3FEBA");
    CHECK(key_id_text(key(kOtherKey).id) == "49BAD5A0E54F6F61");
    const MinisignSignature signature = parse_minisign_signature(kSignature);
    CHECK(signature.id == key().id);
    CHECK(signature.prehashed);
    CHECK(signature.trusted_comment == "file:message.bin version:1");
    CHECK_FALSE(parse_minisign_signature(kLegacySignature).prehashed);
  }

  TEST_CASE("what is not a signature is refused by its line") {
    CHECK_THROWS_WITH(static_cast<void>(parse_minisign_signature("")),
                      R"(line 1 is not "untrusted comment: ...")");
    CHECK_THROWS_WITH(static_cast<void>(parse_minisign_signature("untrusted comment: x\nAAAA\n")),
                      "line 2 is not a signature in base64");
    std::string other = kSignature;
    other.replace(other.find("RUS6"), 4, "RVS6");
    CHECK_THROWS_WITH(static_cast<void>(parse_minisign_signature(other)),
                      "line 2 is not an Ed25519 signature");
    std::string stray = kSignature;
    stray[stray.find("7AU=") + 2] = 'V';  // decodes to the same bytes where that is allowed
    CHECK_THROWS(static_cast<void>(parse_minisign_signature(stray)));
  }

  TEST_CASE("keys are 56 characters of base64 that begin with the algorithm") {
    for (size_t length = 0; length < kKey.size(); ++length)
      CHECK_FALSE(parse_minisign_key(kKey.substr(0, length)));
    CHECK_FALSE(parse_minisign_key(std::string(kKey) + "="));
    CHECK_FALSE(parse_minisign_key("RUS6" + std::string(kKey.substr(4))));
    CHECK_FALSE(parse_minisign_key(std::string(kKey.substr(0, 55)) + "*"));
  }
}
