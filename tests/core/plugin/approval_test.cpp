// Signatures of plugins, by keys that are bound to namespaces.
#include "core/plugin/approval.hpp"

#include <cstdlib>

#include "core/base/json.hpp"
#include "core/plugin/plugin_manager.hpp"
#include "tests/core/plugin/support.hpp"

using namespace tenon::core;
using namespace tenon::core::test;

namespace {

namespace fs = std::filesystem;

bool cannot_sign() {
  if (!can_verify_signatures()) {
    MESSAGE("skipped: this build has no libsodium");
    return true;
  }
  if (std::system("command -v minisign >/dev/null 2>&1") == 0) return false;
  MESSAGE("skipped: minisign is not installed");
  return true;
}

// Keys, a folder with plugins, and a manager of it.
struct Signed {
  TemporaryFolder keys, folder;
  FakeHost host;
  FakeRegistrar registrar;
  std::unique_ptr<PluginManager> manager;

  Signed() {
    for (const char* name : {"one", "two"}) {
      run("minisign -G -W -p " + (keys / name) + ".pub -s " + (keys / name) + ".key");
    }
    SearchEnvironment environment;
    environment.plugin_path = folder.path();
    manager = std::make_unique<PluginManager>(host.table(), registrar, environment);
  }
  static void run(const std::string& command) {
    REQUIRE(std::system((command + " >/dev/null 2>&1").c_str()) == 0);
  }
  void sign(const std::string& file, const std::string& key) const {
    run("minisign -S -W -s " + (keys / key) + ".key -m " + file);
  }
  MinisignKey key(const std::string& name) const {
    const std::string text = read_file((keys / name) + ".pub");
    const size_t begin = text.find('\n') + 1;
    const auto parsed = parse_minisign_key(text.substr(begin, text.find('\n', begin) - begin));
    REQUIRE(parsed);
    return *parsed;
  }
  void bind(const std::vector<std::pair<std::string, std::vector<std::string>>>& keys_of) {
    PluginPolicy policy;
    policy.source = "config 'test.json'";
    for (const auto& [name, spaces] : keys_of) policy.keys.push_back({key(name), spaces, {}});
    manager->apply(policy);
  }
  std::string refusal(const std::string& id) {
    try {
      manager->load(id);
      return "";
    } catch (const PluginError& error) {
      return error.message;
    }
  }
};

}  // namespace

TEST_SUITE("approval") {
  TEST_CASE("a namespace is a name and all that is below it") {
    struct Row {
      const char* space;
      const char* name;
      bool inside;
    };
    const Row rows[] = {
        {"acme", "acme", true},       {"acme", "acme.add", true},  {"acme", "acme.nn.f", true},
        {"acme", "acmebank", false},  {"acme", "acme_x", false},   {"acme", "my.acme.add", false},
        {"acme.", "acme", true},      {"acme.", "acme.add", true}, {"acme.", "acmebank", false},
        {"acme.*", "acme.add", true}, {"acme.*", "acme", true},    {"acme.*", "acmebank", false},
        {"*", "anything", true},      {"*", "a.b", true},          {"ac*", "acmebank", true},
        {"acme.nn", "acme.nn", true}, {"acme.nn", "acme", false},  {"acme.nn", "acme.nnn", false},
    };
    for (const Row& row : rows) {
      INFO(row.space, " ", row.name);
      CHECK(is_in_namespace(row.space, row.name) == row.inside);
    }
  }

  TEST_CASE("a plugin in a bound namespace needs a signature, and others do not") {
    if (cannot_sign()) return;
    Signed world;
    const std::string file = world.folder.add("plain");
    world.folder.add("slow");
    world.bind({{"one", {"plain"}}});
    CHECK(contains(world.refusal("plain"), "it has no signature"));
    CHECK(contains(world.refusal("plain"), "minisign -S -m '" + file + "'"));
    CHECK(contains(world.refusal("plain"), key_id_text(world.key("one").id)));
    CHECK(world.refusal("slow") == "");
    world.sign(file, "one");
    CHECK(world.refusal("plain") == "");
    CHECK(world.manager->ensure_op("plain.add_one"));
  }

  TEST_CASE("a listing says what is refused") {
    if (cannot_sign()) return;
    Signed world;
    world.folder.add("plain");
    world.bind({{"one", {"*"}}});
    CHECK(world.manager->list().at(0).state == PluginState::Failed);
    CHECK(contains(world.manager->list().at(0).reason, "it has no signature"));
  }

  TEST_CASE("the key must be bound to what the plugin declares, not only be known") {
    if (cannot_sign()) return;
    Signed world;
    const std::string file = world.folder.add("plain");
    world.sign(file, "two");
    world.bind({{"one", {"plain."}}, {"two", {"other"}}});
    CHECK(contains(world.refusal("plain"), "it was made with another key"));
    world.bind({{"two", {"plain.add_one"}}});
    // Its id is still for the first key alone.
    CHECK(contains(world.refusal("plain"), "the namespace of its id"));
    world.bind({{"two", {"plain"}}});
    CHECK(world.refusal("plain") == "");
  }

  TEST_CASE(
      "an op, module, type or override in a namespace counts, whatever the plugin is called") {
    if (cannot_sign()) return;
    for (const auto& [space, what] :
         {std::pair("slow.second", "op 'slow.second'"), std::pair("Slow", "module 'Slow'")}) {
      Signed world;
      world.folder.add("slow");
      world.bind({{"one", {space}}});
      CHECK(contains(world.refusal("slow"), std::string("the namespace of ") + what));
    }
    Signed world;
    const std::string plain = world.folder.add("duplicate");
    const PluginFacts facts = read_facts(FileSource(plain), plain);
    PluginFacts overriding = facts;
    overriding.id = "stranger";
    overriding.ops.clear();
    OverrideFacts entry;
    entry.schema = "acme.add(Tensor a, Tensor b) -> Tensor";
    entry.types = "Mine";
    entry.key = override_key(entry.schema, entry.types);
    overriding.overrides = {entry};
    PluginPolicy policy;
    policy.keys = {{world.key("one"), {"acme"}, {}}};
    const std::vector<PluginPolicy> policies = {policy};
    const PluginFailure failure = failure_of(
        [&] { Approval(policies).require_signature(overriding, plain, FileSource(plain)); });
    CHECK(contains(failure.expected, "override acme.add[Mine]"));
    overriding.overrides[0].schema = "other.add(Tensor a, Tensor b) -> Tensor";
    CHECK_NOTHROW(Approval(policies).require_signature(overriding, plain, FileSource(plain)));
  }

  TEST_CASE("the bytes that are mapped are those that are signed") {
    if (cannot_sign()) return;
    Signed world;
    const std::string file = world.folder.add("plain");
    world.sign(file, "one");
    world.bind({{"one", {"*"}}});
    std::string bytes = read_file(file);
    write_file(file, bytes + "x");
    CHECK(contains(world.refusal("plain"), "it is not a signature of these bytes"));
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_file(file, bytes);
    CHECK(contains(world.refusal("plain"), "it is not a signature of these bytes"));
    write_file(file + ".minisig", "nonsense");
    CHECK(contains(world.refusal("plain"), "is not a signature: line 1"));
    write_file(file + ".minisig", std::string(100000, 'x'));
    CHECK(contains(world.refusal("plain"), "it has more than 16384 bytes"));
  }
}
