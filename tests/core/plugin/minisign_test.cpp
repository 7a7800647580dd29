// Keys and signatures that minisign 0.11 wrote, and what becomes of them when they are changed.
#include "core/plugin/minisign.hpp"

#include <random>

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;

namespace {

constexpr std::string_view kMessage("Bytes that a plugin could have: \0\1\2\377.\n", 38);
constexpr std::string_view kKey = "RWS6/tORAf9awkBJJ2KILsIwrwsmZwONKeRHi6ulsRYpM6+YAHp2VdfW";
constexpr std::string_view kOtherKey = "RWRhb0/loNW6SZORRV1SKQBdi7cNFBTQ2EjiPBwaJ4cAp2BaubXaqXa8";

// minisign -S -c "untrusted words" -t "file:message.bin version:1"
const std::string kSignature =
    "untrusted comment: untrusted words\n"
    "RUS6/tORAf9awhqzMzKsEaEL7CKDesTU4Oz99laoQn1T5AE1QO/zTbYFJme9/"
    "DRCD5u57EXVDwu6h4m7tl1dsdq7LzYe8cP"
    "f7AU=\n"
    "trusted comment: file:message.bin version:1\n"
    "XiSZtXsLGav55F+vo6cImhRUhNNevKP4UDSnj4I8lf0ePv+pAU7pkyIM3I7SMIVqzbQ+tp0Ejhc13Niy3iZ0Dg==\n";
// minisign -S -l: of the bytes themselves
const std::string kLegacySignature =
    "untrusted comment: signature from minisign secret key\n"
    "RWS6/tORAf9awphov2CrqeFwIjJGB52t0/"
    "D2IPl8J6WMsfruplawznsrFVwfHzAvW+zGwADgezwAYbWvYJw6n49b0tnomkB"
    "wEAs=\n"
    "trusted comment: a signature of an old program\n"
    "GEilyejUITZhv90pg7y6uDQaNFdmtRNNWiR71I+xV4b7KM8rgqvl4JfqqJyzRNLSR7Wym8d4jld85n9JFLHdAQ==\n";
const std::string kOtherSignature =
    "untrusted comment: signature from minisign secret key\n"
    "RURhb0/loNW6SfvEHKy2Id4/JzxEx/"
    "mNPv07RbsU9kNJCZOJMy4nrOZK82+2gNqEFo2xBMhvpjGI6h8zgzFuHLb7y9HtVl9"
    "0Cws=\n"
    "trusted comment: by the other key\n"
    "n6vOcbuiiUV1JU8cw/7cNa7lRbVqE04I+lG/MjLIRDv2KiZ4Aps/zocAWP2bl/xL50aap1OWPwek+Ikd4mslCw==\n";

MinisignKey key(std::string_view text = kKey) {
  const auto parsed = parse_minisign_key(text);
  REQUIRE(parsed);
  return *parsed;
}

// Why the text is not a signature of the bytes; empty when it is.
std::string fault(std::string_view text, std::string_view bytes = kMessage,
                  std::string_view by = kKey) {
  try {
    return signature_fault(parse_minisign_signature(text), key(by), MemorySource(bytes));
  } catch (const Error& error) {
    CHECK(error.kind == TENON_ERROR_VALUE);
    return error.message;
  }
}

bool cannot_verify() {
  if (can_verify_signatures()) return false;
  MESSAGE("skipped: this build has no libsodium");
  CHECK_THROWS_WITH(static_cast<void>(signature_fault({}, {}, MemorySource(""))),
                    doctest::Contains("libsodium"));
  return true;
}

}  // namespace

TEST_SUITE("minisign") {
  TEST_CASE("keys and signatures have the ids that minisign prints") {
    CHECK(key_id_text(key().id) == "C25AFF0191D3FEBA");
    CHECK(key_id_text(key(kOtherKey).id) == "49BAD5A0E54F6F61");
    const MinisignSignature signature = parse_minisign_signature(kSignature);
    CHECK(signature.id == key().id);
    CHECK(signature.prehashed);
    CHECK(signature.trusted_comment == "file:message.bin version:1");
    CHECK_FALSE(parse_minisign_signature(kLegacySignature).prehashed);
  }

  TEST_CASE("signatures of both kinds are verified") {
    if (cannot_verify()) return;
    CHECK(fault(kSignature) == "");
    CHECK(fault(kLegacySignature) == "");
    CHECK(fault(kOtherSignature, kMessage, kOtherKey) == "");
    std::string windows = kSignature;
    for (size_t at = 0; (at = windows.find('\n', at)) != windows.npos; at += 2)
      windows.insert(at, "\r");
    CHECK(fault(windows) == "");
    CHECK(fault(kSignature.substr(0, kSignature.size() - 1)) == "");
    // What nothing signs.
    CHECK(fault("untrusted comment: other words" + kSignature.substr(kSignature.find('\n'))) == "");
  }

  TEST_CASE("other keys, other bytes and other comments are not") {
    if (cannot_verify()) return;
    CHECK(fault(kOtherSignature) == "it is made with another key");
    CHECK(fault(kSignature, kMessage, kOtherKey) == "it is made with another key");
    MinisignKey impostor = key(kOtherKey);
    impostor.id = key().id;
    CHECK(signature_fault(parse_minisign_signature(kSignature), impostor, MemorySource(kMessage)) ==
          "it is not a signature of these bytes");
    std::string comment = kSignature;
    comment.replace(comment.find("version:1"), 9, "version:2");
    CHECK(fault(comment) == "its trusted comment was changed");
    // A comment and its signature of another file by the same key.
    const size_t mine = kSignature.find("trusted comment: file");
    const size_t theirs = kLegacySignature.find("trusted comment: a sig");
    CHECK(fault(kSignature.substr(0, mine) + kLegacySignature.substr(theirs)) ==
          "its trusted comment was changed");
    // A signature of the hash does not do for the bytes, nor the reverse.
    std::string kind = kSignature;
    kind[kind.find("RUS6") + 1] = 'W';
    CHECK(fault(kind) == "it is not a signature of these bytes");
    for (const std::string& signature : {kSignature, kLegacySignature}) {
      for (size_t i = 0; i < kMessage.size(); ++i) {
        std::string bytes(kMessage);
        bytes[i] = static_cast<char>(bytes[i] ^ 1);
        CHECK(fault(signature, bytes) == "it is not a signature of these bytes");
      }
      CHECK(fault(signature, kMessage.substr(1)) != "");
      CHECK(fault(signature, "") != "");
      CHECK(fault(signature, std::string(kMessage) + '\0') != "");
    }
  }

  TEST_CASE("every bit of what is signed counts") {
    if (cannot_verify()) return;
    for (const std::string& signature : {kSignature, kLegacySignature}) {
      const size_t begin = signature.find('\n') + 1;
      for (size_t at = begin; at + 1 < signature.size(); ++at) {
        for (int bit = 0; bit < 8; ++bit) {
          std::string changed = signature;
          changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
          // A line break at the end of a line may be written in two ways.
          if (changed[at] == '\r' && signature[at + 1] == '\n') continue;
          INFO("byte ", at, " bit ", bit);
          CHECK(fault(changed) != "");
        }
      }
    }
  }

  TEST_CASE("every cut is refused") {
    if (cannot_verify()) return;
    for (size_t length = 0; length + 1 < kSignature.size(); ++length)
      CHECK(fault(kSignature.substr(0, length)) != "");
    for (size_t at = 0; at + 1 < kSignature.size(); ++at) {
      std::string shorter = kSignature;
      shorter.erase(at, 1);
      if (at > 18 && at < kSignature.find('\n')) continue;  // the untrusted comment
      CHECK(fault(shorter) != "");
    }
    CHECK(fault(kSignature + "x") == "line 5 is not the end of the file");
    CHECK(fault(kSignature + kSignature) == "line 5 is not the end of the file");
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
