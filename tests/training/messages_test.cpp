// Messages about the sections of trainings, as a table: a config, and its normalized form or its
// faults.
#include "support.hpp"

namespace {

// The table has /no/such/folder in the place of a folder.
std::string with_folder(std::string text, const std::string& folder) {
  const std::string name = "/no/such/folder";
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += folder.size())
    text.replace(at, name.size(), folder);
  return text;
}

}  // namespace

TEST_SUITE("training messages") {
  TEST_CASE("each config of the table gives its message, or its normalized form") {
    const Folder folder;
    const std::string here = folder.file("").substr(0, folder.file("").size() - 1);
    const Json cases =
        Json::parse(training::read_file(TENON_SOURCE_DIR "/tests/training/messages.json"))["cases"];
    REQUIRE(cases.size() == 92);
    for (int64_t i = 0; i < cases.size(); ++i) {
      const Json one = cases[i];
      CAPTURE(one["input"].text());
      const std::string file = folder.write("c.json", one["input"].text());
      Json config;
      std::string message = refusal([&] { config = training::read_config(file); });
      for (size_t at = 0; (at = message.find(file)) != std::string::npos;)
        message.replace(at, file.size(), "c.json");
      CHECK(message == with_folder(one["message"].text("no error"), here));
      if (config.defined()) CHECK(config.dump() == with_folder(one["config"].dump(), here));
    }
  }
}
