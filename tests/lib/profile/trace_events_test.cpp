// Profiles as documents of the Trace Event Format.
#include <map>
#include <random>

#include <doctest/doctest.h>

#include <tenon/profile/profile.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;
using profile::Profile;
using profile::Profiler;

namespace {

Json parsed(const Profile& profile, const std::string& title = "test") {
  return Json::parse(profile::trace_events(profile, title));
}

}  // namespace

TEST_SUITE("lib/profile/trace_events") {
  TEST_CASE("each call is a complete event with its provider and operands") {
    Profiler profiler({.events = true});
    add(ones({2, 3}), ones({3}));
    const Json events = parsed(profiler.stop())["traceEvents"];
    int64_t complete = 0;
    for (int64_t i = 0; i < events.size(); ++i) {
      const Json event = events[i];
      if (event["ph"].text() != "X") continue;
      ++complete;
      CHECK(event["ts"].number() >= 0);
      CHECK(event["dur"].number() >= 0);
      if (event["name"].text() != "add") continue;
      CHECK(event["args"]["provider"].text() == "math");
      CHECK(event["args"]["operands"].text() == "f32[2, 3], f32[3]");
      CHECK(event["args"]["bytes"].integer() == 4 * (6 + 3 + 6));
    }
    CHECK(complete == 3);
  }

  TEST_CASE("events are nested: of one thread no two overlap in part") {
    const Module model = create_module(Json::parse(R"({"type": "Sequential", "layers": [
      {"type": "Linear", "in_features": 3, "out_features": 4}, {"type": "ReLU"}]})"));
    Profiler profiler({.events = true});
    profiler.watch(model);
    for (int i = 0; i < 20; ++i) sum(model(ones({2, 3}))).backward();
    const Profile profile = profiler.stop();
    int64_t modules = 0;
    for (const profile::CallEvent& one : profile.events) {
      modules += one.of_module ? 1 : 0;
      for (const profile::CallEvent& other : profile.events) {
        const int64_t end = one.begin + one.nanoseconds,
                      other_end = other.begin + other.nanoseconds;
        const bool apart = end <= other.begin || other_end <= one.begin;
        const bool inside = (one.begin <= other.begin && other_end <= end) ||
                            (other.begin <= one.begin && end <= other_end);
        if (!apart && !inside) FAIL_CHECK("two events overlap in part");
      }
    }
    CHECK(modules == 20 * 3);
  }

  TEST_CASE("events beyond the most that are kept are counted, and their calls as well") {
    Profiler profiler({.events = true, .most_events = 5});
    for (int i = 0; i < 9; ++i) ones({1});
    const Profile profile = profiler.stop();
    CHECK(profile.events.size() == 5);
    CHECK(profile.events_dropped == 4);
    CHECK(profile.calls.front().calls == 9);
  }

  TEST_CASE("any text is a name: random bytes of UTF-8 come back as they were") {
    std::mt19937 random(11);
    const std::string letters[] = {"\"", "\\", "\n", "\t", "\x01", "\x7f",
                                   "<",  "é",  "日", "a",  "/"};
    for (int round = 0; round < 300; ++round) {
      const auto text = [&] {
        std::string drawn;
        for (uint32_t i = random() % 8; i > 0; --i) drawn += letters[random() % std::size(letters)];
        return drawn;
      };
      Profile profile;
      profile.modules.push_back({text(), text(), 1, 5, 5});
      profile::CallRow row;
      row.op = text();
      row.provider = text();
      row.operands = text();
      row.module = 0;
      row.calls = 1;
      profile.calls.push_back(row);
      profile.events = {{false, 0, 0, 1, 2}, {true, 1, 0, 0, 5}};
      const std::string title = text();
      const Json events = parsed(profile, title)["traceEvents"];
      REQUIRE(events.size() == 5);
      CHECK(events[0]["args"]["name"].text() == title);
      CHECK(events[3]["name"].text() == row.op);
      CHECK(events[3]["args"]["provider"].text() == row.provider);
      CHECK(events[3]["args"]["operands"].text() == row.operands);
      CHECK(events[3]["args"]["module"].text() == profile.modules[0].name);
      CHECK(events[4]["args"]["type"].text() == profile.modules[0].type);
      CHECK(events[4]["ts"].number() == 0.0);
      CHECK(events[3]["dur"].number() == doctest::Approx(0.002));
    }
  }

  TEST_CASE("a profile without events is a document without calls") {
    Profiler profiler;
    ones({1});
    CHECK(parsed(profiler.stop())["traceEvents"].size() == 1);
  }
}
