// Parts of data: what a column of the file says of each row.
#include "support.hpp"

namespace {

Json data_of(const Folder& folder, const std::string& rows) {
  folder.write("t.csv", rows);
  return training::read_config(folder.write("c.json", R"({"schema_version": 1,
"data": {"type": "data.csv", "path": "t.csv", "targets": "y", "part": "part"}})"))["data"];
}
std::vector<float> values(const Tensor& tensor) {
  return tensor.defined() ? tensor.to_vector<float>() : std::vector<float>();
}

}  // namespace

TEST_SUITE("training split") {
  TEST_CASE("a column says which part each row is of, in the order of the file") {
    const Folder folder;
    const Json data = data_of(folder,
                              "x,part,y\n1,train,10\n2,test,20\n3,validation,30\n"
                              "4,train,40\n5,dev,50\n6,2,60\n");
    // Fractions do not matter where the file decides.
    const training::Dataset dataset = training::load_dataset(
        data, Json::parse(R"({"test": 0.5, "validation": 0.25, "shuffle": true})"));
    CHECK(values(dataset.train.inputs) == std::vector<float>{1, 4});
    CHECK(values(dataset.train.labels) == std::vector<float>{10, 40});
    CHECK(values(dataset.validation.inputs) == std::vector<float>{3, 5});
    CHECK(values(dataset.validation.labels) == std::vector<float>{30, 50});
    CHECK(values(dataset.test.inputs) == std::vector<float>{2, 6});
    CHECK(values(dataset.test.labels) == std::vector<float>{20, 60});
  }

  TEST_CASE("parts that are not known, and data without a row to train on, are refused") {
    const Folder folder;
    const auto refused = [&](const std::string& rows) {
      return refusal([&] { training::load_dataset(data_of(folder, rows), Json()); });
    };
    CHECK(contains(refused("x,part,y\n1,train,10\n2,tset,20\n"),
                   "'tset' is not a part; train, validation and test are"));
    CHECK(
        contains(refused("x,part,y\n1,test,10\n2,test,20\n"), "/data: no sample is for training"));
    CHECK(contains(refused("x,y\n1,10\n"), "'part'"));
  }
}
