// The plugin opencl in its process: kept kernels, drivers that fail, errors that arrive late, Ctrl-C.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/device.hpp>
#include <tenon/interrupt.hpp>
#include <tenon/tenon.hpp>

#include "child_cases.hpp"
#include "tests/support/opencl_device.hpp"

using namespace tenon;

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

Tensor there(const Tensor& tensor) { return device::to(tensor, "opencl:0"); }
Tensor indices(std::vector<int64_t> places) {
  return there(from_range(places.begin(), places.end()));
}

// Folders for the files of both Tenon and the driver, gone at the end.
class Cache {
 public:
  Cache() {
    char name[] = "/tmp/tenon_opencl_XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    folder_ = name;
  }
  ~Cache() { fs::remove_all(folder_); }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  std::string variables() const {
    return "XDG_CACHE_HOME=" + folder_ + " POCL_CACHE_DIR=" + folder_ + "/pocl";
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void add(const std::string& name, const std::string& text) const { write(path(name), text); }
  // For files of the folder that name drivers.
  std::string vendors() const { return "OCL_ICD_VENDORS=" + folder_; }
  // The kept programs by their names.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_ + "/tenon/opencl")) {
      std::ifstream file(entry.path(), std::ios::binary);
      all[entry.path()] = std::string{std::istreambuf_iterator<char>(file), {}};
    }
    return all;
  }
  static void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

 private:
  std::string folder_;
};

}  // namespace

TEST_SUITE("device/opencl process") {
  TEST_CASE("child: two tensors are added on opencl") {
    if (!is_child()) return;
    const Tensor two = there(ones({2}));
    CHECK((two + two).to_vector<float>() == std::vector<float>{2, 2});
  }

  TEST_CASE("a kept kernel that is cut off or changed is compiled and kept again") {
    if (is_child() || !needs_opencl()) return;
    const Cache cache;
    const std::string name = "child: two tensors are added on opencl";
    REQUIRE(run_case(name, cache.variables()) == 0);
    const auto whole = cache.files();
    REQUIRE(whole.size() >= 1);
    const auto damaged = [](const std::string& bytes, int how) {
      std::string other = bytes;
      if (how == 0) return other.substr(0, other.size() / 2);
      if (how == 1) return std::string();
      other[how == 2 ? other.size() / 3 : 3] ^= 0x55;
      return other;
    };
    for (int how = 0; how < 4; ++how) {
      CAPTURE(how);
      for (const auto& [path, bytes] : whole) Cache::write(path, damaged(bytes, how));
      CHECK(run_case(name, cache.variables()) == 0);
      for (const auto& [path, bytes] : cache.files()) CHECK(bytes != damaged(whole.at(path), how));
      // A file that was kept again is used as it is.
      const auto again = cache.files();
      CHECK(run_case(name, cache.variables()) == 0);
      CHECK(cache.files() == again);
    }
  }

  TEST_CASE("child: a driver that fails is named") {
    if (!is_child()) return;
    CHECK_FALSE(is_opencl_there());
    const std::string text = error_of([] { device::to(ones({2}), "opencl"); });
    CHECK(contains(text, "a card without power: OpenCL: clCreateContext failed with code -2"));
  }

  TEST_CASE("child: a case needs opencl") {
    if (is_child()) needs_opencl();
  }

  TEST_CASE("a case that needs opencl fails where a driver does, and is skipped without one") {
    if (is_child()) return;
    const Cache folder;
    folder.add("0.icd", TENON_FAILING_DRIVER);
    CHECK(run_case("child: a case needs opencl", folder.vendors()) == 1);
    CHECK(run_case("child: a case needs opencl", "OCL_ICD_VENDORS=/nonexistent") ==
          skipped::kExitCode);
  }

  TEST_CASE("a driver that cannot begin is left out, and the devices of others are there") {
    if (is_child() || !needs_opencl()) return;
    const Cache folder;
    folder.add("0.icd", TENON_FAILING_DRIVER);
    CHECK(run_case("child: a driver that fails is named", folder.vendors()) == 0);
    for (const auto& file : fs::directory_iterator("/etc/OpenCL/vendors"))
      fs::copy_file(file.path(), folder.path(file.path().filename()));
    CHECK(run_case("child: two tensors are added on opencl", folder.vendors()) == 0);
  }

  TEST_CASE("each index that is out of range is an error that names its call, once") {
    if (is_child() || !needs_opencl()) return;
    const Tensor table = there(ones({5, 3})), x = there(ones({4}));
    const Tensor a = nn::functional::embedding(indices({1, 7}), table);
    const Tensor b = index_select(x, 0, indices({0, 1, 2}));
    const Tensor c = index_select(x, 0, indices({9}));
    const std::string first = error_of([&] { b.to_vector<float>(); }),
                      second = error_of([&] { b.to_vector<float>(); });
    CHECK(contains(first, "embedding(): index 7 is out of range for a table of 5 rows"));
    CHECK(contains(first, "It arrived late, from embedding(i64[2], f32[5, 3]) on opencl:0"));
    CHECK(contains(second, "index_select(): index 9 is out of range for dimension 0 with size 4"));
    CHECK(contains(second, "from index_select(f32[4], 0, i64[1]) on opencl:0"));
    CHECK(b.to_vector<float>() == std::vector<float>(3, 1));
  }

  TEST_CASE("errors of several threads each name the call that they come from") {
    if (is_child() || !needs_opencl()) return;
    std::mutex mutex;
    std::map<std::string, int> found;
    const auto note = [&](const std::string& text) {
      const std::lock_guard lock(mutex);
      if (!text.empty()) ++found[text.substr(0, text.find('\n'))];
    };
    const Tensor x = there(ones({4}));
    const auto run = [&](int64_t base) {
      for (int64_t i = 0; i < 100; ++i) {
        const bool faulty = i % 10 == 0;
        const Tensor y = index_select(x, 0, indices({faulty ? base + i : i % 4}));
        note(error_of([&] { y.to_vector<float>(); }));
      }
    };
    std::vector<std::thread> threads;
    for (int64_t t = 1; t <= 4; ++t) threads.emplace_back(run, t * 1000);
    for (std::thread& thread : threads) thread.join();
    for (std::string text = "-"; !text.empty(); note(text))
      text = error_of([&] { x.to_vector<float>(); });
    CHECK(found.size() == 40);
    for (int64_t t = 1; t <= 4; ++t) {
      for (int64_t i = 0; i < 100; i += 10)
        CHECK(found["index_select(): index " + std::to_string(t * 1000 + i) +
                    " is out of range for dimension 0 with size 4"] == 1);
    }
  }

  TEST_CASE("more calls with indices than are watched at a time are all looked at") {
    if (is_child() || !needs_opencl()) return;
    const Tensor x = there(ones({4})), fine = indices({0}), outside = indices({6});
    std::vector<Tensor> kept;
    for (int i = 0; i < 700; ++i) kept.push_back(index_select(x, 0, i % 350 == 7 ? outside : fine));
    CHECK(contains(error_of([&] { x.to_vector<float>(); }), "index 6"));
    CHECK(contains(error_of([&] { x.to_vector<float>(); }), "index 6"));
    CHECK(error_of([&] { x.to_vector<float>(); }) == "");
  }

  TEST_CASE("Ctrl-C ends a wait for many kernels, which run on") {
    if (is_child() || !needs_opencl()) return;
    const Tensor a = there(ones({512, 512}) / 512);
    const device::Device device("opencl:0");
    mm(a, a);
    device::synchronize(device);
    Tensor product = a;
    for (int i = 0; i < 300; ++i) product = mm(product, a);
    std::thread signal([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      request_interrupt();
    });
    const auto start = Clock::now();
    CHECK_THROWS_AS(device::synchronize(device), InterruptedError);
    const auto interrupted = Clock::now();
    signal.join();
    clear_interrupt();
    device::synchronize(device);
    const auto end = Clock::now();
    MESSAGE("interrupted after ", std::chrono::duration<double>(interrupted - start).count(),
            " s, ended after ", std::chrono::duration<double>(end - start).count(), " s");
    CHECK(interrupted - start < (end - start) / 2);
    CHECK(sum(product).item() == doctest::Approx(512.).epsilon(1e-3));
  }
}
