// Trains nothing, but keeps what backward needs in files: memory for the graph's tensors is free
// until backward reads them again.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <tenon/saved_tensors.hpp>
#include <tenon/state/tensor_file.hpp>
#include <tenon/tenon.hpp>

using tenon::Tensor;

namespace {

// A tensor in a file, which goes with the last copy of this.
class StoredTensor {
 public:
  explicit StoredTensor(const Tensor& tensor)
      : path_(new std::string("saved_" + std::to_string(++written) + ".safetensors"), &remove) {
    tenon::state::save_tensors(*path_, {{"tensor", tensor.detach()}});
  }
  Tensor read() const {
    ++reads;
    return tenon::state::load_tensors(*path_).front().second;
  }
  static int written, reads;

 private:
  static void remove(std::string* path) {
    std::filesystem::remove(*path);
    delete path;
  }
  std::shared_ptr<std::string> path_;
};
int StoredTensor::written = 0;
int StoredTensor::reads = 0;

Tensor loss_of(const Tensor& x) { return (x.exp() * x).tanh().sum(); }

}  // namespace

int main() {
  Tensor in_memory = tenon::tensor({0.5, 1., 1.5}).requires_grad_();
  loss_of(in_memory).backward();

  Tensor on_disk = in_memory.detach().requires_grad_();
  Tensor loss;
  {
    const tenon::SavedTensorsHooks to_disk(
        [](const Tensor& tensor) { return StoredTensor(tensor); },
        [](const StoredTensor& stored) { return stored.read(); });
    loss = loss_of(on_disk);
  }
  std::printf("written: %d\n", StoredTensor::written);
  loss.backward();
  std::printf("read: %d\n", StoredTensor::reads);
  std::printf("in memory: %s\n", in_memory.grad().text().c_str());
  std::printf("on disk:   %s\n", on_disk.grad().text().c_str());
}
