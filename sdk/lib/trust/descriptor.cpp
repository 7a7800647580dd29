#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <tenon/error.hpp>
#include <tenon/trust/descriptor.hpp>

#include "lib/base/format.hpp"

TENON_NAMESPACE_BEGIN

namespace trust {

void Descriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

Pipe::Pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw IOError(lib::format_text("cannot make a pipe: {}", std::strerror(errno)));
  reading = Descriptor(ends[0]);
  writing = Descriptor(ends[1]);
}

}  // namespace trust

TENON_NAMESPACE_END
