// data.images: samples from folders and tables of PNG images.
#include <filesystem>
#include <fstream>

#include "../compare.hpp"
#include "tests/support/png.hpp"

using namespace compare;

namespace {

class Folder {
 public:
  Folder() { std::filesystem::create_directories(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  std::string path(const std::string& name = "") const { return path_ / name; }

 private:
  std::filesystem::path path_ = "images_test_folder";
};

std::string grey(const std::string& pixels) {
  return png::file(2, static_cast<uint32_t>(pixels.size() / 2), 1, pixels);
}

struct Read {
  Tensor inputs, targets;
  std::string fitted;
};
template <class... Arguments>
Read read(const std::string& path, Arguments&&... arguments) {
  const auto [inputs, targets, fitted] = tenon::Op("data.images")
                                             .call<std::tuple<Tensor, Tensor, std::string>>(
                                                 path, std::forward<Arguments>(arguments)...);
  return {inputs, targets, fitted};
}
template <class... Arguments>
std::string refused(const std::string& path, Arguments&&... arguments) {
  return refusal([&] { read(path, std::forward<Arguments>(arguments)...); });
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("data.images") {
  TEST_CASE("a folder for each class: classes and files are in sorted order") {
    const Folder folder;
    folder.write("dog/b.png", grey(std::string("\x00\x33\x66\xff", 4)));
    folder.write("dog/a.PNG", grey(std::string("\xff\xff\xff\xff", 4)));
    folder.write("cat/x.png", grey(std::string(4, '\0')));
    folder.write("cat/.hidden", "not an image");
    const Read samples = read(folder.path());
    CHECK(samples.inputs.sizes() == std::vector<int64_t>{3, 1, 2, 2});
    CHECK(samples.inputs.dtype() == tenon::f32);
    check_close(samples.inputs.to_vector<double>(), {0, 0, 0, 0, 1, 1, 1, 1, 0, 0.2, 0.4, 1}, 1e-6);
    CHECK(samples.targets.dtype() == tenon::i64);
    CHECK(samples.targets.to_vector<int64_t>() == std::vector<int64_t>{0, 1, 1});
    CHECK(samples.fitted == R"({"shape":[1,2,2],"classes":["cat","dog"]})");
  }

  TEST_CASE("colours are planes; channels converts, without it no colour is lost or made") {
    const Folder folder;
    folder.write("a/1.png", png::file(1, 2, 3,
                                      "\xff"
                                      "\x33" +
                                          std::string(1, '\0') + "\x66\x99\xcc"));
    folder.write("a/2.png", png::file(1, 2, 4, std::string("\xff\xff\xff\x00\xff\xff\xff\xff", 8)));
    CHECK(contains(refused(folder.path()),
                   "a/2.png: the image has 4 channels, those before it "
                   "have 3; say channels=4"));
    const Read samples = read(folder.path(), tenon::arg("channels") = 3);
    CHECK(samples.inputs.sizes() == std::vector<int64_t>{2, 3, 2, 1});
    check_close(samples.inputs.to_vector<double>(), {1, 0.4, 0.2, 0.6, 0, 0.8, 0, 1, 0, 1, 0, 1},
                1e-6);
    CHECK(read(folder.path(), tenon::arg("channels") = 1).inputs.size(1) == 1);
    CHECK(
        contains(refused(folder.path(), tenon::arg("channels") = 5), "channels must be 1 (grey)"));
  }

  TEST_CASE("a table of names: whole numbers, numbers and words as targets") {
    const Folder folder;
    for (const char* name : {"p/1.png", "p/2.png", "p/3.png"})
      folder.write(name, grey(std::string(4, '\x10')));
    folder.write("t.csv", "file,label\np/1.png,2\np/3.png,0\n");
    CHECK(read(folder.path("t.csv")).targets.to_vector<int64_t>() == std::vector<int64_t>{2, 0});
    folder.write("t.csv", "p/1.png;0.5\np/2.png;-1\n");
    const Read numbers = read(folder.path("t.csv"));
    CHECK(numbers.targets.dtype() == tenon::f32);
    CHECK(numbers.targets.to_vector<double>() == std::vector<double>{0.5, -1});
    folder.write("t.csv", "p/1.png,oak\np/2.png,ash\np/3.png,oak\n");
    const Read words = read(folder.path("t.csv"));
    CHECK(words.targets.to_vector<int64_t>() == std::vector<int64_t>{1, 0, 1});
    folder.write("new.csv", "p/2.png,oak\n");
    CHECK(read(folder.path("new.csv"), tenon::arg("fitted") = words.fitted)
              .targets.to_vector<int64_t>() == std::vector<int64_t>{1});
    folder.write("new.csv", "p/2.png,elm\n");
    CHECK(contains(refused(folder.path("new.csv"), tenon::arg("fitted") = words.fitted),
                   "new.csv:1: 'elm' is not one of the fitted classes"));
  }

  TEST_CASE("without targets a folder of images and a list of names will do") {
    const Folder folder;
    folder.write("all/1.png", grey(std::string(4, '\x10')));
    folder.write("all/2.png", grey(std::string(4, '\x20')));
    folder.write("t.csv", "all/2.png\n");
    CHECK(contains(refused(folder.path("all")), "expected a folder of images for each class"));
    const auto bare = tenon::arg("with_targets") = false;
    CHECK(read(folder.path("all"), bare).inputs.size(0) == 2);
    CHECK(read(folder.path("t.csv"), bare).targets.sizes() == std::vector<int64_t>{1, 0});
    CHECK(contains(refused(folder.path("t.csv")),
                   "t.csv:1: the row has 1 cells, expected the name of an image and its target"));
  }

  TEST_CASE("without targets one image will do") {
    const Folder folder;
    folder.write("one.PNG", grey(std::string("\x00\x33\x66\xff", 4)));
    const auto bare = tenon::arg("with_targets") = false;
    const Read sample = read(folder.path("one.PNG"), bare, tenon::arg("channels") = 3);
    CHECK(sample.inputs.sizes() == std::vector<int64_t>{1, 3, 2, 2});
    CHECK(sample.targets.sizes() == std::vector<int64_t>{1, 0});
    CHECK(
        contains(refused(folder.path("one.PNG")), "one.PNG: an image has no target; give a table"));
    CHECK(contains(refused(folder.path("none.png"), bare), "none.png"));
  }

  TEST_CASE("faults name the file") {
    const Folder folder;
    folder.write("a/1.png", grey(std::string(4, '\x10')));
    const auto with = [&](const std::string& bytes) {
      folder.write("a/2.png", bytes);
      return refused(folder.path());
    };
    const std::string whole = grey(std::string(4, '\x20'));
    CHECK(
        contains(with(grey(std::string(6, '\x20'))),
                 "a/2.png: the image has 2 by 3 pixels, those before it 2 by 2; resize them to one "
                 "size"));
    CHECK(contains(with("GIF89a and more bytes"), "a/2.png: it is not a PNG image"));
    CHECK(contains(with(""), "a/2.png: it is not a PNG image"));
    // Cut anywhere behind the signature, and with any byte of the pixels' chunk changed.
    for (size_t length = 8; length + 12 < whole.size(); ++length) {
      CAPTURE(length);
      CHECK(contains(with(whole.substr(0, length)), "a/2.png: the image is broken or ends early"));
    }
    for (size_t at = 33; at + 12 < whole.size(); ++at) {
      std::string broken = whole;
      broken[at] = static_cast<char>(broken[at] ^ 0x5a);
      CAPTURE(at);
      CHECK(contains(with(broken), "a/2.png"));
    }
    folder.write("a/2.png", whole);
    folder.write("a/notes.txt", "x");
    CHECK(
        contains(refused(folder.path()), "notes.txt: it is not a .png file; convert or remove it"));
    CHECK(contains(refused(folder.path("gone")), "cannot read '"));
    folder.write("photo.jpg", std::string("\xff\xd8\xff\xe0\0\x10JFIF\0\r", 12));
    CHECK(contains(refused(folder.path("photo.jpg")),
                   "photo.jpg: it is neither a PNG image nor a CSV file of images; convert it to "
                   "PNG"));
  }

  TEST_CASE("the shapes are known from the first image alone") {
    const Folder folder;
    folder.write("a/1.png", grey(std::string(4, '\x10')));
    folder.write("b/2.png", "not an image");
    const tenon::ShapesOnly shapes;
    const Read samples = read(folder.path());
    CHECK(samples.inputs.sizes() == std::vector<int64_t>{2, 1, 2, 2});
    CHECK(samples.targets.sizes() == std::vector<int64_t>{2});
  }
}
