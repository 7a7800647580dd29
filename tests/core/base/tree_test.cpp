// Trees: kinds, lookups, places, and what keeps a document alive.
#include "core/base/tree.hpp"

#include <thread>

#include <doctest/doctest.h>

#include "core/base/error.hpp"

using namespace tenon::core;

TEST_SUITE("tree") {
  TEST_CASE("every kind parses and reads back") {
    const Tree tree = parse_tree(
        R"({"n": null, "b": true, "i": -7, "d": 0.5, "s": "t\u00e4\n", "a": [1, [], {}]})");
    CHECK(tree->is_object());
    CHECK(tree->size() == 6);
    CHECK(tree->find("n")->is_null());
    CHECK(tree->find("b")->as_bool());
    CHECK(tree->find("i")->as_int() == -7);
    CHECK(tree->find("i")->as_double() == -7.0);
    CHECK(tree->find("d")->as_double() == 0.5);
    CHECK(tree->find("s")->as_string() == "t\xC3\xA4\n");
    CHECK(tree->find("a")->size() == 3);
    CHECK(tree->find("a")->at(1)->is_array());
    CHECK(tree->find("a")->at(3) == nullptr);
    CHECK(tree->find("a")->at(-1) == nullptr);
    CHECK(tree->find("x") == nullptr);
    CHECK(tree->at(0)->key() == "n");
    CHECK(tree->at(5)->parent() == tree.get());
    CHECK(tree->parent() == nullptr);
    CHECK(json(*tree) == R"({"n":null,"b":true,"i":-7,"d":0.5,"s":"tä\n","a":[1,[],{}]})");
    CHECK(json(*parse_tree(" 3 ")) == "3");
  }

  TEST_CASE("values cross the boundary with their tags") {
    const Tree tree = parse_tree(R"([null, true, 3, 2.5, "text", [1]])");
    CHECK(tree->at(0)->value().tag == TENON_VALUE_NONE);
    CHECK(tree->at(1)->value().as.integer == 1);
    CHECK(tree->at(2)->value().tag == TENON_VALUE_INT);
    CHECK(tree->at(3)->value().as.number == 2.5);
    const tenon_value text = tree->at(4)->value();
    CHECK(text.tag == TENON_VALUE_STRING);
    CHECK(std::string_view(text.as.string, text.length) == "text");
    CHECK(tree->at(5)->value().as.tree == tree->at(5));
  }

  TEST_CASE("pointers lead to nodes and back") {
    const Tree tree = parse_tree(R"({"plugins": [{"name": "math"}, {"a/b~c": 1}], "": 2})");
    CHECK(tree_at_pointer(*tree, "") == tree.get());
    const tenon_tree* name = tree_at_pointer(*tree, "/plugins/0/name");
    REQUIRE(name != nullptr);
    CHECK(name->as_string() == "math");
    CHECK(pointer_of(*name) == "/plugins/0/name");
    const tenon_tree* escaped = tree_at_pointer(*tree, "/plugins/1/a~1b~0c");
    REQUIRE(escaped != nullptr);
    CHECK(pointer_of(*escaped) == "/plugins/1/a~1b~0c");
    CHECK(tree_at_pointer(*tree, "/")->as_int() == 2);
    for (const char* wrong :
         {"plugins", "/plugins/2", "/plugins/00", "/plugins/-", "/plugins/0/name/x", "/x"}) {
      CHECK(tree_at_pointer(*tree, wrong) == nullptr);
    }
  }

  TEST_CASE("a wrong kind is named with its place") {
    TreeOptions options;
    options.source = "f.json";
    const Tree tree = parse_tree("{\"a\": [\"x\"]}", options);
    CHECK_THROWS_WITH(static_cast<void>(tree->find("a")->at(0)->as_int()),
                      "f.json:1:8: /a/0: found a string, expected an integer");
    CHECK_THROWS_WITH(static_cast<void>(tree->get("b")), "f.json:1:1: /b: there is no such member");
  }

  TEST_CASE("any node keeps its document alive, on any thread") {
    Tree leaf;
    {
      const Tree tree = parse_tree(R"({"a": ["text"]})");
      leaf = Tree(tree->find("a")->at(0));
    }
    CHECK(leaf->as_string() == "text");
    CHECK(pointer_of(*leaf) == "/a/0");
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([copy = leaf] {
        for (int k = 0; k < 1000; ++k) Tree again = copy;
      });
    }
    for (std::thread& thread : threads) thread.join();
    tenon_tree* given = Tree(leaf).give();
    given->release();
    CHECK(leaf->as_string() == "text");
  }

  TEST_CASE("the place of a node is what is known of it") {
    TreeOptions options;
    options.source = "c.json";
    const Tree tree = parse_tree("{\n \"a\": [1, {\"b/c\": 2}]}", options);
    CHECK(place_of(*tree) == "c.json:1:1");
    CHECK(place_of(*tree_at_pointer(*tree, "/a/1/b~1c")) == "c.json:2:19: /a/1/b~1c");
    const Tree made = make_array(std::vector<tenon_value>(2));
    CHECK(place_of(*made) == "");
    CHECK(place_of(*made->at(1)) == "/1");
  }
}
