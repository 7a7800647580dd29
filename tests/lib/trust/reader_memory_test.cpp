// Memory limits of readers of signatures and lock files: twice the file, and 16 MiB.
#include <string>

#include <tenon/trust/lock.hpp>
#include <tenon/trust/minisign.hpp>

#include "tests/lib/trust/support.hpp"
#include "tests/support/memory_growth.hpp"

using namespace tenon::trust;
using tenon_test::check_bound;
using tenon_test::kCanMeasureMemory;
using tenon_test::kMiB;
using tenon_test::Outcome;

TEST_SUITE("trust/reader_memory") {
  TEST_CASE("signatures with long comments, and of large files, take no more") {
    if (!kCanMeasureMemory) return;
    const size_t size = 24 * kMiB;
    const std::string encoded =
        "RUS6/tORAf9awhqzMzKsEaEL7CKDesTU4Oz99laoQn1T5AE1QO/zTbYFJme9/"
        "DRCD5u57EXVDwu6h4m7tl1dsdq7LzYe8cPf7AU=\n";
    const std::string comment = "trusted comment: ", filler(size, 'c');
    for (const std::string& text : {"untrusted comment: " + filler + "\n" + encoded,
                                    "untrusted comment: \n" + encoded + comment + filler + "\n",
                                    "untrusted comment: \n" + filler + "\n", filler}) {
      check_bound(text.size(), Outcome::Refused,
                  [&] { static_cast<void>(parse_minisign_signature(text)); });
      check_bound(text.size(), Outcome::Taken,
                  [&] { static_cast<void>(parse_minisign_key(text)); });
    }
    for (const bool prehashed : {true, false}) {
      MinisignSignature signature;
      signature.prehashed = prehashed;
      check_bound(size, Outcome::Taken,
                  [&] { static_cast<void>(signature_fault(signature, MinisignKey(), filler)); });
    }
  }

  TEST_CASE("lock files of very many values are refused before they are parsed") {
    if (!kCanMeasureMemory) return;
    std::string text = "{\"plugins\": [0";
    while (text.size() < 8 * kMiB) text += ",0,[],{}";
    check_bound(text.size(), Outcome::Refused,
                [&] { static_cast<void>(parse_lock(text + "]}", "tenon.lock")); });
  }
}
