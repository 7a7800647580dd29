#!/usr/bin/env bash
# Boost.JSON 1.81.0 (Debian 12): a double that it writes is often another one when it reads it back.
#
# Expected: serialize() writes enough digits to distinguish a double from its neighbours, so parse() returns that
# double, as strtod and std::from_chars do.
# Seen: of 200,000 random finite doubles 28.9 % come back different, while strtod reads each of the same texts
# exactly: it is the parser that rounds. 1e400 is parsed as infinity, without an error.
# Hit: weights, settings and checksummed numbers kept in JSON. Remedy here: a handler over basic_parser that
# converts a number's own characters.
set -euo pipefail
version=1.81.0-5+deb12u1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq 2>/dev/null "libboost1.81-dev=$version"
dpkg-deb -x libboost1.81-dev_*.deb root
cat >doubles.cpp <<'SOURCE'
#include <boost/json/src.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

int main() {
  std::mt19937_64 random(1);
  int count = 0, parsed_otherwise = 0, written_otherwise = 0;
  while (count < 200000) {
    const unsigned long long bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    ++count;
    const std::string text = boost::json::serialize(boost::json::value(value));
    parsed_otherwise += boost::json::parse(text).as_double() != value;
    written_otherwise += std::strtod(text.c_str(), nullptr) != value;
  }
  std::printf("%d of %d doubles come back different; %d were written wrongly\n", parsed_otherwise,
              count, written_otherwise);
  std::printf("1e400 is %g\n", boost::json::parse("1e400").as_double());
}
SOURCE
g++ -O1 -std=c++17 -Iroot/usr/include doubles.cpp -o doubles
./doubles | tee seen
cat >expected <<'EXPECTED'
57898 of 200000 doubles come back different; 0 were written wrongly
1e400 is inf
EXPECTED
diff expected seen
