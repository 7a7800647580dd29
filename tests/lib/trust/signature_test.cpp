// Signatures that minisign 0.11 wrote are verified, and whatever is changed of them or of the bytes is
// not.
#include <string>

#include <tenon/error.hpp>

#include "tests/lib/trust/minisign_files.hpp"

using namespace tenon::trust;
using namespace trust_test;

namespace {

// Why the text is not a signature of the bytes; empty when it is.
std::string fault(std::string_view text, std::string_view bytes = kMessage,
                  std::string_view by = kKey) {
  try {
    return signature_fault(parse_minisign_signature(text), key(by), bytes);
  } catch (const tenon::ValueError& error) {
    return error.what();
  }
}

}  // namespace

TEST_SUITE("trust/signature") {
  TEST_CASE("signatures of both kinds are verified") {
    CHECK(fault(kSignature) == "");
    CHECK(fault(kLegacySignature) == "");
    CHECK(fault(kOtherSignature, kMessage, kOtherKey) == "");
    std::string windows = kSignature;
    for (size_t at = 0; (at = windows.find('\n', at)) != windows.npos; at += 2)
      windows.insert(at, "\r");
    CHECK(fault(windows) == "");
    CHECK(fault(kSignature.substr(0, kSignature.size() - 1)) == "");
    // The untrusted comment is not signed.
    CHECK(fault("untrusted comment: other words" + kSignature.substr(kSignature.find('\n'))) == "");
  }

  TEST_CASE("other keys, other bytes and other comments are not") {
    CHECK(fault(kOtherSignature) == "it was made with another key");
    CHECK(fault(kSignature, kMessage, kOtherKey) == "it was made with another key");
    MinisignKey impostor = key(kOtherKey);
    impostor.id = key().id;
    CHECK(signature_fault(parse_minisign_signature(kSignature), impostor, kMessage) ==
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
}
