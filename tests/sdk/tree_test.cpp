// Documents: parsing, asking emptily, printing.
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
}
