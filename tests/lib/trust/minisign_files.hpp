// Keys and signatures that minisign 0.11 wrote.
#pragma once

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <tenon/trust/minisign.hpp>

namespace trust_test {

inline constexpr std::string_view kMessage("Bytes that a plugin could have: \0\1\2\377.\n", 38);
inline constexpr std::string_view kKey = "RWS6/tORAf9awkBJJ2KILsIwrwsmZwONKeRHi6ulsRYpM6+YAHp2VdfW";
inline constexpr std::string_view kOtherKey =
    "RWRhb0/loNW6SZORRV1SKQBdi7cNFBTQ2EjiPBwaJ4cAp2BaubXaqXa8";

// minisign -S -c "untrusted words" -t "file:message.bin version:1"
inline const std::string kSignature =
    "untrusted comment: untrusted words\n"
    "RUS6/tORAf9awhqzMzKsEaEL7CKDesTU4Oz99laoQn1T5AE1QO/zTbYFJme9/"
    "DRCD5u57EXVDwu6h4m7tl1dsdq7LzYe8cP"
    "f7AU=\n"
    "trusted comment: file:message.bin version:1\n"
    "XiSZtXsLGav55F+vo6cImhRUhNNevKP4UDSnj4I8lf0ePv+pAU7pkyIM3I7SMIVqzbQ+tp0Ejhc13Niy3iZ0Dg==\n";
// minisign -S -l: of the bytes themselves
inline const std::string kLegacySignature =
    "untrusted comment: signature from minisign secret key\n"
    "RWS6/tORAf9awphov2CrqeFwIjJGB52t0/"
    "D2IPl8J6WMsfruplawznsrFVwfHzAvW+zGwADgezwAYbWvYJw6n49b0tnomkB"
    "wEAs=\n"
    "trusted comment: a signature of an old program\n"
    "GEilyejUITZhv90pg7y6uDQaNFdmtRNNWiR71I+xV4b7KM8rgqvl4JfqqJyzRNLSR7Wym8d4jld85n9JFLHdAQ==\n";
inline const std::string kOtherSignature =
    "untrusted comment: signature from minisign secret key\n"
    "RURhb0/loNW6SfvEHKy2Id4/JzxEx/"
    "mNPv07RbsU9kNJCZOJMy4nrOZK82+2gNqEFo2xBMhvpjGI6h8zgzFuHLb7y9HtVl9"
    "0Cws=\n"
    "trusted comment: by the other key\n"
    "n6vOcbuiiUV1JU8cw/7cNa7lRbVqE04I+lG/MjLIRDv2KiZ4Aps/zocAWP2bl/xL50aap1OWPwek+Ikd4mslCw==\n";

inline tenon::trust::MinisignKey key(std::string_view text = kKey) {
  const auto parsed = tenon::trust::parse_minisign_key(text);
  REQUIRE(parsed);
  return *parsed;
}

}  // namespace trust_test
