// The symbols and flags that keep a library mapped, or make unmapping it dangerous.
#include "core/plugin/unload/unmap_verdict.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/format.hpp"
#include "core/base/text.hpp"
#include "core/plugin/facts/elf_notes.hpp"

namespace tenon::core {

namespace {

// Functions of other libraries that keep a pointer into the file, or have the loader keep it.
struct Keeper {
  std::string_view symbol;  // one that ends in '*' is a prefix
  std::string_view reason;
};
constexpr std::array kKeepers{
    Keeper{"__cxa_thread_atexit*", "it has thread_local objects with destructors"},
    Keeper{"pthread_create", "it starts threads"},
    Keeper{"thrd_create", "it starts threads"},
    Keeper{"clone", "it starts threads"},
    Keeper{"_ZNSt6thread15_M_start_thread*", "it starts threads"},
    Keeper{"pthread_key_create",
           "it makes thread-specific keys, whose destructors run at the end of threads"},
    Keeper{"tss_create",
           "it makes thread-specific keys, whose destructors run at the end of threads"},
    Keeper{"sigaction", "it installs signal handlers"},
    Keeper{"signal", "it installs signal handlers"},
    Keeper{"__sysv_signal", "it installs signal handlers"},
    Keeper{"sigset", "it installs signal handlers"},
    Keeper{"timer_create", "it starts timers"},
    Keeper{"mq_notify", "the system may call it back"},
    Keeper{"aio_read*", "the system may call it back"},
    Keeper{"aio_write*", "the system may call it back"},
    Keeper{"getaddrinfo_a", "the system may call it back"},
    Keeper{"on_exit", "it registers functions for the end of the process"},
    Keeper{"_ZSt13set_terminatePFvvE", "it installs a terminate handler"},
    Keeper{"_ZSt15set_new_handlerPFvvE", "it installs a handler for failed allocations"},
    Keeper{"_ZNSt6locale6globalERKS_", "it sets the global locale"},
    Keeper{"dlopen", "it opens libraries, itself perhaps"},
    Keeper{"dlmopen", "it opens libraries, itself perhaps"},
};

bool matches(std::string_view pattern, std::string_view symbol) {
  return pattern.ends_with('*') ? symbol.starts_with(pattern.substr(0, pattern.size() - 1))
                                : symbol == pattern;
}

// A forged file may have many reasons, each with a long name: the others are counted.
constexpr size_t kMaxReasons = 64;
constexpr size_t kMaxSymbolText = 256;

// A symbol as messages have it.
std::string text_of(std::string_view symbol) {
  const bool cut = symbol.size() > kMaxSymbolText;
  return escaped(symbol.substr(0, kMaxSymbolText)) + (cut ? "..." : "");
}

}  // namespace

UnmapVerdict judge_unmapping(const ByteSource& source, const std::string& path) {
  UnmapVerdict verdict;
  size_t more = 0;
  const auto keep = [&](std::string reason) {
    if (std::ranges::find(verdict.reasons, reason) != verdict.reasons.end()) return;
    if (verdict.reasons.size() == kMaxReasons) {
      ++more;
    } else {
      verdict.reasons.push_back(std::move(reason));
    }
  };
  if (stays_mapped(source, path)) keep("it is linked with -z nodelete");
  read_dynamic_symbols(source, path, [&](const DynamicSymbol& symbol) {
    if (!symbol.imported) {
      keep(format_text("it defines the unique symbol {}; build it with -fno-gnu-unique",
                       text_of(symbol.name)));
      return;
    }
    for (const Keeper& keeper : kKeepers) {
      if (matches(keeper.symbol, symbol.name))
        keep(format_text("{} (it imports {})", keeper.reason, text_of(symbol.name)));
    }
  });
  if (more > 0) {
    verdict.reasons.push_back(format_text("{} more of its symbols are like these", more));
  }
  return verdict;
}

}  // namespace tenon::core
