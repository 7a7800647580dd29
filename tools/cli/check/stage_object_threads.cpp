// Stage "threads" of types: several threads use one object at once.
#include <atomic>
#include <barrier>
#include <string>
#include <thread>

#include <tenon/type.hpp>

#include "format.hpp"
#include "type_check.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr std::ptrdiff_t kUsers = 4;
constexpr int kRounds = 50;

struct Seen {
  std::string text;
  Tensor plain, copy;
};
Seen look_at(const Tensor& object) {
  Seen seen{object.text(), plain_of(object), {}};
  try {
    seen.copy = plain_of(tenon::Op("clone").call<Tensor>(object));
  } catch (const tenon::Error&) {  // it declines, each time
  }
  return seen;
}
std::string difference_between(const Seen& alone, const Seen& beside) {
  if (alone.text != beside.text)
    return format_text(" is printed as {} and as {}", alone.text, beside.text);
  const std::string what = difference(alone.plain, beside.plain, kExact);
  return what.empty() ? difference(alone.copy, beside.copy, kExact) : what;
}

void share(TypeCheck& check, const ObjectSource& source) {
  const Tensor object = check.make(source);
  const Seen alone = look_at(object);
  std::string breach;
  std::atomic<bool> failed{false};
  std::barrier start(kUsers);
  std::vector<std::thread> threads;
  for (std::ptrdiff_t user = 0; user < kUsers; ++user) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (int round = 0; round < kRounds && !failed; ++round) {
        std::string what;
        try {
          what = difference_between(alone, look_at(object));
        } catch (const std::exception& error) {
          what = format_text(" fails: {}", error.what());
        }
        if (!what.empty() && !failed.exchange(true)) breach = what;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (!breach.empty())
    check.find("threads",
               format_text("once alone and once beside other uses, the object{}", breach), source);
}

}  // namespace

void check_object_threads(TypeCheck& check, const ObjectSource& source) {
  if (check.found.empty()) share(check, source);
}

}  // namespace cli
