// Calls from many threads while plugins with types and overrides load: each sees the table before
// or after a load, never half of it.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <tenon/listing/listing.hpp>
#include <tenon/mode.hpp>
#include <tenon/trace.hpp>

#include "tests/sdk/functions.hpp"

using namespace functions;

namespace {

constexpr int crowd = 24;
constexpr int threads = 8;

// crowd_0000, crowd_0001, ...
std::string crowd_name(int number) {
  std::string digits = std::to_string(number);
  return "crowd_" + std::string(4 - digits.size(), '0') + digits;
}

// Many plugins of one type and one override each: copies of a fixture's file with another number.
class CrowdFolder {
 public:
  CrowdFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tenon-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
    const std::string first = crowd_name(0);
    std::ifstream file(TENON_FIXTURES "/bad_types/" + first + ".so", std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    REQUIRE(!bytes.empty());
    for (int number = 0; number < crowd; ++number) {
      const std::string name = crowd_name(number);
      std::string copy = bytes;
      for (size_t at = copy.find(first); at != copy.npos; at = copy.find(first, at + 1))
        copy.replace(at, first.size(), name);
      std::ofstream(path_ + "/" + name + ".so", std::ios::binary) << copy;
    }
  }
  ~CrowdFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  CrowdFolder(const CrowdFolder&) = delete;
  CrowdFolder& operator=(const CrowdFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A tensor of a type from a plugin; its first use loads the plugin.
Tensor wrap_as(const std::string& type, const Tensor& tensor) {
  uint32_t id = 0;
  void* payload = nullptr;
  tenon_tensor* result = nullptr;
  detail::check(service::types().find, type.c_str(), &id);
  detail::check(service::types().wrap, id, tensor.handle(), &payload, &result);
  return Tensor::take(result);
}

}  // namespace

TEST_SUITE("sdk/type_threads") {
  TEST_CASE("eight threads dispatch typed and plain calls while types and overrides load") {
    const CrowdFolder folder;
    add_plugin_path(TENON_FIXTURES "/types");
    add_plugin_path(folder.path());
    std::atomic<int> ready{0}, right{0};
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        ++ready;
        while (ready < threads) std::this_thread::yield();
        try {
          bool fine = true;
          const Op scalar("tx.scalar"), make("tx.make"), add_op("add"), mean_op("mean");
          const Tensor plain = row({1, 2});
          for (int round = 0; round < 2 * crowd; ++round) {
            const Tensor sum =
                add_op.call<Tensor>(scalar.call<Tensor>(2, 1.0), scalar.call<Tensor>(2, 2.0));
            fine &= sum.text() == "ScalarTensor(N=2, value=3)";
            fine &= mean_op.call<double>(sum) == 1.5;
            const Tensor child = make.call<Tensor>("S2", plain);
            fine &= type_name(child + plain) == "S2";
            fine &= numbers(plain + plain) == Numbers{2, 4};
            fine &= refusal([&] { Op("mul")(sum, 2); }).kind == TENON_ERROR_TYPE;
            // Threads meet at some plugins and are first at others.
            const std::string type = crowd_name((round + t * 3) % crowd) + "_good";
            const Tensor late = wrap_as(type, plain);
            fine &= type_name(neg(late)) == type;
            CountMode count;
            {
              const ModeScope scope(count);
              neg(late);
            }
            fine &= count.calls().at("neg") == 1;
            if (round % 8 == t) fine &= listing::coverage("ScalarTensor").size() > 0;
          }
          if (fine) ++right;
        } catch (const std::exception& error) {
          MESSAGE(std::string(error.what()));
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    CHECK(right == threads);
  }

  TEST_CASE("F-352 who meets a type while others load its plugins sees all of its overrides") {
    add_plugin_path(TENON_FIXTURES "/companions");
    std::atomic<int> right{0};
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        // Some wait for the type, others find it there while the override's plugin loads.
        std::this_thread::sleep_for(std::chrono::milliseconds(5 * t));
        try {
          const Tensor late = wrap_as("companion_type_good", row({1, 2}));
          const TraceScope trace;
          static_cast<void>(late * late);
          if (has(trace.text(), "override mul[companion_type_good]")) ++right;
        } catch (const std::exception& error) {
          MESSAGE(std::string(error.what()));
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    CHECK(right == threads);
  }
}
