// Fuzzes signatures and keys of minisign: any text is taken or refused as a ValueError, and what is
// taken has the sizes that it should.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <tenon/error.hpp>
#include <tenon/trust/minisign.hpp>

using namespace tenon::trust;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto key = parse_minisign_key(text)) require(key_id_text(key->id).size() == 16);
  try {
    const MinisignSignature signature = parse_minisign_signature(text);
    require(signature.trusted_comment.size() < size);
    require(signature.trusted_comment.find('\n') == std::string::npos);
  } catch (const tenon::ValueError&) {  // a text that is not a signature
  }
  return 0;
}
