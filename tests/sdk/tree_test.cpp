// Documents: parsing, asking emptily, printing.
#include <limits>

#include <tenon/text.hpp>

#include "tests/sdk/functions.hpp"

using namespace functions;

TEST_SUITE("sdk/tree") {
  TEST_CASE("nodes keep the whole document alive and answer by kind") {
    Tree name;
    {
      const Tree tree = Tree::parse(
          R"({"name": "digits", "sizes": [1, 2.5, true, null], "nested": {"deep": 7}})");
      CHECK(tree.is_object());
      CHECK(tree.size() == 3);
      CHECK(tree.key(1) == "sizes");
      CHECK(tree["sizes"].size() == 4);
      CHECK(tree["sizes"][0].integer() == 1);
      CHECK(tree["sizes"][1].number() == 2.5);
      CHECK(tree["sizes"][2].truth());
      CHECK(tree["sizes"][3].is_null());
      CHECK(tree["nested"]["deep"].integer() == 7);
      name = tree["name"];
    }
    CHECK(name.text() == "digits");
  }

  TEST_CASE("what is not there answers emptily") {
    const Tree tree = Tree::parse("{}");
    CHECK_FALSE(tree["a"].defined());
    CHECK(tree["a"]["b"][3].text("fallback") == "fallback");
    CHECK(tree["a"].integer(4) == 4);
    CHECK(tree["a"].number(0.5) == 0.5);
    CHECK(tree["a"].truth(true));
    CHECK(tree["a"].size() == 0);
    CHECK_FALSE(tree[0].defined());
  }

  TEST_CASE("a document prints as it was") {
    const std::string text = R"({"a":[1,2.5,"x\n",true,null],"b":{}})";
    CHECK(Tree::parse(text).json() == text);
    CHECK(has(Tree::parse(text).json(2), "\n  \"b\""));
  }

  TEST_CASE("a fault is reported with its place") {
    const Refusal refused = refusal([] { Tree::parse("{\"a\": 1,\n \"b\": }"); });
    CHECK(refused.kind != TENON_OK);
    CHECK(has(refused.text, "line 2"));
  }

  TEST_CASE("documents are made value by value") {
    TreeArray list;
    CHECK(list.empty());
    list.add(1).add(2.0).add(true).add("x\n").add(none).add(Tree()).add(Tree::parse("[{}]"));
    TreeObject object;
    object.set("list", list.tree()).set("name", std::string("a\0b", 3));
    CHECK(object.tree().json() ==
          R"({"list":[1,2.0,true,"x\n",null,null,[{}]],"name":"a\u0000b"})");
    CHECK(TreeObject().tree().json() == "{}");
    CHECK(TreeArray().tree().json() == "[]");
    CHECK(TreeArray().add(std::numeric_limits<double>::infinity()).tree().json() == "[null]");
    CHECK_THROWS_AS(TreeObject().set("a", 1).set("a", 2).tree(), ValueError);
  }

  TEST_CASE("a node names its place") {
    CHECK(Tree().place().empty());
    CHECK(Tree::parse("{\"a\": [1]}")["a"][0].place() == "line 1, column 8: /a/0");
    CHECK(TreeObject().set("a", 1).tree()["a"].place() == "/a");
  }

  TEST_CASE("words in messages") {
    CHECK(suggestion("linaer", {"nn.functional.linear", "add"}) ==
          " (did you mean 'nn.functional.linear'?)");
    CHECK(suggestion("zzz", {"add"}).empty());
    CHECK(suggestion("", {"a"}).empty());
    CHECK(printable("a\033\xf9\xe2\x80\xae\n") == "a\\x1b\\xf9\\u202e\n");
  }

  TEST_CASE("an error names its kind") {
    CHECK(ValueError("x").kind_name() == std::string("ValueError"));
    CHECK(ConfigError("x").kind_name() == std::string("ConfigError"));
    CHECK(Error(999, "x").kind_name() == std::string("Error"));
  }
}
