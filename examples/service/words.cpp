// Calls ops that need the service, then the service itself, then unloads its provider.
#include <cstdio>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>

#include "vocabulary.hpp"

using tenon::Op, tenon::Unload;

int main() {
  tenon::add_plugin_path(PLUGIN_FOLDER);
  const tenon::Tensor numbers = Op("tokens.encode")("the tree and the wind").tensor();
  std::puts(numbers.text().c_str());
  std::puts(Op("tokens.decode").call<std::string>(std::vector<int64_t>{3, 1}).c_str());

  {
    const tenon::Service<vocabulary_service> words("vocabulary", 1);
    std::printf("%d words\n", static_cast<int>(words->size()));
  }
  try {
    const tenon::Service<vocabulary_service> words("vocabulary", 2);
  } catch (const tenon::PluginError& error) {
    const std::string text = error.what();
    std::puts(text.substr(0, text.find(", and plugin")).c_str());
  }
  try {
    tenon::unload("vocabulary");
  } catch (const tenon::PluginError& error) {
    const std::string text = error.what();
    std::puts(text.substr(text.find("\n  ") + 3).c_str());
  }
  tenon::unload("tokens");
  std::puts(tenon::unload("vocabulary")["state"].text().c_str());
}
