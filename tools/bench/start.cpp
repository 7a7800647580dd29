// A small process for tenon_bench to start:
//
//   tenon_bench_start tensor        makes one tensor, prints its own peak memory in KiB
//   tenon_bench_start device NAME   adds two tensors on a device
//   tenon_bench_start node          prints the bytes of a node, with its edge and output
//   tenon_bench_start growth        prints by how many bytes 100,000 training steps grow it
//   tenon_bench_start train         trains an MLP, prints its own peak memory in bytes
//   tenon_bench_start list          prints the nanoseconds of listing all ops from facts
//   tenon_bench_start load PLUGIN   prints the nanoseconds of loading a plugin whose facts are read
//   tenon_bench_start read FILE     prints the nanoseconds of reading a file
//   tenon_bench_start open LIBRARY  prints the nanoseconds of dlopen
//   tenon_bench_start model FILE    prints by how many bytes it grows when it opens the ONNX file of
//                                   a detector and runs it on a picture of 320 x 320
//   tenon_bench_start prepared FILE f32:1x512 ...   prints by how many bytes it has grown at most when
//                                   it has opened the ONNX file of a model, prepared it for zeros of
//                                   these dtypes and shapes, and called it five times
//
// With the plugin `bench` loaded, and CROWD beside it where one is named, prints the nanoseconds
// of:
//
//   tenon_bench_start find BENCH [CROWD]        finding an op by its name
//   tenon_bench_start typed_call BENCH [CROWD]  adding two ScalarTensors
//   tenon_bench_start coverage BENCH [CROWD]    listing how a type covers all ops
#include <chrono>
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <tenon/device.hpp>
#include <tenon/listing/listing.hpp>
#include <tenon/prepare/prepare.hpp>
#include <tenon/tenon.hpp>

namespace {

template <class Body>
int print_time(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  const bool fine = body();
  const auto end = std::chrono::steady_clock::now();
  std::printf("%lld\n", static_cast<long long>(std::chrono::nanoseconds(end - start).count()));
  return fine ? 0 : 1;
}

long peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stol(line.substr(6));
  }
  return 0;
}

long resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  long size = 0, resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// A chain of a million unary ops whose results are gone: nothing but its nodes stays.
void print_node_bytes() {
  constexpr int count = 1000000;
  tenon::Tensor x = tenon::ones({1}).requires_grad_();
  for (int i = 0; i < 100; ++i) x = x.neg();
  const long before = resident_bytes();
  for (int i = 0; i < count; ++i) x = x.neg();
  std::printf("%ld\n", (resident_bytes() - before) / count);
}

void print_growth() {
  const tenon::Tensor weight = tenon::ones({8, 8}).requires_grad_(), input = tenon::ones({4, 8});
  long before = 0;
  for (int step = 0; step < 101000; ++step) {
    if (step == 1000) before = resident_bytes();
    tenon::mm(input, weight).tanh().sum().backward();
    const tenon::NoGrad no_grad;
    weight.sub_(weight.grad(), 1e-6);
    tenon::Tensor(weight).set_grad({});
  }
  std::printf("%ld\n", resident_bytes() - before);
}

// MLP 64-128-64-10, batch 64, 10 epochs over 1,797 random rows: what the peer's mlp_train does.
void print_training_peak() {
  const tenon::Module model =
      tenon::create_module(tenon::Json::parse(R"({"type": "Sequential", "layers": [
        {"type": "Linear", "in_features": 64, "out_features": 128}, {"type": "ReLU"},
        {"type": "Linear", "in_features": 128, "out_features": 64}, {"type": "ReLU"},
        {"type": "Linear", "in_features": 64, "out_features": 10}]})"));
  std::vector<tenon::Tensor> parameters = model.parameters();
  const tenon::Tensor inputs = tenon::rand({1797, 64}), labels = tenon::randint(0, 10, {1797});
  for (int epoch = 0; epoch < 10; ++epoch) {
    for (int64_t at = 0; at + 64 <= 1797; at += 64) {
      tenon::nn::functional::cross_entropy(model(tenon::narrow(inputs, 0, at, 64)),
                                           tenon::narrow(labels, 0, at, 64))
          .backward();
      const tenon::NoGrad no_grad;
      for (tenon::Tensor& parameter : parameters) {
        tenon::optim::sgd_step_(parameter, parameter.grad(), {}, 0.05);
        parameter.set_grad({});
      }
    }
  }
  std::printf("%ld\n", peak_kib() * 1024);
}

// The plugins are loaded before, as the peer's library is.
void load_used_plugins() {
  const std::set<std::string> used{"math", "blas", "nn", "dnnl", "onnx"};
  const tenon::Json plugins = tenon::document(tenon::Document::plugins);
  for (int64_t i = 0; i < plugins.size(); ++i) {
    const std::string id = plugins[i]["id"].text();
    if (used.count(id) != 0) tenon::load_plugin(id);
  }
}

void print_model_growth(const std::string& path) {
  load_used_plugins();
  const tenon::NoGrad no_grad;
  const tenon::Tensor picture = tenon::zeros({1, 3, 320, 320});
  const long before = resident_bytes();
  const auto model = tenon::Module::create("onnx.Model", tenon::arg("path") = path);
  const tenon::Tensor result = model(picture);
  std::printf("%ld\n", resident_bytes() - before);
}

// "f32:1x3x320x320", or "i64:" for the sampling rate of a model of sound.
tenon::Tensor zeros_of(const std::string& text) {
  const size_t sign = text.find(':');
  std::vector<int64_t> shape;
  std::istringstream sizes(text.substr(sign + 1));
  for (std::string size; std::getline(sizes, size, 'x');) shape.push_back(std::stoll(size));
  const bool rate = text.compare(0, sign, "i64") == 0;
  return tenon::full(shape, rate ? 16000 : 0, rate ? tenon::i64 : tenon::f32);
}

void print_prepared_growth(const std::string& path, const std::vector<std::string>& inputs) {
  load_used_plugins();
  const tenon::NoGrad no_grad;
  std::vector<tenon::Tensor> tensors;
  std::vector<tenon_value> values;
  for (const std::string& input : inputs) tensors.push_back(zeros_of(input));
  for (const tenon::Tensor& tensor : tensors) values.push_back(tenon::Argument(tensor).value());
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins here
  const long before = resident_bytes();
  const auto model = tenon::Module::create("onnx.Model", tenon::arg("path") = path);
  model.eval();
  const tenon::Prepared prepared = tenon::prepare(model, {tensors});
  for (int i = 0; i < 5; ++i) {
    tenon_value results[tenon::detail::max_results]{};
    prepared.call_values(values.data(), static_cast<int64_t>(values.size()), results, -1);
    for (tenon_value& result : results) tenon::service::values().release(&result);
  }
  std::printf("%ld\n", peak_kib() * 1024 - before);
}

// Prints the time of one of many calls.
template <class Call>
int print_time_of_each(const Call& call) {
  constexpr int count = 1000000;
  for (int i = 0; i < 1000; ++i) call();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) call();
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
  std::printf("%.3f\n", passed.count() / count);
  return 0;
}

int run_among(const std::string& what, const std::string& bench, const std::string& crowd) {
  for (const std::string& plugin : {bench, crowd}) {
    if (!plugin.empty()) tenon::load_plugin(plugin);
  }
  if (what == "find") {
    // Several, so that no chance of the hash decides.
    constexpr const char* names[] = {"add", "mean", "relu", "bench.first", "bench.nothing", "sum",
                                     "mm",  "cat",  "exp",  "transpose",   "bench.fresh",   "mul"};
    size_t next = 0;
    return print_time_of_each([&] {
      const tenon::Op op(names[next]);
      next = next + 1 < std::size(names) ? next + 1 : 0;
    });
  }
  const auto one = tenon::Op("bench.make_typed").call<tenon::Tensor>("BenchScalarTensor");
  if (what == "typed_call") {
    return print_time_of_each([&] { const tenon::Tensor sum = tenon::add(one, one); });
  }
  tenon::listing::ops();
  return print_time([] { return tenon::listing::coverage("BenchScalarTensor").size() > 0; });
}

int run(const std::string& what, const std::string& path, const std::string& crowd) {
  if (what == "tensor") {
    const tenon::Tensor one = tenon::empty_tensor({1});
    *one.data<float>() = 1;
    std::printf("%ld\n", peak_kib());
    return one.defined() ? 0 : 1;
  }
  if (what == "device") {
    const tenon::Tensor two = tenon::device::to(tenon::ones({2}), path);
    return (two + two).to_vector<float>() == std::vector<float>{2, 2} ? 0 : 1;
  }
  if (what == "node" || what == "growth" || what == "train") {
    what == "node" ? print_node_bytes() : what == "growth" ? print_growth() : print_training_peak();
    return 0;
  }
  if (what == "model") {
    print_model_growth(path);
    return 0;
  }
  if (what == "find" || what == "typed_call" || what == "coverage")
    return run_among(what, path, crowd);
  if (what == "list") return print_time([] { return tenon::listing::ops().size() > 0; });
  if (what == "load") {
    tenon::listing::plugins();
    return print_time([&] {
      tenon::load_plugin(path);
      return true;
    });
  }
  if (what == "read") {
    return print_time([&] {
      std::FILE* file = std::fopen(path.c_str(), "rb");
      if (file == nullptr) return false;
      std::vector<char> bytes(1 << 20);
      while (std::fread(bytes.data(), 1, bytes.size(), file) > 0) {
      }
      return std::fclose(file) == 0;
    });
  }
  if (what == "open") {
    return print_time([&] { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr; });
  }
  std::fprintf(stderr, "tenon_bench_start: unknown '%s'\n", what.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 2 && argv[1] == std::string("prepared")) {
      print_prepared_growth(argv[2], {argv + 3, argv + argc});
      return 0;
    }
    return run(argc > 1 ? argv[1] : "tensor", argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tenon_bench_start: %s\n", error.what());
    return 1;
  }
}
