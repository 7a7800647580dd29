// Each stage of a load fails with its own words; good plugins of every make work side by side.
#include "core/plugin/load/load_plugin.hpp"
#include "core/plugin/load/table_check.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

// Without a guard, and trusting the folder of the fixtures.
void open_fixture(const FakeHost& host, const std::string& path, const tenon_json* options,
                  OpenedPlugin& opened) {
  const FactsFile file = read_facts_file(path);
  Opening opening;
  opening.plugin = file.facts->id;
  opening.found.path = path;
  opening.found.facts = file.facts;
  opening.found.stamp = file.stamp;
  opening.terms.trust = PathTrust({"/"});
  if (options != nullptr) opening.terms.pinned.options = Json(options);
  open_plugin(opening, host.table(), opened);
}

LoadedPlugin load_file(const FakeHost& host, const std::string& path,
                       const tenon_json* options = nullptr) {
  OpenedPlugin opened;
  open_fixture(host, path, options, opened);
  return opened.loaded;
}

PluginFailure refusal(const std::string& name, const tenon_json* options = nullptr) {
  const FakeHost host;
  PluginFailure failure = failure_of([&] { load_file(host, fixture(name), options); });
  CHECK(failure.plugin == name);
  CHECK(failure.path == fixture(name));
  CHECK(!failure.remedy.empty());
  CHECK(contains(failure.text(), std::string("at stage ") + plugin_stage_text(failure.stage)));
  return failure;
}

tenon_value tensor_argument(tenon_tensor_view& view) {
  tenon_value value{};
  value.tag = TENON_VALUE_TENSOR;
  value.as.tensor = reinterpret_cast<tenon_tensor*>(&view);
  return value;
}

}  // namespace

TEST_SUITE("loader") {
  TEST_CASE("a plain C plugin loads, and its op runs on host memory") {
    const FakeHost host;
    const LoadedPlugin plugin = load_file(host, fixture("plain"));
    REQUIRE(plugin.table->op_count == 1);
    std::vector<float> data{1, 2, 3, 4, 5, 6};
    const std::vector<int64_t> shape{3, 2};
    const std::vector<int64_t> strides{1, 3};  // a transposed view
    tenon_tensor_view view{};
    view.data = data.data();
    view.shape = shape.data();
    view.strides = strides.data();
    view.count = 6;
    view.dtype = TENON_F32;
    view.rank = 2;
    tenon_value argument = tensor_argument(view);
    tenon_value result{};
    const tenon_op_descriptor& op = *plugin.table->ops[0];
    REQUIRE(op.run(op.self, nullptr, &argument, &result, nullptr) == TENON_OK);
    const auto* output = static_cast<const float*>(tenon_tensor_get_view(result.as.tensor)->data);
    CHECK(std::vector<float>(output, output + 6) == std::vector<float>{2, 5, 3, 6, 4, 7});

    view.dtype = TENON_I32;
    tenon_error* error = nullptr;
    CHECK(op.run(op.self, nullptr, &argument, &result, &error) == TENON_ERROR_TYPE);
    REQUIRE(error != nullptr);
    CHECK(error->error.message == "plain.add_one takes f32 tensors only");
    delete error;
  }

  TEST_CASE("a plugin of Clang and libc++ throws and allocates inside, beside the others") {
    if (!std::filesystem::exists(fixture("libcxx"))) return;
    const FakeHost host;
    const LoadedPlugin plugin = load_file(host, fixture("libcxx"));
    const tenon_op_descriptor& op = *plugin.table->ops[0];
    tenon_value argument{};
    argument.tag = TENON_VALUE_INT;
    argument.as.integer = 3;
    tenon_value result{};
    REQUIRE(op.run(op.self, nullptr, &argument, &result, nullptr) == TENON_OK);
    CHECK(std::string(result.as.string, result.length) == "word word word");
    argument.as.integer = -1;
    tenon_error* error = nullptr;
    CHECK(op.run(op.self, nullptr, &argument, &result, &error) == TENON_ERROR_INDEX);
    REQUIRE(error != nullptr);
    CHECK(error->error.message == "count is negative");
    delete error;
  }

  TEST_CASE("another ABI major is read from the file, naming both and the remedy") {
    const PluginFailure failure = refusal("abi_major");
    CHECK(failure.stage == PluginStage::Version);
    CHECK(failure.expected == "ABI 1.0");
    CHECK(failure.found == "ABI 2.0");
    CHECK(contains(failure.problem, "newer"));
    CHECK(contains(failure.remedy, "update Tenon"));
  }

  TEST_CASE("a newer minor is read from the file, naming the macro that lowers it") {
    const PluginFailure failure = refusal("abi_minor");
    CHECK(failure.stage == PluginStage::Version);
    CHECK(failure.found == "ABI 1.99");
    CHECK(contains(failure.remedy, "TENON_TARGET_MINOR=0"));
  }

  TEST_CASE("the range of minors that a host serves is named, and an older major too") {
    FakeHost host;
    host.change().abi_minor = 3;
    CHECK(!judge_abi(host.table(), "x", "/x.so", 1, 0));
    CHECK(!judge_abi(host.table(), "x", "/x.so", 1, 3));
    CHECK(judge_abi(host.table(), "x", "/x.so", 1, 4)->expected == "ABI 1.0 to 1.3");
    CHECK(contains(judge_abi(host.table(), "x", "/x.so", 0, 9)->problem, "older"));
  }

  TEST_CASE("the table is judged in the same words as the file") {
    const PluginFailure failure = refusal("abi_table");
    const PluginFailure from_file = refusal("abi_minor");
    CHECK(failure.stage == from_file.stage);
    CHECK(failure.problem == from_file.problem);
    CHECK(failure.expected == from_file.expected);
    CHECK(failure.found == from_file.found);
    CHECK(failure.remedy == from_file.remedy);
    CHECK(contains(refusal("small_table").problem, "too small"));
    CHECK(refusal("small_table").found == "8");
  }

  TEST_CASE("a plugin with an undefined function shows the system loader's own text") {
    const PluginFailure failure = refusal("missing_symbol");
    CHECK(failure.stage == PluginStage::Open);
    CHECK(contains(failure.problem, "undefined symbol: function_that_nobody_wrote"));
    CHECK(!contains(failure.problem, "boost"));
    CHECK(contains(failure.remedy, "-z defs"));
  }

  TEST_CASE("a file that only looks like a library is refused by the system's loader") {
    const TemporaryFolder folder;
    const FakeHost host;
    const std::string path = folder / "odd.so";
    std::string bytes = read_file(fixture("plain"));
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    // A segment of constants is to be mapped where a segment cannot begin. The first one has what is read of
    // a file before.
    for (size_t i = 1; i < header.e_phnum; ++i) {
      char* const place = bytes.data() + header.e_phoff + i * sizeof(Elf64_Phdr);
      Elf64_Phdr segment;
      std::memcpy(&segment, place, sizeof segment);
      if (segment.p_type == PT_LOAD && segment.p_flags == PF_R) segment.p_vaddr += 8;
      std::memcpy(place, &segment, sizeof segment);
    }
    write_file(path, bytes);
    const PluginFailure failure = failure_of([&] { load_file(host, path); });
    CHECK(failure.stage == PluginStage::Open);
    CHECK(contains(failure.problem, path));
  }

  TEST_CASE("a plugin without an entry, or with only another library's, is refused") {
    CHECK(refusal("no_entry").stage == PluginStage::Symbol);
    CHECK(contains(refusal("no_entry").problem, "no symbol tenon_plugin_entry"));
    const PluginFailure borrowed = refusal("borrowed_entry");
    CHECK(borrowed.stage == PluginStage::Symbol);
    CHECK(contains(borrowed.problem, "of a library that it links"));
    CHECK(contains(borrowed.found, "plain.so"));
  }

  TEST_CASE(
      "an entry or init that refuses is reported with the plugin's own message as the cause") {
    const PluginFailure entry = refusal("entry_fails");
    CHECK(entry.stage == PluginStage::Init);
    CHECK(contains(entry.problem, "its entry failed: this machine has no licence dongle"));
    CHECK(contains(refusal("init_fails").problem, "its init failed: cannot reach the device"));
    const FakeHost host;
    try {
      load_file(host, fixture("init_fails"));
    } catch (const PluginError& error) {
      REQUIRE(error.cause != nullptr);
      CHECK(error.cause->error.kind == TENON_ERROR_IO);
      CHECK(error.cause->error.message == "cannot reach the device");
    }
    const Json options = parse_json("{}");
    CHECK(contains(refusal("init_fails", options.get()).problem, "(IOError) and no message"));
    CHECK(contains(refusal("plain", options.get()).problem, "takes no options"));
  }

  TEST_CASE("exceptions of a plugin end at the boundary, of whichever runtime they are") {
    CHECK(contains(refusal("entry_throws").problem, "its entry threw an exception: lost my way"));
    CHECK(contains(refusal("init_throws").problem, "its init threw an exception of unknown type"));
    CHECK(refusal("init_throws").stage == PluginStage::Init);
    if (!std::filesystem::exists(fixture("libcxx_throws"))) return;
    CHECK(contains(refusal("libcxx_throws").problem, "its entry threw an exception"));
  }

  TEST_CASE("a plugin that registers other than it declares is refused with every difference") {
    const PluginFailure failure = refusal("undeclared");
    CHECK(failure.stage == PluginStage::Register);
    CHECK(contains(failure.problem,
                   "declared but not registered: undeclared.lost, module Lost; "
                   "registered but not declared: undeclared.added; "
                   "changed: "));
    CHECK(contains(failure.problem,
                   "undeclared.kept (differentiable 'none' declared, 'composite' registered)"));
    CHECK(contains(
        failure.problem,
        "undeclared.changed (schema 'undeclared.changed(Tensor input) -> Tensor' declared, "
        "'undeclared.changed(Tensor input, int dim) -> Tensor' registered)"));
    CHECK(contains(refusal("other_id").problem, "another id"));
    CHECK(refusal("other_id").expected == "'other_id'");
    CHECK(refusal("other_id").found == "'renamed'");
    CHECK(contains(refusal("bad_descriptor").problem, "neither run nor elementwise"));
  }

  TEST_CASE("the loader reports whether code of the plugin may have run") {
    const FakeHost host;
    const auto opened = [&](const std::string& name) {
      OpenedPlugin result;
      CHECK_THROWS_AS(open_fixture(host, fixture(name), nullptr, result), PluginError);
      return result.loaded.library != nullptr;
    };
    CHECK(!opened("abi_major"));
    CHECK(!opened("missing_symbol"));
    CHECK(opened("no_entry"));
    CHECK(opened("init_fails"));
  }

  TEST_CASE("a thousand ops load") {
    const FakeHost host;
    CHECK(load_file(host, fixture("thousand")).table->op_count == 1000);
  }
}
