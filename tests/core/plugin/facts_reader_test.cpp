// Facts are read from good files, and nothing bad happens with any other.
#include "core/plugin/facts/facts_reader.hpp"

#include <algorithm>

#include "tests/core/plugin/support.hpp"
#include "tests/support/memory_source.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

PluginFacts facts_in(const std::string& bytes) {
  return read_facts(MemorySource(bytes), "/x/y.so");
}

PluginFailure refusal(const std::string& bytes) {
  PluginFailure failure = failure_of([&] { facts_in(bytes); });
  CHECK(failure.stage == PluginStage::Read);
  CHECK(failure.path == "/x/y.so");
  CHECK(!failure.remedy.empty());
  return failure;
}

template <class Value>
std::string patched(std::string bytes, size_t offset, Value value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

}  // namespace

TEST_SUITE("facts reader") {
  TEST_CASE("samples are returned as text, whatever is in it") {
    const PluginFacts facts = facts_in(make_elf(
        {plugin_payload(),
         R"j({"op":{"schema":"x.f(Tensor input) -> Tensor","samples":"[{\"input\": 3}]"}})j",
         R"j({"module":{"schema":"M(int n)","samples":"not JSON\n"}})j"}));
    CHECK(facts.ops[0].samples == R"j([{"input": 3}])j");
    CHECK(facts.modules[0].samples == "not JSON\n");
  }

  TEST_CASE("the facts of a plain C plugin are read from its file") {
    const FactsFile file = read_facts_file(fixture("plain"));
    CHECK(file.facts->id == "plain");
    CHECK(file.facts->version == "1.2.0");
    CHECK(file.facts->abi_major == 1);
    CHECK(file.facts->abi_minor == 0);
    CHECK_FALSE(file.facts->compiler.empty());
    CHECK(file.facts->ops[0].flags == 0);
    const FactsFile typed = read_facts_file(fixture("slow"));
    CHECK(typed.facts->license == "MIT");
    CHECK(typed.facts->compiler == "C");
    REQUIRE(file.facts->ops.size() == 1);
    CHECK(file.facts->ops[0].schema == "plain.add_one(Tensor input) -> Tensor");
    CHECK(file.facts->ops[0].name() == "plain.add_one");
    CHECK(file.facts->ops[0].doc == "Adds one to each element.");
    CHECK(file.facts->ops[0].differentiable == "none");
    CHECK(file.facts->ops[0].jvp == "none");
    CHECK(file.stamp.size == std::filesystem::file_size(fixture("plain")));
  }

  TEST_CASE("ops, modules, defaults and unknown keys of facts are taken as meant") {
    const PluginFacts facts = facts_in(make_elf(
        {R"({"op":{"schema":"f(Tensor x) -> Tensor","differentiable":"formula","jvp":"rule","flags":1,"new":[]}})",
         plugin_payload(),
         R"j({"module":{"schema":"Linear(int n)","doc":"A layer.\nTwo lines."}})j",
         R"({"later":{"name":"of a later SDK"}})", R"j({"op":{"schema":"a.b_2.c () -> ()"}})j"}));
    REQUIRE(facts.ops.size() == 2);
    // By name, in whatever order the file has them.
    CHECK(facts.ops[0].name() == "a.b_2.c");
    CHECK(facts.ops[1].differentiable == "formula");
    CHECK(facts.ops[1].jvp == "rule");
    CHECK(facts.ops[1].flags == 1);
    REQUIRE(facts.modules.size() == 1);
    CHECK(facts.modules[0].name() == "Linear");
    CHECK(facts.modules[0].doc == "A layer.\nTwo lines.");
  }

  TEST_CASE("many program headers that show the same notes do not multiply the work") {
    std::string payload(60000, ' ');
    payload.replace(0, plugin_payload().size(), plugin_payload());
    const std::string elf = make_elf({payload});
    std::vector<Elf64_Phdr> headers(1000);
    std::memcpy(headers.data(), elf.data() + sizeof(Elf64_Ehdr), 3 * sizeof(Elf64_Phdr));
    std::fill(headers.begin() + 3, headers.end(), headers[2]);
    std::string forged = patched(elf, offsetof(Elf64_Ehdr, e_phoff), uint64_t{elf.size()});
    forged = patched(forged, offsetof(Elf64_Ehdr, e_phnum), uint16_t{1000});
    forged.append(reinterpret_cast<const char*>(headers.data()),
                  headers.size() * sizeof(Elf64_Phdr));
    // Found by the second copy of the fact, or else by the sum of the sizes.
    refusal(forged);
  }

  TEST_CASE("facts without a plugin, and an op twice, are refused") {
    const PluginFailure forgotten = refusal(make_elf({R"j({"op":{"schema":"f()"}})j"}));
    CHECK(contains(forgotten.problem, "but no plugin"));
    CHECK(contains(forgotten.remedy, "write TENON_PLUGIN(id"));
    CHECK(contains(refusal(make_elf({plugin_payload(), R"j({"op":{"schema":"f()"}})j",
                                     R"j({"op":{"schema":"f(int x)"}})j"}))
                       .problem,
                   "op 'f' twice"));
  }

  TEST_CASE("F-099 an op and a module may share a name, two of a kind may not") {
    const std::string op = R"j({"op":{"schema":"linear(Tensor x) -> Tensor"}})j",
                      module = R"j({"module":{"schema":"linear(int n)"}})j";
    const PluginFacts facts = facts_in(make_elf({plugin_payload(), op, module}));
    CHECK(facts.ops.size() == 1);
    CHECK(facts.modules.size() == 1);
    CHECK(contains(refusal(make_elf({plugin_payload(), op, module, op})).problem,
                   "op 'linear' twice"));
    CHECK(contains(refusal(make_elf({plugin_payload(), op, module, module})).problem,
                   "module 'linear' twice"));
  }

  TEST_CASE("the fixtures with bad facts are refused from their files") {
    CHECK(
        contains(failure_of([] { read_facts_file(fixture("bad_checksum")); }).problem, "checksum"));
    CHECK(contains(failure_of([] { read_facts_file(fixture("bad_json")); }).problem, "not JSON"));
  }

  TEST_CASE("a file of a thousand ops is read whole") {
    CHECK(read_facts_file(fixture("thousand")).facts->ops.size() == 1000);
  }
}
