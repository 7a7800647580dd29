// oneDNN on the processor: its engine, a stream for each thread, memory, reorders.
#include "execution.hpp"

namespace onednn {

const dnnl::engine& engine() {
  // Never destroyed: threads may still compute when the process ends.
  static const auto* const processor = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *processor;
}

const dnnl::primitive_attr& caller_scratchpad() {
  static const auto* const attribute = [] {
    auto* made = new dnnl::primitive_attr;
    made->set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return made;
  }();
  return *attribute;
}

void execute(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad, char* scratch,
             std::unordered_map<int, dnnl::memory> arguments) {
  thread_local dnnl::stream stream(engine());
  if (bytes_of(scratchpad) != 0)
    arguments.emplace(DNNL_ARG_SCRATCHPAD, memory_at(scratchpad, scratch));
  primitive.execute(stream, arguments);
}

Side::Side(const dnnl::memory::desc& plain, const dnnl::memory::desc& packed, Direction direction)
    : plain_(plain), packed_(packed), direction_(direction) {
  if (plain == packed) return;
  const bool in = direction == Direction::in;
  const dnnl::reorder::primitive_desc description(engine(), in ? plain : packed, engine(),
                                                  in ? packed : plain, caller_scratchpad());
  scratchpad_ = description.scratchpad_desc();
  reorder_ = dnnl::reorder(description);
}

void Side::run(const void* from, void* to, char* scratch) const {
  const bool in = direction_ == Direction::in;
  execute(reorder_, scratchpad_, scratch,
          {{DNNL_ARG_FROM, memory_at(in ? plain_ : packed_, from)},
           {DNNL_ARG_TO, memory_at(in ? packed_ : plain_, to)}});
}

}  // namespace onednn
