// Facts are read from good files, and nothing bad happens with any other.
#include "core/plugin/facts_reader.hpp"

#include <algorithm>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "core/plugin/elf_notes.hpp"
#include "tests/core/plugin/support.hpp"

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

PluginFailure refusal_of_payload(const std::string& payload) {
  return refusal(make_elf({plugin_payload(), payload}));
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
    refusal_of_payload(R"j({"op":{"schema":"x.f() -> ()","samples":[1]}})j");
  }

  TEST_CASE("the facts of a plain C plugin are read from its file") {
    const FactsFile file = read_facts_file(fixture("plain"));
    CHECK(file.facts->id == "plain");
    CHECK(file.facts->version == "1.2.0");
    CHECK(file.facts->abi_major == 1);
    CHECK(file.facts->abi_minor == 0);
    CHECK(file.facts->license == "MIT");
    CHECK(file.facts->compiler == "C");
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
    CHECK(facts.ops[0].differentiable == "formula");
    CHECK(facts.ops[0].jvp == "rule");
    CHECK(facts.ops[0].flags == 1);
    CHECK(facts.ops[1].name() == "a.b_2.c");
    REQUIRE(facts.modules.size() == 1);
    CHECK(facts.modules[0].name() == "Linear");
    CHECK(facts.modules[0].doc == "A layer.\nTwo lines.");
  }

  TEST_CASE("zeros between notes, as sanitizers leave them, are passed over") {
    const std::string other = R"j({"op":{"schema":"f()"}})j";
    for (size_t padding : {4u, 8u, 12u, 20u, 60u}) {
      CHECK(facts_in(make_elf({plugin_payload(), other}, padding)).ops.size() == 1);
    }
  }

  TEST_CASE("a file that is cut at any byte is refused") {
    for (const std::string& whole : {read_file(fixture("plain")), make_elf({plugin_payload()})}) {
      CHECK_NOTHROW(facts_in(whole));
      for (size_t size = 0; size < whole.size(); ++size) {
        CAPTURE(size);
        CHECK_THROWS_AS(facts_in(whole.substr(0, size)), PluginError);
      }
    }
    CHECK(contains(refusal("").problem, "the file is empty"));
    CHECK(contains(refusal(read_file(fixture("plain")).substr(0, 3000)).problem, "truncated"));
  }

  TEST_CASE("a file with any byte changed is read or refused, no more") {
    const std::string whole = make_elf({plugin_payload(), R"j({"op":{"schema":"f(int x=1)"}})j"});
    int refused = 0;
    for (size_t offset = 0; offset < whole.size(); ++offset) {
      for (int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        try {
          facts_in(patched(whole, offset, static_cast<char>(value)));
        } catch (const PluginError&) {
          ++refused;
        }
      }
    }
    CHECK(refused > 500);
  }

  TEST_CASE("files that are not a shared library for this machine each have a message") {
    const std::string good = make_elf({plugin_payload()});
    CHECK(contains(refusal("#!/bin/sh\nexit 0\n").problem, "a script"));
    CHECK(contains(refusal("!<arch>\n").problem, "a static library"));
    CHECK(contains(refusal("hello, this is a text file").problem, "not an ELF file"));
    CHECK(contains(refusal(patched(good, EI_CLASS, char{ELFCLASS32})).problem, "32-bit"));
    CHECK(contains(refusal(patched(good, EI_DATA, char{ELFDATA2MSB})).problem, "big-endian"));
    CHECK(contains(refusal(patched(good, EI_CLASS, char{9})).problem, "damaged"));
    const size_t type = offsetof(Elf64_Ehdr, e_type);
    CHECK(contains(refusal(patched(good, type, uint16_t{ET_REL})).problem, "an object file"));
    CHECK(contains(refusal(patched(good, type, uint16_t{ET_EXEC})).problem, "a program"));
    CHECK(contains(refusal(patched(good, type, uint16_t{ET_CORE})).problem, "a core dump"));
#if defined(__x86_64__)
    const auto other = uint16_t{EM_AARCH64};
    CHECK(refusal(patched(good, offsetof(Elf64_Ehdr, e_machine), other)).problem ==
          "built for aarch64, this machine is x86-64");
#endif
  }

  TEST_CASE("forged sizes and offsets are refused without being believed") {
    const std::string good = make_elf({plugin_payload()});
    constexpr uint64_t kHuge = UINT64_MAX - 8;
    const auto header = [&](size_t field, auto value) { return patched(good, field, value); };
    refusal(header(offsetof(Elf64_Ehdr, e_phoff), kHuge));
    refusal(header(offsetof(Elf64_Ehdr, e_phoff), uint64_t{good.size()}));
    refusal(header(offsetof(Elf64_Ehdr, e_phnum), uint16_t{0}));
    refusal(header(offsetof(Elf64_Ehdr, e_phnum), uint16_t{0xffff}));
    refusal(header(offsetof(Elf64_Ehdr, e_phentsize), uint16_t{1}));
    refusal(header(offsetof(Elf64_Ehdr, e_shoff), kHuge));
    for (size_t index = 0; index < 3; ++index) {
      const size_t segment = sizeof(Elf64_Ehdr) + index * sizeof(Elf64_Phdr);
      refusal(patched(good, segment + offsetof(Elf64_Phdr, p_offset), kHuge));
      refusal(patched(good, segment + offsetof(Elf64_Phdr, p_filesz), kHuge));
      refusal(patched(good, segment + offsetof(Elf64_Phdr, p_filesz), uint64_t{1} << 40));
    }
    const size_t note = good.find("Tenon") - offsetof(tenon_facts_header, owner);
    const auto fact = [&](size_t field, uint32_t value) {
      return patched(good, note + field, value);
    };
    CHECK(contains(refusal(fact(offsetof(tenon_facts_header, name_size), UINT32_MAX)).problem,
                   "past the end of its segment"));
    refusal(fact(offsetof(tenon_facts_header, descriptor_size), UINT32_MAX));
    refusal(fact(offsetof(tenon_facts_header, descriptor_size), 4));
    CHECK(contains(refusal(fact(offsetof(tenon_facts_header, payload_length), 1u << 20)).problem,
                   "wrong length"));
    CHECK(contains(refusal(fact(offsetof(tenon_facts_header, checksum), 1)).problem, "checksum"));
    const PluginFailure format = refusal(fact(offsetof(tenon_facts_header, format), 9));
    CHECK(format.expected == "format 1");
    CHECK(format.found == "9");
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

  TEST_CASE("a library without facts differs from one that a tool took them from") {
    CHECK(contains(failure_of([] { read_facts_file(fixture("no_facts")); }).problem,
                   "not a Tenon plugin"));
    std::string moved = read_file(fixture("plain"));
    Elf64_Ehdr header;
    std::memcpy(&header, moved.data(), sizeof header);
    for (size_t i = 0; i < header.e_phnum; ++i) {
      const size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
      uint32_t type;
      std::memcpy(&type, moved.data() + at, sizeof type);
      if (type == PT_NOTE) moved = patched(moved, at, uint32_t{PT_NULL});
    }
    CHECK(contains(refusal(moved).problem, "patchelf"));
  }

  TEST_CASE("facts of the wrong form are refused with what is wrong") {
    CHECK(contains(refusal_of_payload("{").problem, "not JSON"));
    CHECK(contains(refusal_of_payload("[1]").problem, "not a JSON object"));
    CHECK(contains(refusal_of_payload(R"({"op":1})").problem, "\"op\" is not a JSON object"));
    CHECK(contains(refusal_of_payload(R"({"op":{}})").problem,
                   "\"schema\" of its fact \"op\" is missing"));
    CHECK(contains(refusal_of_payload(R"({"op":{"schema":3}})").problem, "not a string"));
    CHECK(contains(refusal_of_payload(R"({"op":{"schema":"add"}})").problem, "begin with a name"));
    CHECK(contains(refusal_of_payload(R"j({"op":{"schema":"1add()"}})j").problem,
                   "begin with a name"));
    CHECK(contains(refusal_of_payload(R"j({"op":{"schema":"a..b()"}})j").problem,
                   "begin with a name"));
    CHECK(contains(refusal_of_payload(R"j({"op":{"schema":"f()","doc":"\u001b[2J"}})j").problem,
                   "control characters"));
    CHECK(contains(refusal_of_payload(R"j({"op":{"schema":"f()","flags":"x"}})j").problem,
                   "not an integer"));
    CHECK(contains(refusal_of_payload(R"j({"op":{"schema":"f()","schema":"g()"}})j").problem,
                   "not JSON"));
    CHECK(contains(refusal_of_payload(plugin_payload()).problem, "two facts"));
    CHECK(contains(refusal(make_elf({R"j({"op":{"schema":"f()"}})j"})).problem, "but no plugin"));
    CHECK(contains(refusal(make_elf({plugin_payload(), R"j({"op":{"schema":"f()"}})j",
                                     R"j({"op":{"schema":"f(int x)"}})j"}))
                       .problem,
                   "op 'f' twice"));
    const auto plugin = [](const std::string& text) {
      return refusal(make_elf({"{\"plugin\":{" + text + "}}"})).problem;
    };
    CHECK(contains(plugin(R"("version":"1.0.0","abi":[1,0])"), "\"id\""));
    CHECK(contains(plugin(R"("id":"../x","version":"1.0.0","abi":[1,0])"), "plugin id"));
    CHECK(contains(plugin(R"("id":"x","version":"one","abi":[1,0])"), "semantic version"));
    CHECK(contains(plugin(R"("id":"x","version":"1.0.0")"), "[major, minor]"));
    CHECK(contains(plugin(R"("id":"x","version":"1.0.0","abi":[1])"), "[major, minor]"));
    CHECK(contains(plugin(R"("id":"x","version":"1.0.0","abi":[1,-1])"), "[major, minor]"));
    CHECK(contains(plugin(R"("id":"x","version":"1.0.0","abi":["1",0])"), "[major, minor]"));
  }

  TEST_CASE("the fixtures with bad facts are refused from their files") {
    CHECK(
        contains(failure_of([] { read_facts_file(fixture("bad_checksum")); }).problem, "checksum"));
    CHECK(contains(failure_of([] { read_facts_file(fixture("bad_json")); }).problem, "not JSON"));
  }

  TEST_CASE("what is not a regular readable file is refused at once") {
    const TemporaryFolder folder;
    const auto refused = [&](const std::string& path) {
      PluginFailure failure = failure_of([&] { read_facts_file(path); });
      CHECK(failure.path == path);
      return failure;
    };
    const PluginFailure missing = refused(folder / "none.so");
    CHECK(missing.stage == PluginStage::Find);
    CHECK(contains(missing.problem, "no such file"));
    CHECK(contains(refused(folder.path()).problem, "a folder"));
    REQUIRE(::mkfifo((folder / "pipe.so").c_str(), 0600) == 0);
    CHECK(contains(refused(folder / "pipe.so").problem, "a named pipe"));
    CHECK(contains(refused("/dev/zero").problem, "a device"));
    CHECK(refused(fixture("plain") + "/x").stage == PluginStage::Find);
    write_file(folder / "secret.so", "x");
    ::chmod((folder / "secret.so").c_str(), 0);
    // Root may read everything.
    CHECK(contains(refused(folder / "secret.so").problem,
                   ::geteuid() == 0 ? "not an ELF file" : "cannot open it"));
    // A link to a plugin is as good as the plugin.
    std::filesystem::create_symlink(fixture("plain"), folder / "link.so");
    CHECK(read_facts_file(folder / "link.so").facts->id == "plain");
    std::filesystem::create_symlink(folder / "loop.so", folder / "loop.so");
    CHECK(refused(folder / "loop.so").stage == PluginStage::Read);
  }

  TEST_CASE("a file of a thousand ops is read whole") {
    CHECK(read_facts_file(fixture("thousand")).facts->ops.size() == 1000);
  }
}
