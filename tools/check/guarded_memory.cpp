// Memory between pages that must not be touched.
#include "guarded_memory.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <unistd.h>

#include <sys/mman.h>

#include "format.hpp"

namespace cli {

using tenon::Tensor;

namespace {

constexpr size_t kMost = 16;

// Read by the signal handler: fixed places, no allocation.
struct Block {
  std::atomic<char*> whole{nullptr};  // guard page, elements, guard page
  size_t bytes = 0;                   // size of the whole
  std::atomic<bool> written{false}, outside{false};
};
std::array<Block, kMost> blocks;
std::atomic<size_t> block_count{0};
struct sigaction previous;

size_t page() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// Notes what was touched and allows it, so that the call continues.
void handle(int signal, siginfo_t* info, void*) {
  const auto* at = static_cast<const char*>(info->si_addr);
  for (size_t i = 0; i < block_count; ++i) {
    Block& block = blocks[i];
    char* whole = block.whole;
    if (whole == nullptr || at < whole || at >= whole + block.bytes) continue;
    const bool inside = at >= whole + page() && at < whole + block.bytes - page();
    (inside ? block.written : block.outside) = true;
    char* const first = inside                ? whole + page()
                        : at < whole + page() ? whole
                                              : whole + block.bytes - page();
    mprotect(first, inside ? block.bytes - 2 * page() : page(), PROT_READ | PROT_WRITE);
    return;
  }
  sigaction(signal, &previous, nullptr);  // another fault: it happens again, and ends the process
}

}  // namespace

GuardedMemory::GuardedMemory() {
  page();
  block_count = 0;
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous);
}

GuardedMemory::~GuardedMemory() {
  sigaction(SIGSEGV, &previous, nullptr);
  for (size_t i = 0; i < block_count; ++i) {
    munmap(blocks[i].whole, blocks[i].bytes);
    blocks[i].whole = nullptr;
  }
  block_count = 0;
}

Tensor GuardedMemory::copy(const Tensor& tensor, Edge edge, int64_t gap) {
  std::vector<int64_t> strides(static_cast<size_t>(tensor.dim()));
  int64_t count = 1;
  for (size_t d = strides.size(); d-- > 0;) {
    strides[d] = count;
    count *= tensor.shape()[static_cast<int64_t>(d)] + (d + 1 == strides.size() ? gap : 0);
  }
  if (tensor.numel() == 0) count = 0;
  if (gap > 0 && count > gap) count -= gap;  // none behind the last row
  const size_t bytes =
      static_cast<size_t>(count) * static_cast<size_t>(tenon::element_size(tensor.dtype()));
  const size_t index = block_count;
  Block& block = blocks.at(index);
  const size_t pages = (bytes + page() - 1) / page() * page();
  block.bytes = pages + 2 * page();
  block.written = block.outside = false;
  void* memory = mmap(nullptr, block.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw tenon::MemoryError(format_text("cannot map {} bytes for a guarded tensor: {}",
                                         block.bytes, std::strerror(errno)));
  block.whole = static_cast<char*>(memory);
  block_count = index + 1;
  char* const elements = block.whole + page();
  if (pages > 0) mprotect(elements, pages, PROT_READ | PROT_WRITE);
  char* const first = edge == Edge::begin ? elements : elements + pages - bytes;
  const Tensor result =
      tenon::wrap_buffer(first, tensor.shape(), tenon::IntList(strides.data(), tensor.dim()),
                         tensor.dtype(), nullptr, nullptr);
  tenon::copy_elements(result, tensor);
  return result;
}

void GuardedMemory::protect(size_t index) {
  Block& block = blocks.at(index);
  if (block.bytes > 2 * page()) mprotect(block.whole + page(), block.bytes - 2 * page(), PROT_READ);
}

GuardedMemory::Breaches GuardedMemory::breaches(size_t index) const {
  return {blocks.at(index).written, blocks.at(index).outside};
}

}  // namespace cli
