// Kept failures of calls: what comes back is what was called, and the error is the caller's.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <unistd.h>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <tenon/mode.hpp>
#include <tenon/record/failure.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/tenon.hpp>

#include "tests/support/temporary_folder.hpp"

using namespace tenon;
using record::FailureKeeper;
using record::KeptCall;

namespace {

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  if (!std::filesystem::exists(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path().string());
  return files;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.kind_name()) + ": " + error.what();
  }
  return "";
}

// The one call that fails with a keeper, from its file.
KeptCall kept(const std::string& folder, const std::function<void()>& call) {
  {
    FailureKeeper keeper(folder);
    CHECK_FALSE(error_of(call).empty());
    REQUIRE(keeper.files().size() == 1);
  }
  return record::load_failure(files_of(folder).front());
}

// Sees the operands of the first call of an op.
class Seen : public Mode {
 public:
  explicit Seen(std::string op) : Mode("seen"), op_(std::move(op)) {}
  Results tenon_function(const Call& call) override {
    if (call.name() == op_ && operands.empty()) {
      for (int64_t i = 0; i < call.size(); ++i) {
        const tenon_value value = call.argument(i).value();
        if (value.tag == TENON_VALUE_TENSOR) operands.push_back(Tensor::borrow(value.as.tensor));
      }
    }
    return call.call_parent();
  }
  std::vector<Tensor> operands;

 private:
  const std::string op_;
};

}  // namespace

TEST_SUITE("lib/record/failure") {
  TEST_CASE(
      "a failing call is kept with its arguments, keyword ones too, and fails again the same") {
    const tenon_test::TemporaryFolder folder;
    const Tensor x = ones({2, 3}), y = ones({4});
    std::string first;
    const KeptCall call = kept(folder / "kept", [&] {
      first = error_of([&] { Op("add").call<Tensor>(x, y, arg("alpha") = 2); });
      throw ValueError("again");
    });
    CHECK(call.op() == "add");
    CHECK(call.text() == "add(f32[2, 3], f32[4], alpha=2)");
    CHECK(call.error() == first);
    CHECK(call.gaps().empty());
    CHECK(call.changed_plugins().empty());
    CHECK(error_of([&] { call.call(); }) == first);
    CHECK(call.document()["provider"].text() == "math");
  }

  TEST_CASE("calls that succeed, and calls without a keeper, leave nothing") {
    const tenon_test::TemporaryFolder folder;
    {
      const FailureKeeper keeper(folder / "kept");
      add(ones({2}), ones({2}));
    }
    CHECK_FALSE(error_of([] { mm(ones({2, 3}), ones({2, 3})); }).empty());
    CHECK(files_of(folder / "kept").empty());
  }

  TEST_CASE("random tensors come back with dtype, strides, bits and requires_grad") {
    std::mt19937 random(7);
    const DType dtypes[] = {f32, f64, f16, bf16, i64, i32, u8, boolean, c64, c128};
    for (int round = 0; round < 60; ++round) {
      CAPTURE(round);
      const tenon_test::TemporaryFolder folder;
      const DType dtype = dtypes[random() % std::size(dtypes)];
      std::vector<int64_t> shape;
      for (uint32_t d = 0; d < 1 + random() % 4; ++d)
        shape.push_back(static_cast<int64_t>(random() % 4));
      Tensor base = empty_tensor(IntList(shape.data(), static_cast<int64_t>(shape.size())));
      for (int64_t i = 0; i < base.numel(); ++i)
        base.data<float>()[i] = static_cast<float>(random() % 200);
      Tensor given = contiguous_as(base, dtype);
      const auto last = static_cast<int64_t>(shape.size()) - 1;
      if (random() % 2 == 0) given = transpose(given, 0, last);
      if (random() % 3 == 0)
        given = expand(unsqueeze(given, 0), [&] {
          std::vector<int64_t> wide = given.sizes();
          wide.insert(wide.begin(), 3);
          return wide;
        }());
      const bool grad = is_differentiable(dtype) && random() % 2 == 0;
      if (grad) given = given.detach().requires_grad_();
      const KeptCall call = kept(
          folder / "kept", [&] { Op("reshape").call<Tensor>(given, std::vector<int64_t>{99991}); });
      Seen seen("reshape");
      {
        const ModeScope scope(seen);
        CHECK(error_of([&] { call.call(); }) == call.error());
      }
      REQUIRE(seen.operands.size() == 1);
      const Tensor& made = seen.operands.front();
      CHECK(made.dtype() == dtype);
      CHECK(made.sizes() == given.sizes());
      CHECK(std::vector<int64_t>(made.strides().begin(), made.strides().end()) ==
            std::vector<int64_t>(given.strides().begin(), given.strides().end()));
      CHECK(made.requires_grad() == grad);
      const Tensor a = contiguous_as(made.detach(), dtype),
                   b = contiguous_as(given.detach(), dtype);
      CHECK(std::string(static_cast<const char*>(a.view_record().data),
                        static_cast<size_t>(a.numel() * element_size(dtype))) ==
            std::string(static_cast<const char*>(b.view_record().data),
                        static_cast<size_t>(b.numel() * element_size(dtype))));
    }
  }

  TEST_CASE("every kind of argument comes back") {
    const tenon_test::TemporaryFolder folder;
    const auto again = [&](const char* name, const std::function<void()>& call, const char* text) {
      const KeptCall kept_call = kept(folder / name, call);
      CHECK(kept_call.text() == text);
      CHECK(error_of([&] { kept_call.call(); }) == kept_call.error());
    };
    again(
        "lists",
        [] {
          cat({ones({2}), ones({2, 3})}, 0);
        },
        "cat([f32[2], f32[2, 3]])");
    again(
        "ints",
        [] {
          reshape(ones({4}), {3, 3});
        },
        "reshape(f32[4], [3, 3])");
    again(
        "text",
        [] {
          Op("nn.functional.mse_loss")
              .call<Tensor>(ones({2}), ones({2}), arg("reduction") = "none of them");
        },
        "nn.functional.mse_loss(f32[2], f32[2], reduction='none of them')");
    again(
        "numbers", [] { Op("sum").call<Tensor>(ones({2}), 7); }, "sum(f32[2], 7)");
  }

  TEST_CASE("a call of backward that fails is kept, and the application's own not twice") {
    const tenon_test::TemporaryFolder folder;
    {
      FailureKeeper keeper(folder / "kept");
      CHECK_FALSE(error_of([] {
                    const Module model = create_module(
                        Json::parse(R"({"type": "Linear", "in_features": 2, "out_features": 1})"));
                    model(ones({3, 5}));
                  }).empty());
      CHECK(keeper.files().size() == 1);
    }
    class FailsInBackward : public Mode {
     public:
      FailsInBackward() : Mode("fails") {}
      Results tenon_function(const Call& call) override {
        if (service::graph().backward_id() != 0) throw ValueError("not today");
        return call.call_parent();
      }
    } fails;
    const ModeScope scope(fails, Level::below_autograd);
    FailureKeeper keeper(folder / "backward");
    Tensor x = ones({2}).requires_grad_();
    CHECK_FALSE(error_of([&] { sum(exp(x)).backward(); }).empty());
    REQUIRE(keeper.files().size() == 1);
    CHECK(record::load_failure(keeper.files().front()).document()["backward"].as_bool());
  }

  TEST_CASE("there are never more files than may be") {
    const tenon_test::TemporaryFolder folder;
    record::KeeperOptions options;
    options.most_files = 3;
    for (int round = 0; round < 2; ++round) {
      const FailureKeeper keeper(folder / "kept", options);
      for (int i = 0; i < 5; ++i)
        CHECK_FALSE(error_of([] { mm(ones({2, 3}), ones({2, 3})); }).empty());
    }
    CHECK(files_of(folder / "kept").size() == 3);
  }

  TEST_CASE("two processes keep no more files than may be, all of them whole") {
    const tenon_test::TemporaryFolder folder;
    record::KeeperOptions options;
    options.most_files = 7;
    std::vector<pid_t> children;
    for (int process = 0; process < 2; ++process) {
      children.push_back(fork());
      REQUIRE(children.back() >= 0);
      if (children.back() != 0) continue;
      const FailureKeeper keeper(folder / "kept", options);
      int failed = 0;
      for (int i = 0; i < 6; ++i)
        failed += error_of([] { mm(ones({2, 3}), ones({2, 3})); }).empty() ? 0 : 1;
      _exit(failed == 6 ? 0 : 1);
    }
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      CHECK(status == 0);
    }
    const std::vector<std::string> files = files_of(folder / "kept");
    CHECK(files.size() == 7);
    for (const std::string& file : files) CHECK(record::load_failure(file).op() == "mm");
  }

  TEST_CASE("a folder that cannot be written, and a full disk, change nothing about the error") {
    const tenon_test::TemporaryFolder folder;
    std::ofstream(folder / "file") << "x";
    const std::string expected = error_of([] { mm(ones({2, 3}), ones({2, 3})); });
    for (const std::string& place :
         {folder / "file", folder / "file/below", std::string("/proc/none")}) {
      CAPTURE(place);
      const FailureKeeper keeper(place);
      CHECK(error_of([] { mm(ones({2, 3}), ones({2, 3})); }) == expected);
      CHECK(keeper.files().empty());
    }
    // A limit on the size of files is what a full disk is.
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{64, 64};
      setrlimit(RLIMIT_FSIZE, &limit);
      const FailureKeeper keeper(folder / "kept");
      const bool same = error_of([] { mm(ones({2, 3}), ones({2, 3})); }) == expected;
      _exit(same && keeper.files().empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(files_of(folder / "kept").empty());
  }

  TEST_CASE("of a call that is too large all but the elements is kept") {
    const tenon_test::TemporaryFolder folder;
    {
      record::KeeperOptions options;
      options.most_bytes = 100;
      const FailureKeeper keeper(folder / "kept", options);
      CHECK_FALSE(error_of([] { mm(ones({2, 3}), ones({20, 30})); }).empty());
    }
    const KeptCall call = record::load_failure(files_of(folder / "kept").front());
    REQUIRE(call.gaps().size() == 1);
    CHECK(
        call.gaps().front() ==
        "elements of f32[20, 30] were not kept: they take 2,400 bytes, and 100 are kept of a call");
    CHECK(error_of([&] { call.call(); }) == call.error());
  }

  TEST_CASE("a plugin whose file is another one is named") {
    const tenon_test::TemporaryFolder folder;
    const KeptCall call = kept(folder / "kept", [] { mm(ones({2, 3}), ones({2, 3})); });
    std::string text = call.document().dump();
    const size_t hash = text.find("\"sha256\":\"") + 10;
    text[hash] = text[hash] == '0' ? '1' : '0';
    const KeptCall changed(Json::parse(text),
                           state::load_tensors(files_of(folder / "kept").front()));
    REQUIRE(changed.changed_plugins().size() == 1);
    CHECK_FALSE(changed.changed_plugins().front().now.empty());
  }

  TEST_CASE("files that are none, or whose document does not fit, are refused") {
    const tenon_test::TemporaryFolder folder;
    state::save_tensors(folder / "weights.safetensors", {{"w", ones({2})}});
    CHECK(error_of([&] {
            record::load_failure(folder / "weights.safetensors");
          }).find("this is not the file of a failing call") != std::string::npos);
    CHECK(error_of([&] { record::load_failure(folder / "none"); }).find("IOError") == 0);
    const KeptCall call = kept(folder / "kept", [] { mm(ones({2, 3}), ones({2, 3})); });
    const std::string file = files_of(folder / "kept").front();
    const auto tensors = state::load_tensors(file);
    const std::string text = call.document().dump();
    // Any byte of the document may be another one.
    std::mt19937 random(3);
    for (int i = 0; i < 300; ++i) {
      std::string changed = text;
      changed[random() % text.size()] = static_cast<char>(32 + random() % 95);
      try {
        const KeptCall read(Json::parse(changed), tensors);
        CHECK_NOTHROW(read.text());
      } catch (const Error&) {
      }
    }
    const auto with = [&](const std::string& from, const std::string& to) {
      std::string changed = text;
      changed.replace(changed.find(from), from.size(), to);
      return error_of([&] { KeptCall(Json::parse(changed), tensors); });
    };
    CHECK(with("[2,3]", "[2,9]").find("are not those of its shape") != std::string::npos);
    CHECK(with("\"f32\"", "\"f99\"").find("dtype that is not known") != std::string::npos);
    CHECK(with("\"format\":1", "\"format\":2").find("another version") != std::string::npos);
  }
}
