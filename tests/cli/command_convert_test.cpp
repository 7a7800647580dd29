// tenon convert: tensors of a file as a file of another format.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include <tenon/state/numpy_file.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/tenon.hpp>

#include "program.hpp"

namespace {

using tenon::Tensor, tenon::tensor;

void write_tensors(const Workspace& folder) {
  tenon::state::save_tensors(folder.path("a.safetensors").string(),
                             {{"body.weight", tensor({0.5F, 300.25F, -1.F})},
                              {"body.steps", tenon::full({2}, 7, tenon::i64)},
                              {"head.weight", tensor({2.F})}},
                             tenon::JsonObject().set("by", "a test").json());
}

}  // namespace

TEST_SUITE("convert") {
  TEST_CASE("tensors go from format to format and are the same") {
    const Workspace folder;
    write_tensors(folder);
    const Outcome there = run_program_in(folder.path(), "convert a.safetensors b.npz");
    CHECK(there.error == "");
    CHECK(there.out == "wrote b.npz: 3 tensors\n");
    CHECK(run_program_in(folder.path(), "convert b.npz c.safetensors").code == 0);
    const auto first = tenon::state::load_tensors(folder.path("a.safetensors").string());
    for (const auto& [name, expected] : first) {
      CAPTURE(name);
      const auto found = tenon::state::load_tensors(folder.path("c.safetensors").string(), {name});
      CHECK(found[0].second.dtype() == expected.dtype());
      CHECK(found[0].second.to_vector<double>() == expected.to_vector<double>());
    }
  }

  TEST_CASE("a model is prepared once, and every command that calls it takes the file") {
    const Workspace folder;
    std::ofstream(folder.path("net.json"))
        << R"({"schema_version": 1, "model": {"type": "Sequential",
      "layers": [{"type": "Linear", "in_features": 3, "out_features": 2}, {"type": "ReLU"}]}})";
    const Outcome made =
        run_program_in(folder.path(), "convert net.json net.tenon --input input=4x3");
    CHECK(made.error == "");
    CHECK(made.out == "wrote net.tenon: 1 list of calls\n");
    const Outcome plan = run_program_in(folder.path(), "plan net.tenon");
    CHECK(plan.out.find("prepared for f32[4, 3]") != std::string::npos);
    CHECK(
        run_program_in(folder.path(), "bench net.tenon --calls 3").out.find("prepared, 1 stream") !=
        std::string::npos);
    CHECK(run_program_in(folder.path(), "run net.tenon").out.find("[4,2]") != std::string::npos);
    tenon::state::save_npy(folder.path("x.npy").string(), tenon::ones({4, 3}));
    CHECK(run_program_in(folder.path(), "predict net.tenon x.npy -o y.npz").code == 0);
    CHECK(tenon::state::load_npz(folder.path("y.npz").string())[0].second.sizes() ==
          std::vector<int64_t>{4, 2});
    CHECK(run_program_in(folder.path(), "convert net.tenon net.tenon").error ==
          "tenon: IOError: cannot write 'net.tenon': it is the file that is read\n");
    CHECK(run_program_in(folder.path(), "bench net.tenon --as-is").code == 2);
    tenon::state::save_npy(folder.path("x.npy").string(), tenon::ones({5, 3}));
    CHECK(run_program_in(folder.path(), "predict net.tenon x.npy -o y.npz").code == 1);
  }

  TEST_CASE("a prefix chooses tensors, and a dtype is for floating ones") {
    const Workspace folder;
    write_tensors(folder);
    CHECK(run_program_in(folder.path(),
                         "convert a.safetensors b.safetensors --prefix body. --dtype float16")
              .code == 0);
    const auto made = tenon::state::load_tensors(folder.path("b.safetensors").string());
    REQUIRE(made.size() == 2);
    for (const auto& [name, one] : made) {
      CAPTURE(name);
      CHECK(one.dtype() == (name == "steps" ? tenon::i64 : tenon::f16));
    }
    CHECK(tenon::state::metadata(folder.path("b.safetensors").string())["by"].text() == "a test");
  }

  TEST_CASE("a dtype is for tensors of f8 as well, and may be one of these") {
    const Workspace folder;
    const Tensor numbers = tenon::tensor({1.0, -448.0, 0.0625, 3.0});
    tenon::state::save_tensors(folder.path("a.safetensors").string(),
                               {{"weight", tenon::to(numbers, tenon::f8_e4m3)},
                                {"scale", tenon::to(tenon::tensor({2.0}), tenon::f8_e8m0)}});
    REQUIRE(run_program_in(folder.path(), "convert a.safetensors b.npz --dtype float32").code == 0);
    for (const auto& [name, one] : tenon::state::load_npz(folder.path("b.npz").string())) {
      CHECK(one.dtype() == tenon::f32);
      CHECK(one.to_vector<float>() ==
            (name == "scale" ? std::vector<float>{2} : std::vector<float>{1, -448, 0.0625, 3}));
    }
    REQUIRE(run_program_in(folder.path(), "convert b.npz c.safetensors --dtype f8_e5m2").code == 0);
    for (const auto& [name, one] :
         tenon::state::load_tensors(folder.path("c.safetensors").string()))
      CHECK(one.dtype() == tenon::f8_e5m2);
  }

  TEST_CASE("a file is written in parts with an index, which is read like one file") {
    const Workspace folder;
    write_tensors(folder);
    const Outcome there =
        run_program_in(folder.path(), "convert a.safetensors b.safetensors --shard-size 16B");
    CHECK(there.error == "");
    CHECK(there.out == "wrote b.safetensors.index.json: 3 tensors in 2 files\n");
    CHECK(!std::filesystem::exists(folder.path("b.safetensors")));
    const tenon::Json index = tenon::Json::parse(folder.read("b.safetensors.index.json"));
    CHECK(index["metadata"]["total_size"].integer() == 32);
    for (const auto& [name, tensor] :
         tenon::state::load_tensors(folder.path("a.safetensors").string())) {
      CAPTURE(name);
      const std::string part = index["weight_map"][name].text();
      CHECK(part.rfind("b-0000", 0) == 0);
      const int64_t bytes = tensor.numel() * tenon::element_size(tensor.dtype());
      CHECK(bytes <= 16);
      CHECK(tenon::state::load_tensors(folder.path(part).string(), {name}).size() == 1);
    }
    CHECK(run_program_in(folder.path(), "convert b.safetensors.index.json c.safetensors").code ==
          0);
    const auto first = tenon::state::load_tensors(folder.path("a.safetensors").string()),
               again = tenon::state::load_tensors(folder.path("c.safetensors").string());
    REQUIRE(again.size() == first.size());
    for (const auto& [name, expected] : first) {
      const auto found = tenon::state::load_tensors(folder.path("c.safetensors").string(), {name});
      CHECK(found[0].second.dtype() == expected.dtype());
      CHECK(found[0].second.to_vector<double>() == expected.to_vector<double>());
    }
    CHECK(
        run_program_in(folder.path(), "convert a.safetensors d.safetensors --shard-size 1GB").out ==
        "wrote d.safetensors: 3 tensors\n");
  }

  TEST_CASE("sizes of parts that are none are refused, and files that are read are not replaced") {
    const Workspace folder;
    write_tensors(folder);
    const auto fault = [&](const std::string& arguments) {
      return run_program_in(folder.path(), "convert " + arguments).error;
    };
    for (const char* size : {"0", "-1GB", "5XB", "GB", "99999999999GB"})
      CHECK(contains(fault(std::string("a.safetensors b.safetensors --shard-size=") + size),
                     "--shard-size must be a number of bytes such as 5GB"));
    CHECK(contains(fault("a.safetensors b.npz --shard-size 8"), "is for .safetensors files"));
    CHECK(
        run_program_in(folder.path(), "convert a.safetensors b.safetensors --shard-size 8").code ==
        0);
    const std::string before = folder.read("b.safetensors.index.json");
    CHECK(contains(fault("b.safetensors.index.json b.safetensors --shard-size 16"),
                   "it is the file that is read"));
    CHECK(folder.read("b.safetensors.index.json") == before);
  }

  TEST_CASE("what cannot be read or written is refused by name, and nothing is lost") {
    const Workspace folder;
    write_tensors(folder);
    const std::string before = folder.read("a.safetensors");
    const auto fault = [&](const std::string& arguments, int code) {
      const Outcome outcome = run_program_in(folder.path(), "convert " + arguments);
      CAPTURE(arguments);
      CHECK(outcome.code == code);
      return outcome.error;
    };
    CHECK(contains(fault("a.safetensors a.gguf", 2),
                   "cannot write 'a.gguf': the ending must be one"));
    CHECK(contains(fault("a.safetensors a.pth", 2), "safetensors.torch.load_file"));
    CHECK(contains(fault("a.safetensors a.onnx", 2), "tenon export CONFIG FILE"));
    CHECK(contains(fault("a.txt b.npz", 2), "cannot read 'a.txt': the ending must be one of"));
    CHECK(contains(fault("a.safetensors a.safetensors", 1), "it is the file that is read"));
    CHECK(contains(fault("a.safetensors nowhere/b.npz", 1), "'nowhere' is not an existing folder"));
    CHECK(contains(fault("a.safetensors b.npz --prefix tail.", 1), "begins with 'tail.'"));
    CHECK(contains(fault("a.safetensors b.npz --dtype i8", 2), "--dtype must be a floating dtype"));
    CHECK(fault("none.npz b.safetensors", 1) != "");
    CHECK(folder.read("a.safetensors") == before);
    CHECK(!std::filesystem::exists(folder.path("b.npz")));
  }
}
