// Batch rules (<tenon/transforms/batch_rules.hpp>): processes run one vmap each, of one size.
#include <tenon/transforms/batch_rules.hpp>

TENON_BATCH_RULES(collectives, R"(
distributed.all_reduce, distributed.all_reduce_, distributed.broadcast, distributed.broadcast_: leading(input=0)
distributed.all_gather, distributed.reduce_scatter: dims(dim)
distributed.begin_all_reduce_, distributed.begin_reduce_scatter: refuse("its result is one handle; use distributed.all_reduce_ or reduce_scatter")
)")
