// sdk/docs/reference/onnx_differences.md: Tenon beside the standard, NumPy and ONNX Runtime. Peers that are not
// installed are taken from the table. TENON_WRITE_DIFFERENCES=1 writes it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include <doctest/doctest.h>

#include "difference_cases.hpp"

namespace {

using namespace difference_cases;
using tenon::Module;

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string joined(const std::vector<Array>& arrays) {
  std::string text;
  for (const Array& one : arrays) text += (text.empty() ? "" : "; ") + one.text();
  return text;
}

std::string answer_of_tenon(const Case& one, const std::string& path, const char* like) {
  try {
    const Module model = like == nullptr ? Module::create("onnx.Model", tenon::arg("path") = path)
                                         : Module::create("onnx.Model", tenon::arg("path") = path,
                                                          tenon::arg("like") = like);
    std::vector<Array> arrays;
    for (const Tensor& tensor : outputs::call(model, one.inputs(), one.outputs()))
      arrays.push_back(array_of(tensor));
    return joined(arrays);
  } catch (const tenon::Error&) {
    return "error";
  }
}

// Answers of a peer, a line for each case: "error", or {"dims": [], "numbers": []} of each output.
std::vector<std::string> answers_of_peer(const std::string& path) {
  std::vector<std::string> answers;
  const Json list = Json::parse(file_text(path));
  for (int64_t i = 0; i < list.size(); ++i) {
    if (list[i].is_text()) {
      answers.push_back(list[i].text());
      continue;
    }
    std::vector<Array> arrays;
    for (int64_t j = 0; j < list[i].size(); ++j) {
      Array array;
      for (int64_t k = 0; k < list[i][j]["dims"].size(); ++k)
        array.dims.push_back(list[i][j]["dims"][k].integer());
      for (int64_t k = 0; k < list[i][j]["numbers"].size(); ++k)
        array.numbers.push_back(list[i][j]["numbers"][k].text());
      arrays.push_back(std::move(array));
    }
    answers.push_back(joined(arrays));
  }
  return answers;
}

// The cells of a column of the committed table, by the text of the first.
std::vector<std::string> cells_of(const std::string& table, size_t column) {
  std::vector<std::string> cells;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) != 0 || line.rfind("| input ", 0) == 0) continue;
    std::vector<std::string> row;
    for (size_t at = 2; at < line.size();) {
      const size_t end = std::min(line.find(" |", at), line.size());
      row.push_back(line.substr(at, end - at));
      at = end + 3;
    }
    cells.push_back(column < row.size() ? row[column] : "");
  }
  return cells;
}

struct Table {
  std::vector<Case> cases;
  std::vector<std::string> titles;  // a group has its title at its first case
  std::vector<std::string> numpy, runtime, tenon, like;

  std::string text() const {
    std::string text;
    for (size_t i = 0; i < cases.size(); ++i) {
      if (!titles[i].empty()) {
        text += "\n## " + titles[i] + "\n\n" +
                "| input | the standard's text | NumPy 1.24 | ONNX Runtime 1.30 | Tenon | Tenon, "
                "`like=\"onnxruntime\"` |\n|---|---|---|---|---|---|\n";
      }
      const std::string excuse = cases[i].excuse();
      text += "| " + cases[i].title() + " | " + cases[i].data["standard"].text() + " | " +
              numpy[i] + " | " + runtime[i] + " | " + tenon[i] + " | " + like[i] +
              (excuse.empty() ? "" : "; not reproduced: " + excuse) + " |\n";
    }
    return text;
  }
};

Table read_cases() {
  Table table;
  const Json groups =
      Json::parse(file_text(std::string(TENON_ONNX_SOURCES) + "/differences.json"))["groups"];
  for (int64_t g = 0; g < groups.size(); ++g) {
    for (int64_t i = 0; i < groups[g]["cases"].size(); ++i) {
      table.cases.push_back({groups[g]["cases"][i]});
      table.titles.push_back(i == 0 ? groups[g]["title"].text() : "");
    }
  }
  return table;
}

// The peer's answers where its program runs, else those of the table.
std::vector<std::string> peer(const std::string& command, const std::string& result, bool installed,
                              const std::string& committed, size_t column) {
  if (!installed || std::system((command + " >/dev/null 2>&1").c_str()) != 0) {
    MESSAGE("taken from the table: column " << column);
    return cells_of(committed, column);
  }
  return answers_of_peer(result);
}

constexpr std::string_view kFirstGroup = "\n## ";

}  // namespace

TEST_CASE("the table of differences has the answers of Tenon and of the peers that are installed") {
  Table table = read_cases();
  const std::string sources = TENON_ONNX_SOURCES;
  const std::string path = sources + "/../../../sdk/docs/reference/onnx_differences.md";
  const std::string document = file_text(path);
  const size_t start = std::min(document.find(kFirstGroup), document.size());
  const std::string committed = document.substr(start);
  const model_writer::Folder folder;
  std::string first;
  for (size_t i = 0; i < table.cases.size(); ++i) {
    const std::string model = folder.write(std::to_string(i) + ".onnx", table.cases[i].model());
    if (i == 0) first = std::filesystem::path(model).parent_path();
    table.tenon.push_back(answer_of_tenon(table.cases[i], model, nullptr));
    table.like.push_back(answer_of_tenon(table.cases[i], model, "onnxruntime"));
  }
  const char* models = std::getenv("TENON_MODELS");
  const std::string modules =
      std::string(models != nullptr ? models : TENON_ONNX_MODELS) + "/node_modules";
  table.runtime =
      peer("node '" + sources + "/difference_outputs.js' '" + modules + "' '" + first + "'",
           first + "/onnxruntime.json", std::filesystem::exists(modules + "/onnxruntime-node"),
           committed, 3);
  table.numpy = peer("/usr/bin/python3 '" + sources + "/difference_outputs.py' '" + first + "'",
                     first + "/numpy.json", true, committed, 2);
  REQUIRE(table.runtime.size() == table.cases.size());
  REQUIRE(table.numpy.size() == table.cases.size());
  const char* writes = std::getenv("TENON_WRITE_DIFFERENCES");
  if (writes != nullptr && *writes == '1')
    std::ofstream(path, std::ios::binary) << document.substr(0, start) << table.text();
  else
    CHECK(table.text() == committed);

  for (size_t i = 0; i < table.cases.size(); ++i) {
    CAPTURE(table.cases[i].title());
    if (!table.cases[i].excuse().empty()) continue;
    CHECK(table.like[i] == (table.runtime[i] == "error" ? table.tenon[i] : table.runtime[i]));
  }
}
