// The grammar of a config's texts: the code that reads and the expressions that editors read agree.
#include "core/plugin/config_text.hpp"

#include <random>
#include <regex>
#include <string>

#include <doctest/doctest.h>

using namespace tenon::core;

TEST_SUITE("config text") {
  TEST_CASE("code and expression accept the same words") {
    const std::string letters = "aZ09_..**-[], f\n";
    std::mt19937 random(20240901);
    for (const ConfigText kind :
         {ConfigText::PluginId, ConfigText::Name, ConfigText::Pattern, ConfigText::Sha256}) {
      const std::regex expression{std::string(text_pattern(kind))};
      int accepted = 0;
      for (int round = 0; round < 20000; ++round) {
        std::string word;
        const size_t length = kind == ConfigText::Sha256 ? 63 + random() % 3 : random() % 9;
        while (word.size() < length)
          word += kind == ConfigText::Sha256 && random() % 200 != 0
                      ? "09afAF"[random() % 6]
                      : letters[random() % letters.size()];
        CAPTURE(word);
        const bool fits = fits_text(kind, word);
        accepted += fits ? 1 : 0;
        if (fits != std::regex_match(word, expression)) FAIL("they disagree");
      }
      CHECK(accepted > 100);
    }
  }

  TEST_CASE("a public key is 42 bytes in base64 that begin with the algorithm") {
    const std::string key = "RWS6/tORAf9awkBJJ2KILsIwrwsmZwONKeRHi6ulsRYpM6+YAHp2VdfW";
    CHECK(fits_text(ConfigText::PublicKey, key));
    for (size_t length = 0; length < key.size(); ++length)
      CHECK_FALSE(fits_text(ConfigText::PublicKey, key.substr(0, length)));
    CHECK_FALSE(fits_text(ConfigText::PublicKey, key + "="));
    CHECK_FALSE(fits_text(ConfigText::PublicKey, "RUS6" + key.substr(4)));
    CHECK_FALSE(fits_text(ConfigText::PublicKey, "RWU6" + key.substr(4)));
    CHECK_FALSE(fits_text(ConfigText::PublicKey, key.substr(0, 55) + "*"));
    CHECK_FALSE(fits_text(ConfigText::PublicKey, key.substr(0, 55) + "_"));
  }

  TEST_CASE("kinds without an expression") {
    CHECK(fits_text(ConfigText::Version, ">=1.2, <2"));
    CHECK_FALSE(fits_text(ConfigText::Version, ""));
    CHECK_FALSE(fits_text(ConfigText::Version, "x"));
    CHECK_FALSE(fits_text(ConfigText::InputPath, ""));
    CHECK_FALSE(fits_text(ConfigText::InputPath, std::string_view("a\0b", 3)));
    CHECK(fits_text(ConfigText::Any, ""));
    CHECK(text_pattern(ConfigText::Version).empty());
  }
}
