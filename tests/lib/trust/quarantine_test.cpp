// Markers, trials and records of plugins that end the process that loads them.
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <functional>
#include <random>
#include <thread>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include <tenon/listing/listing.hpp>
#include <tenon/trust/quarantine.hpp>
#include <tenon/trust/sha256.hpp>

#include "tests/lib/trust/support.hpp"
#include "tests/support/emulation.hpp"
#include "tests/support/kill_points.hpp"
#include "tests/support/process_tree.hpp"

using namespace tenon::trust;
using namespace trust_test;

#ifndef TENON_PROGRAM
#define TENON_PROGRAM ""
#endif

namespace {

namespace fs = std::filesystem;

// A plugin that crashes where the test says, and the folder in which that is remembered.
struct World {
  TemporaryFolder folder;
  std::string state = folder / "home/state/tenon";
  std::string file = folder.add("crashes");

  World() { ::setenv("TENON_QUARANTINE", "1", 1); }
  ~World() {
    crash("");
    ::setenv("TENON_QUARANTINE", "0", 1);
  }

  static void crash(const char* where) { ::setenv("TENON_TEST_CRASH", where, 1); }

  // In another process, whose guard has this quarantine.
  std::string in_process(const std::function<std::string()>& body) const {
    return in_child([&] {
      GuardOptions options;
      options.state_folder = state;
      options.trial_program = TENON_PROGRAM;
      REQUIRE(install(options));
      tenon::add_plugin_path(folder.path());
      return body();
    });
  }
  // The message of what refuses it; "" when it is loaded.
  std::string refusal() const {
    return in_process([] {
      tenon::load_plugin("crashes");
      return std::string();
    });
  }
  // Loads it in a child, for an op of its where one is named; the state that the child ended in.
  int load_in_child(const char* op = nullptr) const {
    const pid_t child = ::fork();
    if (child == 0) {
      const int nothing = ::open("/dev/null", O_WRONLY);
      ::dup2(nothing, STDERR_FILENO);
      ::signal(SIGSEGV, SIG_DFL);
      ::signal(SIGABRT, SIG_DFL);
      try {
        GuardOptions options;
        options.state_folder = state;
        options.trial_program = TENON_PROGRAM;
        if (!install(options)) ::_exit(8);
        tenon::add_plugin_path(folder.path());
        if (op != nullptr)
          static_cast<void>(tenon::Op(op));
        else
          tenon::load_plugin("crashes");
      } catch (const tenon::Error&) {
        ::_exit(9);
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
  std::vector<std::string> files(const std::string& prefix = "") const {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(state, none)) {
      if (entry.path().filename().string().starts_with(prefix))
        names.push_back(entry.path().filename());
    }
    return names;
  }
  std::string listed() const {
    return in_process([] {
      const Json plugins = tenon::listing::plugins();
      for (int64_t i = 0; i < plugins.size(); ++i) {
        if (plugins[i]["id"].text() == "crashes") return plugins[i]["state"].text();
      }
      return std::string("not there");
    });
  }
};

tenon_file_stamp stamp_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  const auto nanoseconds = [](const timespec& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
          nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

Json eager_config(const std::string& path) {
  return Json::parse(R"({"plugins": [{"path": ")" + path + R"(", "load": "eager"}]})");
}

bool without_program() {
  if (!std::string(TENON_PROGRAM).empty()) return false;
  MESSAGE("skipped: the command line is not built");
  return true;
}

// In a child, which is killed after the delay; < 0: it ends when it is done. Waits for what it started.
void run_in_child(const std::function<void()>& body, tenon_test::Seconds delay) {
  const tenon_test::ProcessTree tree(body);
  if (delay.count() >= 0) {
    std::this_thread::sleep_for(delay);
    tree.kill(SIGKILL);
  }
  tree.end();
}

// Processor time of this thread, in microseconds: the time on the clock is that of other programs
// as well.
double processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

QuarantineRecord example(const std::string& hash, const std::string& ended) {
  QuarantineRecord record;
  record.plugin = "crashes";
  record.path = "/p/crashes.so";
  record.sha256 = hash;
  record.host = std::to_string(TENON_VERSION_MAJOR) + "." + std::to_string(TENON_VERSION_MINOR) +
                "." + std::to_string(TENON_VERSION_PATCH);
  record.size = 7;
  record.phase = "init";
  record.ended = ended;
  return record;
}

}  // namespace

TEST_SUITE("trust/quarantine") {
  TEST_CASE("a load that goes well leaves nothing, in a folder for this user alone") {
    World world;
    CHECK(WEXITSTATUS(world.load_in_child()) == 0);
    struct stat status {};
    REQUIRE(::stat(world.state.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    CHECK(world.files().empty());
  }

  TEST_CASE(
      "nothing is made in another user's home; a folder that belongs to root may hold one's") {
    if (::geteuid() != 0) {
      MESSAGE("skipped: only root can become another user");
      return;
    }
    constexpr uid_t kOther = 65534;
    const TemporaryFolder folder;
    REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
    fs::create_directory(folder / "own");
    REQUIRE(::chown((folder / "own").c_str(), kOther, kOther) == 0);
    fs::create_directory(folder / "roots");
    REQUIRE(::chmod((folder / "roots").c_str(), 0777) == 0);
    const std::string file = folder.add("crashes");
    // As XDG_STATE_HOME=.../own, and as HOME=.../roots.
    for (const char* state : {"own/tenon", "roots/.local/state/tenon"}) {
      const pid_t child = ::fork();
      if (child == 0) {
        if (::setresuid(kOther, kOther, kOther) != 0) _exit(1);
        Quarantine quarantine(folder / state, "");
        const auto marker = quarantine.mark("crashes", file, tenon_file_stamp{}, "");
        _exit(0);
      }
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      CHECK(WEXITSTATUS(status) == 0);
    }
    CHECK(fs::exists(folder / "own/tenon"));
    CHECK_FALSE(fs::exists(folder / "roots/.local"));
  }

  TEST_CASE("what ends its process is tried, kept out with the reason, and released") {
    if (without_program()) return;
    struct Row {
      const char* where;
      const char* phase;
      const char* ended;
    };
    for (const Row& row :
         {Row{"init", "init", "SIGSEGV (Segmentation fault)"},
          Row{"open", "open", "SIGABRT (Aborted)"}, Row{"exit", "init", "exit code 3"}}) {
      World world;
      World::crash(row.where);
      CHECK(WEXITSTATUS(world.load_in_child()) != 9);
      CHECK(world.files("loading-").size() == 1);
      CHECK(world.listed() == "indexed");  // a suspicion only
      // The next process that loads it makes the trial, and lives.
      const std::string refusal = world.refusal();
      CHECK(contains(refusal, "it is in quarantine"));
      CHECK(contains(refusal, row.ended));
      CHECK(contains(refusal, "tenon plugins --retry crashes"));
      CHECK(contains(refusal, std::string("at stage ") + row.phase));
      const std::vector<std::string> files = world.files();
      REQUIRE(files.size() == 1);
      const Json record = Json::parse(read_file(world.state + "/" + files[0]));
      CHECK(record["phase"].text() == row.phase);
      CHECK(record["ended"].text() == row.ended);
      CHECK(record["sha256"].text() == sha256_file(world.file));
      if (std::string(row.where) == "init") {
        CHECK(record["backtrace"].size() > 0);
        CHECK(contains(record["output"].text(), "the last words of crashes"));
      }
      // Later processes refuse it at once, and list it.
      CHECK(world.listed() == "quarantined");
      CHECK(contains(world.refusal(), "it is in quarantine"));
      World::crash("");
      const std::string retried = world.in_process([] {
        tenon::apply_policy(Json::parse(R"({"retry": ["crashes"]})"));
        tenon::load_plugin("crashes");
        return std::string("loaded");
      });
      CHECK(retried == "loaded");
      CHECK(world.files().empty());
    }
  }

  TEST_CASE("a record has the op that the plugin was loaded for") {
    if (without_program()) return;
    World world;
    World::crash("init");
    CHECK(WEXITSTATUS(world.load_in_child("crashes.op")) != 9);
    CHECK(contains(world.refusal(), "while it was loaded for op 'crashes.op', and so did"));
    const std::vector<std::string> files = world.files();
    REQUIRE(files.size() == 1);
    const Json record = Json::parse(read_file(world.state + "/" + files[0]));
    CHECK(record["asked_by"].text() == "op 'crashes.op'");
    // A later process reads it again.
    CHECK(contains(world.refusal(), "for op 'crashes.op'"));
    World::crash("");
  }

  TEST_CASE("a process that was killed for another reason accuses no plugin") {
    if (without_program()) return;
    World world;
    World::crash("init");
    world.load_in_child();
    REQUIRE(world.files("loading-").size() == 1);
    World::crash("");
    CHECK(WEXITSTATUS(world.load_in_child()) == 0);
    CHECK(world.files().empty());
    CHECK(world.listed() == "indexed");
  }

  TEST_CASE("a plugin that is built again is tried again, and other copies of the bytes are not") {
    if (without_program()) return;
    World world;
    World::crash("init");
    world.load_in_child();
    CHECK(contains(world.refusal(), "it is in quarantine"));
    const std::string bytes = read_file(world.file);
    fs::remove(world.file);
    world.folder.add("crashes", "copy.so");
    CHECK(world.listed() == "quarantined");
    write_file(world.folder / "copy.so", bytes + "x");
    CHECK(world.listed() == "indexed");
  }

  TEST_CASE("bytes that took the place of others since the scan are looked up again") {
    World world;
    const std::string bytes = read_file(world.file);
    QuarantineRecord record = example(sha256_file(world.file), "SIGSEGV");
    record.size = bytes.size();
    fs::create_directories(world.state);
    ::chmod(world.state.c_str(), 0700);
    Quarantine(world.state, "").add(record);
    write_file(world.file, bytes + "x");
    const std::string refusal = world.in_process([&] {
      if (tenon::listing::plugin("crashes")["state"].text() != "indexed") return std::string();
      write_file(world.file, bytes);
      tenon::load_plugin("crashes");
      return std::string();
    });
    CHECK(contains(refusal, "it is in quarantine"));
  }

  // The trial runs a script instead, which runs the program and then does more.
  TEST_CASE("only what ends a trial from inside is proof, of the bytes that were tried") {
    if (without_program()) return;
    struct Row {
      const char* then;
      size_t records;
    };
    for (const Row& row :
         {Row{"kill -SEGV $$", 1}, Row{"kill -ABRT $$", 1}, Row{"exit 3", 1},
          Row{"kill -KILL $$", 0}, Row{"kill -TERM $$", 0}, Row{"kill -INT $$", 0},
          Row{"kill -HUP $$", 0}, Row{"kill -XCPU $$", 0},
          Row{"printf x >>\"$TENON_TEST_FILE\"; kill -SEGV $$", 0},
          Row{"cp \"$TENON_TEST_FILE\" next; mv next \"$TENON_TEST_FILE\"; kill -SEGV $$", 0},
          Row{"rm \"$TENON_TEST_FILE\"; kill -SEGV $$", 0}}) {
      CAPTURE(row.then);
      World world;
      ::setenv("TENON_TEST_FILE", world.file.c_str(), 1);
      const std::string script = world.folder / "trial";
      write_file(script, std::string("#!/bin/sh\ncd '") + world.folder.path() + "'\n'" +
                             TENON_PROGRAM "' \"$@\"\n" + row.then + "\n");
      REQUIRE(::chmod(script.c_str(), 0700) == 0);
      World::crash("init");
      world.load_in_child();
      const tenon_file_stamp stamp = stamp_of(world.file);
      Quarantine quarantine(world.state, script);
      REQUIRE(quarantine.is_suspect(world.file, stamp));
      const auto refusal = quarantine.settle(world.file, stamp, eager_config(world.file));
      CHECK((refusal && refusal->quarantined) == (row.records == 1));
      CHECK(world.files("quarantine-").size() == row.records);
      CHECK(world.files("loading-").empty());  // settled, whatever came of it
    }
    ::unsetenv("TENON_TEST_FILE");
  }

  TEST_CASE("records of another host, and what is not a record, keep nothing out") {
    World world;
    fs::create_directories(world.state);
    ::chmod(world.state.c_str(), 0700);
    const std::string hash = sha256_file(world.file);
    const auto size = static_cast<uint64_t>(fs::file_size(world.file));
    QuarantineRecord record = example(hash, "SIGSEGV");
    record.size = size;
    record.host = "0.0.1";
    Quarantine(world.state, "").add(record);
    CHECK(world.listed() == "indexed");
    CHECK(world.files().empty());
    for (const char* text : {"", "{", "[]", "{}", "nonsense"}) {
      write_file(world.state + "/quarantine-" + hash + ".json", text);
      write_file(world.state + "/loading-1-1", text);
      write_file(world.state + "/loading-999999999-1", text);
      write_file(world.state + "/loading-x", text);
      CHECK(world.listed() == "indexed");
    }
  }

  TEST_CASE("processes that are alive do not suspect each other") {
    World world;
    World::crash("hang");
    const pid_t child = ::fork();
    if (child == 0) {
      const int nothing = ::open("/dev/null", O_WRONLY);
      ::dup2(nothing, STDERR_FILENO);
      GuardOptions options;
      options.state_folder = world.state;
      install(options);
      tenon::add_plugin_path(world.folder.path());
      tenon::load_plugin("crashes");
      ::_exit(0);
    }
    while (world.files("loading-").empty()) ::usleep(1000);
    ::usleep(20000);
    Quarantine other(world.state, "");
    const tenon_file_stamp stamp = stamp_of(world.file);
    CHECK_FALSE(other.is_suspect(world.file, stamp));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    CHECK(Quarantine(world.state, "").is_suspect(world.file, stamp));
    CHECK_FALSE(Quarantine(world.state, "").is_suspect(world.folder / "other.so", stamp));
  }

  TEST_CASE("a marker of a number that another process has by now is of a dead one") {
    World world;
    World::crash("init");
    world.load_in_child();
    const std::string name = world.files("loading-").at(0);
    const std::string text = read_file(world.state + "/" + name);
    fs::remove(world.state + "/" + name);
    // The parent lives, but began at another time than the process that wrote this.
    write_file(world.state + "/loading-" + std::to_string(::getppid()) + "-1", text);
    const tenon_file_stamp stamp = stamp_of(world.file);
    CHECK(Quarantine(world.state, "").is_suspect(world.file, stamp));
  }

  TEST_CASE("without a folder, or with one that others can write to, nothing is kept") {
    World world;
    fs::create_directories(world.state);
    ::chmod(world.state.c_str(), 0777);
    CHECK(WEXITSTATUS(world.load_in_child()) == 0);
    World::crash("init");
    world.load_in_child();
    CHECK(world.files().empty());
    Quarantine none("", "");
    CHECK_FALSE(none.find("/x", {}).has_value());
    CHECK(none.release("x") == 0);
  }

  TEST_CASE("a policy switches it off") {
    World world;
    const std::string text = world.in_process([] {
      tenon::apply_policy(Json::parse(R"({"quarantine": false})"));
      tenon::load_plugin("crashes");
      return std::string("loaded");
    });
    CHECK(text == "loaded");
    CHECK_FALSE(fs::exists(world.state));
  }

  TEST_CASE("a writer that is killed leaves the old record or the new, and markers that are read") {
    World world;
    fs::create_directories(world.state);
    ::chmod(world.state.c_str(), 0700);
    const std::string hash(64, 'a');
    const std::string name = world.state + "/quarantine-" + hash + ".json";
    std::mt19937 draw(11);
    for (int round = 0; round < 60; ++round) {
      int ends[2];
      REQUIRE(::pipe(ends) == 0);
      const pid_t child = ::fork();
      if (child == 0) {
        Quarantine quarantine(world.state, "");
        for (int i = 0;; ++i) {
          if (i == 1 && ::write(ends[1], "x", 1) != 1) ::_exit(1);
          QuarantineRecord record = example(hash, std::to_string(i));
          record.output = std::string(static_cast<size_t>(i % 50) * 1000, 'x');
          const auto marker = quarantine.mark("crashes", world.file, {}, "");
          quarantine.add(record);
        }
      }
      char written = 0;
      REQUIRE(::read(ends[0], &written, 1) == 1);
      ::close(ends[0]);
      ::close(ends[1]);
      ::usleep(static_cast<useconds_t>(draw() % 5000));
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
      const Json record = Json::parse(read_file(name));  // throws for a part of one
      const int64_t number = std::stoll(record["ended"].text());
      CHECK(record["output"].text().size() == static_cast<size_t>(number % 50) * 1000);
      Quarantine next(world.state, "");
      tenon_file_stamp stamp{};
      stamp.size = 7;
      CHECK_FALSE(next.find(world.file, stamp).has_value());
    }
  }

  TEST_CASE("a suspicion lasts until its record is written") {
    if (without_program()) return;
    World world;
    World::crash("init");
    world.load_in_child();
    // The folder in its place cannot be replaced.
    const std::string record = world.state + "/quarantine-" + sha256_file(world.file) + ".json";
    fs::create_directory(record);
    CHECK(contains(world.refusal(), "cannot write"));
    CHECK(world.files("loading-").size() == 1);
    fs::remove(record);
    CHECK(contains(world.refusal(), "it is in quarantine"));
    CHECK(world.files("loading-").empty());
  }

  TEST_CASE("a process that is killed while it settles leaves the suspicion, or the record") {
    if (without_program()) return;
    World world;
    World::crash("init");
    world.load_in_child();
    const std::string marker = world.state + "/" + world.files("loading-").at(0);
    const std::string suspicion = read_file(marker);
    const std::string record = world.state + "/quarantine-" + sha256_file(world.file) + ".json";
    const tenon_file_stamp stamp = stamp_of(world.file);
    const Json config = eager_config(world.file);
    const auto settle = [&] {
      Quarantine quarantine(world.state, TENON_PROGRAM);
      try {
        if (quarantine.is_suspect(world.file, stamp))
          static_cast<void>(quarantine.settle(world.file, stamp, config));
      } catch (const tenon::Error&) {  // it could not be written
      }
    };
    const auto is_kept_out = [&] {
      return Quarantine(world.state, "").find(world.file, stamp).has_value();
    };
    const tenon_test::Seconds to_the_end(-1);
    const tenon_test::Seconds unbroken =
        tenon_test::time_of([&] { run_in_child(settle, to_the_end); });
    REQUIRE(is_kept_out());
    REQUIRE(world.files().size() == 1);
    for (const tenon_test::Seconds delay : tenon_test::kill_points(unbroken)) {
      fs::remove(record);
      write_file(marker, suspicion);
      run_in_child(settle, delay);
      CHECK((is_kept_out() || Quarantine(world.state, "").is_suspect(world.file, stamp)));
    }
    // Files that killed processes left go with the next record.
    fs::remove(record);
    write_file(marker, suspicion);
    run_in_child(settle, to_the_end);
    CHECK(is_kept_out());
    CHECK(world.files().size() == 1);
  }

  TEST_CASE("a suspicion ends with the bytes that it is of") {
    World world;
    World::crash("init");
    world.load_in_child();
    const tenon_file_stamp stamp = stamp_of(world.file);
    const auto is_suspect = [&] {
      return Quarantine(world.state, "").is_suspect(world.file, stamp);
    };
    const std::string bytes = read_file(world.file), aside = world.folder / "aside";
    fs::create_directory(aside);
    fs::rename(world.file, aside + "/file");
    CHECK(is_suspect());  // it may be back
    CHECK(world.files("loading-").size() == 1);
    write_file(world.file, bytes + "x");
    CHECK_FALSE(is_suspect());
    CHECK(world.files().empty());
  }

  TEST_CASE("a marker costs little") {
    World world;
    Quarantine quarantine(world.state, "");
    const tenon_file_stamp stamp = stamp_of(world.file);
    { const auto first = quarantine.mark("crashes", world.file, stamp, ""); }
    double best = 1e9;
    for (int round = 0; round < 5; ++round) {
      const double start = processor_time();
      for (int i = 0; i < 100; ++i) {
        CHECK_FALSE(quarantine.is_suspect(world.file, stamp));
        const auto marker = quarantine.mark("crashes", world.file, stamp, "");
      }
      best = std::min(best, (processor_time() - start) / 100);
    }
    // Some tens with optimization; system calls take many times as long under emulation.
    CHECK(best < (tenon_test::is_emulated() ? 3000 : 300));
  }
}
