// Prepared models in files: what is opened gives the bits of what was saved, and is refused where it cannot.
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include <tenon/abi/unchanging.h>
#include <tenon/parallel.hpp>
#include <tenon/state/atomic_file.hpp>
#include <tenon/state/tensor_file.hpp>

#include "tests/lib/prepare/support.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace preparing;

namespace {

const std::string kModel = R"({"type": "Graph", "inputs": ["x"], "outputs": ["y", "z"], "nodes": {
  "c": {"module": {"type": "Conv2d", "in_channels": 2, "out_channels": 3, "kernel_size": 3}, "inputs": ["x"]},
  "n": {"module": {"type": "BatchNorm2d", "num_features": 3}, "inputs": ["c"]},
  "r": {"op": "relu", "inputs": ["n"]},
  "f": {"op": "flatten", "inputs": ["r"], "start_dim": 1},
  "y": {"module": {"type": "Linear", "in_features": 48, "out_features": 5}, "inputs": ["f"]},
  "z": {"op": "nn.functional.softmax", "inputs": ["y"], "dim": 1}}})";

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A saved model, in a folder.
struct Saved {
  Saved() : folder(), path(folder / "model.tenon"), module(model_of(kModel)) {
    prepare(module, {{input()}}).save(path);
  }
  static Tensor input() {
    seed_generator(1);
    return randn({2, 2, 6, 6});
  }
  std::string document() const { return state::metadata(path)["tenon.prepared"].text(); }
  // The file with another document.
  void set_document(const std::string& text) const {
    const state::NamedTensors tensors = state::load_tensors(path);
    state::save_tensors(path, tensors, JsonObject().set("tenon.prepared", text).json());
  }
  // With `to` in place of the first `from` of its document.
  void replace(const std::string& from, const std::string& to) const {
    std::string text = document();
    const size_t place = text.find(from);
    REQUIRE(place != std::string::npos);
    set_document(text.replace(place, from.size(), to));
  }

  tenon_test::TemporaryFolder folder;
  std::string path;
  Module module;
};

// The kind of the error and its text.
std::string refusal(const std::string& path) {
  try {
    open_prepared(path);
  } catch (const Error& error) {
    return std::string(error.kind_name()) + ": " + error.what();
  }
  return "it was opened";
}
bool begins_with(const std::string& text, const std::string& begin) {
  if (text.compare(0, begin.size(), begin) == 0) return true;
  MESSAGE(text);
  return false;
}

}  // namespace

TEST_SUITE("lib/prepare/saved") {
  TEST_CASE("a saved model gives the bits of the prepared one, without its module") {
    const Saved saved;
    const Prepared prepared = prepare(saved.module, {{Saved::input()}});
    const Prepared opened = open_prepared(saved.path);
    CHECK_FALSE(opened.defined());
    CHECK(opened.forward_schema() == saved.module.forward_schema());
    const NoGrad no_grad;
    for (int i = 0; i < 3; ++i) {
      const Tensor x = randn({2, 2, 6, 6});
      const std::vector<Tensor> expected = call(prepared, 2, {x}), found = call(opened, 2, {x});
      for (size_t r = 0; r < 2; ++r) CHECK(same_bits(expected[r], found[r]));
    }
    CHECK(opened.listed_runs() == 3);
    const PreparedList before = prepared.lists().front(), after = opened.lists().front();
    CHECK(after.arguments == before.arguments);
    CHECK(after.calls.size() == before.calls.size());
    CHECK(after.rewrites.size() == before.rewrites.size());
    CHECK(after.peak_bytes == before.peak_bytes);
  }

  TEST_CASE("constants of a file are aligned as tensors in memory are") {
    const Saved saved;
    for (const auto& [name, tensor] : state::map_tensors(saved.path)) {
      CAPTURE(name);
      CHECK(reinterpret_cast<uintptr_t>(tensor.view_record().data) % 64 == 0);
    }
  }

  TEST_CASE("memory that an application says stays has a storage number, other memory has none") {
    float memory[4] = {1, 2, 3, 4};
    const int64_t shape = 4, stride = 1;
    const Tensor wrapped = wrap_buffer(memory, {&shape, 1}, {&stride, 1}, f32, nullptr, nullptr);
    CHECK(service::tensors().storage_number(wrapped.handle()) == 0);
    tenon_tensor* result = nullptr;
    int released = 0;
    REQUIRE(tenon_wrap_unchanging(
                TENON_F32, 1, &shape, &stride, memory, &released,
                [](void* count) { ++*static_cast<int*>(count); }, &result, nullptr) == TENON_OK);
    {
      const Tensor tensor = Tensor::take(result);
      const uint32_t number = service::tensors().storage_number(tensor.handle());
      CHECK(number != 0);
      CHECK(service::tensors().storage_number(tensor.reshape({2, 2}).handle()) == number);
      CHECK(tensor.to_vector<float>() == std::vector<float>{1, 2, 3, 4});
    }
    CHECK(released == 1);
  }

  TEST_CASE("all lists are saved, and arguments of others are refused with those that there are") {
    const Saved saved;
    const Prepared prepared = prepare(saved.module, {{randn({1, 2, 6, 6})}, {randn({3, 2, 6, 6})}});
    prepared.save(saved.path);
    const Prepared opened = open_prepared(saved.path);
    const NoGrad no_grad;
    for (const int64_t count : {1, 3}) {
      const Tensor x = randn({count, 2, 6, 6});
      CHECK(same_bits(call(opened, 2, {x})[0], call(prepared, 2, {x})[0]));
    }
    CHECK_THROWS_WITH_AS(
        call(opened, 2, {randn({4, 2, 6, 6})}),
        ("the prepared model '" + saved.path +
         "' is for other arguments: it was prepared for f32[3, 2, 6, 6]; f32[1, 2, 6, 6], and "
         "called with f32[4, 2, 6, 6]; prepare it for these, too")
            .c_str(),
        ValueError);
  }

  TEST_CASE("what a module would run as it is is refused with the reason") {
    const Saved saved;
    const Prepared opened = open_prepared(saved.path);
    CHECK_THROWS_AS(call(opened, 2, {Saved::input()}), RuntimeError);  // grad mode is on
    const NoGrad no_grad;
    CHECK_THROWS_AS(opened.call<Tensor>(Saved::input()), ValueError);  // it has two results
    CHECK(call(opened, 2, {Saved::input()}).size() == 2);
  }

  TEST_CASE("clones of an opened model compute on two threads with one copy of the weights") {
    const Saved saved;
    const Prepared opened = open_prepared(saved.path), other = opened.clone();
    const NoGrad no_grad;
    const Tensor x = Saved::input(), expected = call(opened, 2, {x})[0];
    bool same = true;
    std::thread thread([&] {
      const NoGrad no_grad_there;
      for (int i = 0; i < 50; ++i) same = same && same_bits(call(other, 2, {x})[0], expected);
    });
    for (int i = 0; i < 50; ++i) CHECK(same_bits(call(opened, 2, {x})[0], expected));
    thread.join();
    CHECK(same);
  }

  TEST_CASE("an opened model is saved again, also over its own file") {
    const Saved saved;
    const std::string before = read_text(saved.path);
    const Prepared opened = open_prepared(saved.path);
    opened.save(saved.path);
    CHECK(read_text(saved.path) == before);
    const NoGrad no_grad;
    CHECK(same_bits(call(opened, 2, {Saved::input()})[0],
                    call(open_prepared(saved.path), 2, {Saved::input()})[0]));
  }

  TEST_CASE("nothing stale is saved") {
    const Saved saved;
    const Prepared prepared = prepare(saved.module, {{Saved::input()}});
    {
      const NoGrad no_grad;
      saved.module.named_parameters(true, false).front().second.fill_(2);
    }
    const std::string before = read_text(saved.path);
    CHECK_THROWS_AS(prepared.save(saved.path), RuntimeError);
    CHECK(read_text(saved.path) == before);
    const Prepared again = prepare(saved.module, {{Saved::input()}});
    again.save(saved.path);
    const NoGrad no_grad;
    CHECK(same_bits(call(open_prepared(saved.path), 2, {Saved::input()})[0],
                    call(again, 2, {Saved::input()})[0]));
  }

  TEST_CASE("a model without a list is not saved, with the reason") {
    const Module module = create_module(Json::parse(R"({"type": "Linear", "in_features": 2,
      "out_features": 2})"));
    const tenon_test::TemporaryFolder folder;
    const std::string path = folder / "x.tenon";
    CHECK_THROWS_WITH_AS(prepare(module, {{randn({1, 2})}}).save(path),
                         ("cannot save '" + path +
                          "': the model has no list of calls: Linear is "
                          "in training mode: call eval() of the model")
                             .c_str(),
                         RuntimeError);
    CHECK_FALSE(std::filesystem::exists(path));
  }

  TEST_CASE("a list that names files is neither saved nor opened") {
    const tenon_test::TemporaryFolder folder;
    const std::string path = folder / "x.tenon";
    const Saved saved;
    saved.replace(R"("op":"nn.functional.softmax")", R"("op":"data.read_npy")");
    CHECK(begins_with(refusal(saved.path), "ValueError: '" + saved.path));
  }

  TEST_CASE("a file of another plugin, processor, boundary or format is refused by its kind") {
    struct Case {
      const char *from, *to, *refusal, *says;
    };
    const Case cases[] = {
        {"\"build-id:", "\"build-id:0", "PluginError", "was prepared with another build of plugin"},
        {R"("version":")", R"("version":"7.)", "PluginError", "another build"},
        {R"("id":"math")", R"("id":"mathematics")", "PluginError", "is not installed"},
        {R"("providers":[")", R"("providers":["fixture_)", "PluginError", ""},
        {R"("processor":")", R"("processor":"v9 )", "RuntimeError", "another processor"},
        {R"("boundary":"1)", R"("boundary":"7)", "RuntimeError", "another boundary"},
        {R"("format":1)", R"("format":2)", "ValueError", "has format 2 of prepared models"}};
    for (const Case& one : cases) {
      CAPTURE(one.from);
      const Saved saved;
      saved.replace(one.from, one.to);
      const std::string text = refusal(saved.path);
      CHECK(begins_with(text, one.refusal));
      CHECK(text.find(one.says) != std::string::npos);
    }
  }

  TEST_CASE("a plugin that provides a call by rank now refuses a list that was made for another") {
    const Saved saved;
    saved.replace(R"("providers":["nn")", R"("providers":["math")");
    CHECK(begins_with(refusal(saved.path), "PluginError: '" + saved.path + "' was prepared for"));
  }

  TEST_CASE("a file that is not a prepared model is refused") {
    const tenon_test::TemporaryFolder folder;
    const std::string path = folder / "x.tenon";
    CHECK(begins_with(refusal(path), "IOError"));
    state::write_file(path, "");
    CHECK(begins_with(refusal(path), "ValueError"));
    state::save_tensors(path, {{"x", randn({2})}});
    CHECK(begins_with(refusal(path), "ValueError: '" + path + "' is not a prepared model"));
  }

  TEST_CASE("a truncated file is refused wherever it ends") {
    const Saved saved;
    const std::string whole = read_text(saved.path);
    for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 61) {
      CAPTURE(size);
      state::write_file(saved.path, whole.substr(0, size));
      CHECK(begins_with(refusal(saved.path), "ValueError"));
    }
  }

  TEST_CASE("an inconsistent list is refused with its place") {
    struct Case {
      const char *from, *to, *says;
    };
    const Case cases[] = {
        {R"("memory":0)", R"("memory":99999)", "a number of memory must be an integer from 0"},
        {R"("kind":"argument")", R"("kind":"guess")", "is of no kind: 'guess'"},
        {R"("argument":0)", R"("argument":1)", "an argument must be an integer from 0 to 0"},
        {R"({"tensor":0})", R"({"tensor":-1})", "a tensor must be an integer from 0"},
        {R"({"tensor":0})", R"({"tensor":12345})", "a tensor must be an integer from 0"},
        {R"("op":"nn.functional.linear")", R"("op":"no.such.op")", "no.such.op"},
        {R"("shape":[2,2,6,6])", R"("shape":[2,-2,6,6])", ""},
        {R"("shape":[2,2,6,6])", R"("shape":[2,9223372036854775807,6,6])", ""},
        {R"("dtype":"f32")", R"("dtype":"f33")", "'f33' is not the name of a dtype"},
        {R"("lists":[)", R"("list":[)", "it has no lists"},
        {R"("same":[0])", R"("same":[0,0])", "its arguments are not counted right"},
        {R"("calls":[)", R"("call":[)", "it has no calls"}};
    for (const Case& one : cases) {
      CAPTURE(one.from);
      CAPTURE(one.to);
      const Saved saved;
      if (saved.document().find(one.from) == std::string::npos) {
        MESSAGE("not in the document: " << one.from);
        continue;
      }
      saved.replace(one.from, one.to);
      const std::string text = refusal(saved.path);
      CHECK(text.find("Error: ") != std::string::npos);
      CHECK(text.find(one.says) != std::string::npos);
      if (text.find(one.says) == std::string::npos) MESSAGE(text);
    }
  }

  TEST_CASE("a document with other numbers is refused, or runs within its memory") {
    const Saved saved;
    const std::string whole = saved.document();
    std::vector<size_t> digits;
    for (size_t i = whole.find("\"lists\""); i < whole.size(); ++i) {
      if (whole[i] >= '0' && whole[i] <= '9') digits.push_back(i);
    }
    std::mt19937 random(5);
    int refused = 0;
    for (int i = 0; i < 400; ++i) {
      std::string text = whole;
      for (unsigned n = 0; n < 1 + random() % 3; ++n)
        text[digits[random() % digits.size()]] = static_cast<char>('0' + random() % 10);
      saved.set_document(text);
      try {
        const Prepared opened = open_prepared(saved.path);
        const NoGrad no_grad;
        for (int run = 0; run < 3; ++run) call(opened, 2, {Saved::input()});
      } catch (const Error&) {
        ++refused;
      }
    }
    CHECK(refused > 100);
  }
}
