// Objects of tensor types in files: their metadata, and files that do not fit their types.
#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include <tenon/state/tensor_file.hpp>
#include <tenon/tenon.hpp>

#include "tests/support/temporary_folder.hpp"

using namespace tenon;
using state::load_tensors;
using state::NamedTensors;
using state::save_tensors;

namespace {

Tensor row(int64_t size) { return ones({size}); }
Tensor object(const std::string& type, const Tensor& first, const Tensor& second = {},
              const std::string& label = "") {
  static const bool found = (add_plugin_path(TENON_FIXTURES "/wrappers"), true);
  static_cast<void>(found);
  return Op("wr.make").call<Tensor>(type, first, second, label);
}
// As in the fixture.
struct Boxed {
  static constexpr auto name = "Boxed";
  Tensor data;
  static constexpr Component<Boxed> components[] = {{"data", &Boxed::data}};
};
std::vector<std::string> names(const NamedTensors& tensors) {
  std::vector<std::string> list;
  for (const auto& entry : tensors) list.push_back(entry.first);
  return list;
}
using Names = std::vector<std::string>;

// A file of tensors, whose header tests rewrite.
class Saved {
 public:
  explicit Saved(const NamedTensors& tensors) { save_tensors(path(), tensors); }
  std::string path() const { return folder_ / "x.safetensors"; }
  std::string header() const {
    const std::string bytes = tenon_test::bytes_of(path());
    return bytes.substr(8, header_size(bytes));
  }
  void replace(const std::string& from, const std::string& to) const {
    const std::string bytes = tenon_test::bytes_of(path());
    std::string text = header();
    const size_t at = text.find(from);
    REQUIRE(at != text.npos);
    text.replace(at, from.size(), to);
    const uint64_t size = text.size();
    std::string length(8, '\0');
    std::memcpy(length.data(), &size, 8);
    tenon_test::put_bytes(path(), length + text + bytes.substr(8 + header_size(bytes)));
  }
  // Message of the error that reading throws.
  std::string fault() const {
    try {
      load_tensors(path());
    } catch (const ValueError& error) {
      return error.what();
    }
    return "";
  }

 private:
  static size_t header_size(const std::string& bytes) {
    uint64_t size = 0;
    std::memcpy(&size, bytes.data(), 8);
    return size;
  }
  tenon_test::TemporaryFolder folder_;
};

// The fault of a file with one object, after a change of its header.
std::string fault(const Tensor& tensor, const std::string& from, const std::string& to) {
  const Saved file({{"x", tensor}});
  file.replace(from, to);
  return file.fault();
}
bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != text.npos;
  if (!found) MESSAGE("'" << part << "' is not in: " << text);
  return found;
}

}  // namespace

TEST_SUITE("lib/state/objects") {
  TEST_CASE("an object is its components in the file, and its type and form in the metadata") {
    const Saved file({{"plain", row(1)}, {"x", object("Labelled", row(2), {}, "seven")}});
    const Json metadata = state::metadata(file.path());
    CHECK(metadata.size() == 2);
    CHECK(metadata["tensor type of x"].text() == "Labelled");
    CHECK(metadata["restore x"].text() ==
          R"({"plugin":"wrappers","dtype":"f32","shape":[2],"components":["data"],)"
          R"("attributes":"seven"})");
    CHECK(has(file.header(), "\"x.data\":{"));
    CHECK(file.header().find("\"x\":{") == std::string::npos);
    CHECK(names(load_tensors(file.path())) == Names{"plain", "x"});
  }

  TEST_CASE("an object in an object is made before the one that it is a component of") {
    const Tensor inner = make<Boxed>(object("Quantized", row(2), row(1)));
    const Saved file({{"x", make<Boxed>(inner)}});
    CHECK(has(file.header(), "\"x.data.data.scale\":{"));
    const NamedTensors loaded = load_tensors(file.path());
    REQUIRE(names(loaded) == Names{"x"});
    const Saved again(loaded);
    CHECK(again.header() == file.header());
    CHECK(tenon_test::bytes_of(again.path()) == tenon_test::bytes_of(file.path()));
  }

  TEST_CASE("a component that an object does not have is null again") {
    const Saved file({{"x", object("Quantized", row(2))}});
    CHECK(state::metadata(file.path())["restore x"].text().find("scale") == std::string::npos);
    CHECK(names(load_tensors(file.path())) == Names{"x"});
  }

  TEST_CASE("a file that says something else than its type is refused with file and tensor") {
    const Tensor labelled = object("Labelled", row(2), {}, "seven");
    const std::string unreadable = fault(labelled, R"({\"plugin\")", "{plugin");
    CHECK(has(unreadable, "cannot restore tensor 'x' of '"));
    CHECK(has(unreadable, "x.safetensors': its \"restore\" metadata cannot be read: "));
    CHECK(has(fault(labelled,
                    R"({\"plugin\":\"wrappers\",\"dtype\":\"f32\",\"shape\":[2],)"
                    R"(\"components\":[\"data\"],\"attributes\":\"seven\"})",
                    "[]"),
              "its \"restore\" metadata is not an object"));
    CHECK(has(fault(labelled, R"([\"data\"])", R"([\"middle\"])"),
              "type Labelled has no component 'middle'"));
    CHECK(has(fault(labelled, R"([\"data\"])", "[3]"), "a component's name is not a string"));
    CHECK(has(fault(labelled, R"(\"f32\")", R"(\"f33\")"), "its dtype is not known"));
    CHECK(has(fault(labelled, "[2],\\", "[-2],\\"), "its shape is not a list of sizes"));
    CHECK(has(fault(labelled, R"(\"attributes\")", R"(\"other\")"),
              "the file and type Labelled of plugin 'wrappers' do not agree on the attributes of "
              "its payload"));
    CHECK(has(fault(labelled, "\"x.data\"", "\"y.data\""), "the file holds no tensor 'x.data'"));
  }

  TEST_CASE("metadata of a payload for a type without one, or without attributes, is refused") {
    const Tensor two = object("Quantized", row(2), row(1));
    CHECK(has(fault(two, "\"tensor type of x\":\"Quantized\"", "\"tensor type of x\":\"Tensor\""),
              "the file has a payload, but type Tensor has none"));
    CHECK(has(fault(two, R"(\"plugin\":)", R"(\"attributes\":\"7\",\"plugin\":)"),
              "do not agree on the attributes of its payload"));
  }

  TEST_CASE("a type that is not there is named with its plugin and how to get it") {
    const std::string text = fault(object("Labelled", row(2)), "\"tensor type of x\":\"Labelled\"",
                                   "\"tensor type of x\":\"Elsewhere\"");
    CHECK(has(text, "it is of type 'Elsewhere' of plugin 'wrappers', which is not available: "));
    CHECK(has(text, "; install that plugin, or name its folder in TENON_PLUGIN_PATH"));
  }
}
