// Signatures of plugins, by keys that are bound to namespaces.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <tenon/listing/listing.hpp>
#include <tenon/trust/signed_names.hpp>

#include "tests/lib/trust/support.hpp"

using namespace tenon::trust;
using namespace trust_test;

namespace {

bool cannot_sign() {
  if (std::system("command -v minisign >/dev/null 2>&1") == 0) return false;
  MESSAGE("skipped: minisign is not installed");
  return true;
}

// Keys, and a folder with plugins.
struct Signed {
  TemporaryFolder keys, folder;
  std::string policy;  // `keys` of the config

  Signed() {
    for (const char* name : {"one", "two"})
      run("minisign -G -W -p " + (keys / name) + ".pub -s " + (keys / name) + ".key");
  }
  static void run(const std::string& command) {
    REQUIRE(std::system((command + " >/dev/null 2>&1").c_str()) == 0);
  }
  void sign(const std::string& file, const std::string& key) const {
    run("minisign -S -W -s " + (keys / key) + ".key -m " + file);
  }
  std::string key_text(const std::string& name) const {
    const std::string text = read_file((keys / name) + ".pub");
    const size_t begin = text.find('\n') + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  MinisignKey key(const std::string& name) const {
    const auto parsed = parse_minisign_key(key_text(name));
    REQUIRE(parsed);
    return *parsed;
  }
  using Binding = std::vector<std::pair<std::string, std::vector<std::string>>>;
  void bind(const Binding& keys_of) {
    tenon::JsonArray list;
    for (const auto& [name, spaces] : keys_of) {
      tenon::JsonArray names;
      for (const std::string& space : spaces) names.add(space);
      list.add(
          tenon::JsonObject().set("key", key_text(name)).set("namespaces", names.json()).json());
    }
    policy = tenon::JsonObject().set("keys", list.json()).json().dump();
  }
  // In a process with that policy.
  std::string in_process(const std::function<std::string()>& body) const {
    return in_child([&] {
      GuardOptions options;
      options.state_folder.clear();
      install(options);
      tenon::add_plugin_path(folder.path());
      tenon::apply_policy(Json::parse(policy));
      return body();
    });
  }
  std::string refusal(const std::string& id) const {
    return in_process([&] {
      tenon::load_plugin(id);
      return std::string();
    });
  }
};

}  // namespace

TEST_SUITE("trust/signed_names") {
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
    const std::string refusal = world.refusal("plain");
    CHECK(contains(refusal, "it has no signature"));
    CHECK(contains(refusal, "minisign -S -m '" + file + "'"));
    CHECK(contains(refusal, key_id_text(world.key("one").id)));
    CHECK(world.refusal("slow") == "");
    world.sign(file, "one");
    CHECK(world.refusal("plain") == "");
    CHECK(world.in_process([] {
      static_cast<void>(tenon::Op("plain.add_one"));
      return std::string("found");
    }) == "found");
  }

  TEST_CASE("a listing shows what is refused") {
    if (cannot_sign()) return;
    Signed world;
    world.folder.add("plain");
    world.bind({{"one", {"plain"}}});
    const std::string listed = world.in_process([] {
      const Json plugin = tenon::listing::plugin("plain");
      return plugin["state"].text() + ": " + plugin["reason"].text();
    });
    CHECK(contains(listed, "failed: "));
    CHECK(contains(listed, "it has no signature"));
  }

  TEST_CASE("the key must be bound to what the plugin declares, not only be known") {
    if (cannot_sign()) return;
    Signed world;
    const std::string file = world.folder.add("plain");
    world.sign(file, "two");
    world.bind({{"one", {"plain."}}, {"two", {"other"}}});
    CHECK(contains(world.refusal("plain"), "it was made with another key"));
    world.bind({{"two", {"plain.add_one"}}, {"one", {"plain"}}});
    // Its id is for the first key alone.
    CHECK(contains(world.refusal("plain"), "the namespace of its id"));
    world.bind({{"two", {"plain"}}, {"one", {"plain"}}});
    CHECK(world.refusal("plain") == "");
  }

  TEST_CASE(
      "an op, module, type or override in a namespace counts, whatever the plugin is called") {
    if (cannot_sign()) return;
    for (const auto& [space, claim] :
         {std::pair("slow.second", "op 'slow.second'"), std::pair("Slow", "module 'Slow'")}) {
      Signed world;
      world.folder.add("slow");
      world.bind({{"one", {space}}});
      CHECK(contains(world.refusal("slow"), std::string("the namespace of ") + claim));
    }
    Signed world;
    const std::string plain = world.folder.add("duplicate");
    const std::string bytes = read_file(plain);
    const auto facts = [](const std::string& op) {
      return Json::parse(
          R"({"id": "stranger", "ops": [], "modules": [], "types": [{"name": "Mine"}],
          "overrides": [{"name": "acme.add[Mine]", "schema": ")" +
          op + R"((Tensor a, Tensor b) -> Tensor"}]})");
    };
    const std::vector<BoundKey> keys = {{world.key("one"), {"acme"}, ""}};
    const SignedFile file{"stranger", plain, bytes};
    const auto refusal = missing_signature(keys, facts(" acme.add "), file);
    REQUIRE(refusal);
    CHECK(contains(refusal->expected, "override acme.add[Mine]"));
    CHECK(needs_signature(keys, facts("acme.add")));
    CHECK_FALSE(missing_signature(keys, facts("other.add"), file));
    CHECK_FALSE(needs_signature(keys, facts("other.add")));
    const std::vector<BoundKey> typed = {{world.key("one"), {"Mine"}, "c.json:1:2: /keys/0"}};
    CHECK(missing_signature(typed, facts("other.add"), file)->place == "c.json:1:2: /keys/0");
  }

  TEST_CASE("the bytes that are mapped are those that are signed") {
    if (cannot_sign()) return;
    Signed world;
    const std::string file = world.folder.add("plain");
    world.sign(file, "one");
    world.bind({{"one", {"plain"}}});
    std::string bytes = read_file(file);
    const std::string swapped = world.in_process([&] {
      static_cast<void>(tenon::listing::plugins());
      write_file(file, bytes + "x");  // behind the listing's back
      tenon::load_plugin("plain");
      return std::string();
    });
    CHECK(contains(swapped, "it is not a signature of these bytes"));
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
