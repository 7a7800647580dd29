// Kinds of findings: what was expected, and what to do.
#include <algorithm>
#include <array>

#include "report.hpp"

namespace cli {

namespace {

struct Kind {
  std::string_view name, expected, remedy;
};
constexpr std::array kKinds{
    // ---- the process ----
    Kind{"open", "the plugin opens",
         "fix the problem above; `tenon show` prints the plugin's state"},
    Kind{"crash", "the process survives the call",
         "run the sample under a debugger: `gdb --args tenon check ... --in-process`"},
    Kind{"shutdown", "shutdown ends by returning", "catch there what its calls may throw"},
    Kind{"exit", "the process ends when the checker ends it",
         "report the failure: throw, or return a status; never end the process"},
    Kind{"timeout", "each item ends within the time limit",
         "make it end, or give it more time with --timeout"},
    Kind{"memory", "a call fits into the memory limit",
         "allocate what the shapes need, or allow more with --memory"},
    Kind{"protocol", "only the checker writes to its channel",
         "write to no file descriptor that the plugin has not opened"},
    Kind{"descriptor", "open descriptors stay as they are",
         "close what is opened, and nothing else"},
    Kind{"folder", "the current folder stays", "use absolute paths, or openat"},
    Kind{"file", "a call leaves no file behind but those that its arguments name",
         "remove what is created, or write to a path that the caller gives, and name files in "
         "samples as {\"file\": \"out.csv\"}"},
    Kind{"locale", "the locale stays",
         "use std::from_chars, or newlocale and uselocale around the call"},
    Kind{"environment", "the environment stays", "pass settings as arguments"},
    Kind{"file-mask", "the mask of new files stays",
         "give the mode to open, and leave umask alone"},
    Kind{"signal-handler", "handlers and masks of signals stay",
         "leave signals to the program, or restore what was there"},
    Kind{"floating-point-mode", "rounding and flush-to-zero stay",
         "restore the modes before returning, with fegetenv and fesetenv"},
    Kind{"resource-limit", "limits of the process stay", "leave them to the program"},
    Kind{"timer", "timers stay", "delete what is created; measure with clock_gettime"},
    Kind{"scheduling", "processors and priority of the thread stay",
         "leave them to the program, or set them on a thread of the plugin"},
    Kind{"thread", "a call ends the threads that it starts",
         "use parallel_for, or join the thread"},
    Kind{"child-process", "a call waits for the processes that it starts",
         "end and wait for the process"},
    Kind{"thread-count", "the number of threads stays", "leave set_thread_count to the program"},
    Kind{"recording", "recording stays on or off", "use a NoGrad scope"},
    Kind{"output", "stdout belongs to the program", "write to the host's log"},
    Kind{"generator", "the random seed stays the program's",
         "draw with reserve_draws; leave seed_generator to the program"},
    Kind{"signals-others", "a plugin signals no other process",
         "end or trace no process that the plugin has not started"},
    // ---- the declaration ----
    Kind{"empty", "a plugin provides something",
         "give each definition to TENON_OP, TENON_MODULE, TENON_TYPE or TENON_OVERRIDE; those of a "
         "static library need tenon_add_plugin(... LINK library), or a linker's --whole-archive"},
    Kind{"samples", "the op takes the samples of its definition",
         "fix the `samples` of the definition; sdk/docs/how_to/check_samples.md has their form"},
    // ---- calls ----
    Kind{"result", "results are of the kinds that the schema declares",
         "return what the schema declares, or declare what is returned"},
    Kind{"undeclared-mutation", "arguments without '!' stay as they are, at every moment",
         "declare it, Tensor(a!), and mark_dirty it in a Function; or change a clone"},
    Kind{"missing-mutation", "an argument with '!' is changed",
         "change the argument in place, or declare it without '!'"},
    Kind{"undeclared-alias", "results without a letter are new tensors",
         "declare it, Tensor(a) on both; or return a clone"},
    Kind{"missing-alias", "a result with a letter shares the argument's memory",
         "return a view, drop the letter from the schema, or declare may_copy"},
    Kind{"nondeterminism", "equal calls have equal results",
         "draw from the host's generator; initialize every element"},
    Kind{"layout", "strides do not change the values of a result",
         "walk the strides of each operand, or make it contiguous first"},
    Kind{"precision", "f32 gives the result of f64 but for rounding",
         "compute in the operand's dtype; read elements as what they are"},
    Kind{"out", "the result is written into out, and returned",
         "write the result into `out` and return it"},
    Kind{"shape", "shapes alone give the shapes and dtypes of the call",
         "give a shape_rule or fix it, or declare data_dependent_shape"},
    Kind{"unexplained-error", "a refusal has a kind and a message",
         "throw an error of the right kind that says what was wrong"},
    Kind{"refuses-all", "an op accepts some arguments, or reports why it refuses them",
         "take what the schema declares, or give the definition `samples`"},
    Kind{"shared-result", "each call returns new memory",
         "allocate the result in the call; keep no result of an earlier one"},
    Kind{"overlapping-out", "out= that is an operand is refused, or the result is right",
         "compute into new memory and copy it, or refuse an out that overlaps an operand"},
    Kind{"size", "large inputs give what small ones give",
         "look at vector loops, their tails, chunks of parallel_for and fixed buffers"},
    Kind{"rank", "an op by element does the same under every shape",
         "look at 0-d tensors, single elements and ranks above 4"},
    Kind{"broadcast", "an operand that is broadcast counts as its expansion",
         "walk operands with the strides of their broadcast shape"},
    Kind{"negative-dim", "dim and dim - rank name the same dimension",
         "wrap dimensions with kernel::wrap_dimension"},
    Kind{"stale", "results depend on the arguments of this call alone",
         "keep nothing by the address or the handle of a tensor"},
    Kind{"errno", "errno before a call does not matter",
         "set errno to 0 before a function that may set it"},
    Kind{"number", "inf, nan and subnormal numbers give the same on every path",
         "treat them the same in vector loops, tails and strided loops"},
    Kind{"integer", "integers are computed as integers",
         "compute in the operand's dtype: a double holds 53 bits"},
    Kind{"dtype", "an op of floating tensors takes f32 and f64",
         "take both, or declare `dtypes` or samples of the dtype that it takes"},
    Kind{"out-of-bounds", "a call touches the elements of its operands alone",
         "stop at the last element; load tails element by element or with a mask"},
    Kind{"uninitialized", "every element of a result is written",
         "write every element, or start from zeros"},
    Kind{"threads", "calls on several threads do not disturb each other",
         "keep no state in static memory; guard what has to be shared"},
    Kind{"leak", "memory does not grow with the number of calls",
         "free what a call allocates, on every path"},
    Kind{"provider-differs", "two providers of an op agree but for rounding",
         "find which of the two is right, by the number in f64 or by hand, and fix the other one; "
         "or "
         "have it decline such calls"},
    Kind{"provider-refuses", "what one provider takes, the other takes or declines",
         "take the call, or decline it, so that the next provider runs it"},
    // ---- devices ----
    Kind{"device-differs", "an op on a device gives what it gives on the CPU, within bounds",
         "fix the kernel of the device, or have it decline such operands: return not_implemented"},
    Kind{"device-refuses", "a device takes what the CPU takes, or has no kernel for it",
         "take the call, or decline it: return not_implemented"},
    Kind{"device-left", "results of operands on a device are on that device",
         "make results by device::empty, on the instance of the operands"},
    // ---- gradients ----
    Kind{"missing-gradient", "an op of floating tensors says how it is differentiated",
         "give a backward; or declare composite, zero_gradient, or samples whose tensors say "
         "\"requires_grad\": false"},
    Kind{"cut-graph", "the result depends on the inputs in the graph, too",
         "composite ops call ops only: compute by ops, or give a backward"},
    Kind{"wrong-gradient", "backward agrees with central differences",
         "fix the backward; the report says how the numbers differ"},
    Kind{"unsaved-read", "a rule reads what was saved",
         "name the tensor in `saves`, or keep it in forward: save_for_backward, for a jvp "
         "save_for_forward"},
    Kind{"failing-gradient", "backward returns gradients",
         "fix the backward so that it returns for every input"},
    Kind{"changed-gradient", "backward leaves the gradients that it gets as they are",
         "compute a new tensor: gradients belong to the engine"},
    Kind{"changed-input", "backward leaves saved tensors as they are",
         "leave saved tensors as they are: others use them, too"},
    Kind{"wrong-jvp", "jvp agrees with central differences",
         "fix the jvp: its tangents are the derivative times the input's tangents"},
    Kind{"failing-jvp", "jvp returns tangents", "fix the jvp so that it returns for every tangent"},
    Kind{"wrong-second-order", "backward of backward agrees with central differences",
         "save tensors with save_for_backward and compute the backward by ops; or declare "
         "once_differentiable"},
    Kind{"failing-second-order", "backward can be differentiated",
         "compute the backward by differentiable ops; or declare once_differentiable"},
    Kind{"gradient-layout", "strides do not change gradients",
         "walk the strides of saved tensors and gradients, or make them contiguous"},
    Kind{"gradient-precision", "gradients in f32 are those of f64 but for rounding",
         "compute the backward in the operand's dtype"},
    Kind{"gradient-subset", "a gradient does not depend on which others are asked for",
         "test needs_input_grad for each input, and each gradient for being undefined"},
    Kind{"gradient-graphs",
         "a graph does not depend on other graphs, or on what becomes of its inputs",
         "keep what backward needs with save_for_backward; keep nothing in static memory"},
    Kind{"gradient-size", "gradients of large inputs are those of small ones",
         "look at loops, tails and chunks of the backward"},
    Kind{"gradient-rank", "gradients do not depend on the rank",
         "look at 0-d tensors and ranks above 4 in the backward"},
    Kind{"gradient-broadcast", "the gradient of a broadcast operand is summed to its shape",
         "return gradient.sum_to_size(shape of the operand)"},
    Kind{"gradient-mode", "recording does not change results",
         "compute the result in one way, whatever needs_input_grad says"},
    Kind{"tangents", "tangents are linear, and strides do not change them",
         "add the tangents of all inputs; walk their strides"},
    // ---- modules ----
    Kind{"module", "the module can be made, called and saved", "fix what the message names"},
    Kind{"state", "saved and loaded, a module computes the same",
         "register every tensor that forward reads as a parameter or buffer"},
    Kind{"eval-state", "in eval mode a call leaves parameters and buffers as they are",
         "change state in training mode alone; or give the definition `samples` whose check says "
         "\"mutation\": false"},
    Kind{"instances", "instances of a module do not disturb each other",
         "keep state in members, parameters and buffers of the module, not in static memory"},
    Kind{"unreached-parameter", "every parameter gets a gradient",
         "use the parameter in forward by ops that carry gradients"},
    // ---- types and overrides ----
    Kind{"text", "an object has a text form", "return a text for every payload of the type"},
    Kind{"conversion", "an object converts to a Tensor of its shape and dtype",
         "have to_tensor, shape() and dtype of the type say the same"},
    Kind{"round-trip", "a tensor that is converted, used and converted back equals the original",
         "give the type a from_tensor that is the inverse of to_tensor, or another fallback"},
    Kind{"object-gradient", "gradients reach the components of an object, in the type's structure",
         "declare every tensor of the payload in `components`, compute to_tensor by ops, and have "
         "project_gradient keep what it has projected"},
    Kind{"stored", "a saved and loaded object equals the original",
         "have attributes() write all of the payload but its components, and from_attributes read "
         "it"},
    Kind{"override-result", "an override gives what the op gives for the converted operands",
         "fix the override, or the conversion of the type; or decline such operands"},
    Kind{"override-gradient",
         "the gradient through an override is that through the op for the converted operands",
         "fix the backward of the override, or compute its result by ops"},
    Kind{"no-answer", "an override answers for some operands of its types",
         "answer, or remove the override: the next one and the handler are asked without it"},
    // ---- batches ----
    Kind{"batch-rule", "a batch rule can be read, and names parameters of its op",
         "fix the rule; sdk/lib/transforms/README.md has the grammar and the families"},
    Kind{"batch-result", "vmap gives each sample the result of a call for it alone",
         "move the parameters that name dimensions, and treat operands that are not batched as the "
         "same for all samples; `tenon why OP Batched` lists the rules"},
    Kind{"batch-shape", "results of a batch rule have the count, shapes and dtypes of the op's",
         "return each result of the op with the batch in the dimension that the rule says"},
    Kind{"batch-error", "a batch rule gives a result wherever the op does",
         "fix the rule, or add a condition that is false for such operands: where rank(x) >= 2, "
         "not batched(y)"},
    Kind{"batch-size", "a batch rule holds for batches of any size, of one and of no sample",
         "take the size from the operands, and keep dimensions of size 1 and 0"},
    Kind{"batch-layout", "strides of a batch change nothing",
         "walk strides in the rule, or make the batch contiguous first"},
    Kind{"batch-nested", "a batch rule holds within another vmap",
         "compute by ops alone: operands may be batched by other levels, without memory to read"},
    Kind{"batch-gradient", "gradients through vmap are those of a loop over samples",
         "compute the results by ops that carry gradients, of the operands themselves"},
    Kind{"batch-tangent", "tangents through vmap are those of a loop over samples",
         "compute the results by ops that have a jvp, of the operands themselves"},
    Kind{"batch-second-order", "second gradients through vmap are those of a loop over samples",
         "compute the results by ops whose backward is made of ops"},
    // ---- rewrites ----
    Kind{"rewrite", "a rule can be read, and calls ops as their schemas say",
         "fix the rule; sdk/lib/prepare/README.md has the grammar"},
    Kind{"rewrite-unused", "a rule is used for some inputs",
         "fix the pattern or its conditions; or give samples for the rule: TENON_REWRITE_SAMPLES"},
    Kind{"rewrite-refused", "a rule that fits is used",
         "make the replacement give results of the pattern's dtype, shape and strides"},
    Kind{"rewrite-endless", "rewriting ends",
         "remove one of the rules, or add a condition that what they make does not meet"},
    Kind{"rewrite-result", "both sides of a rule give the same results",
         "fix the replacement; or state the bound that holds: `within 1e-6`"},
    Kind{"rewrite-dtype", "both sides of a rule agree in each dtype that its conditions allow",
         "fix the replacement, or add a condition: dtype(x) == f32"},
    Kind{"rewrite-size", "both sides of a rule agree for each shape that its conditions allow",
         "fix the replacement, or add a condition: same_shape(x, y), dim(x) == 4"},
    Kind{"rewrite-layout", "strides of operands change nothing",
         "walk strides in the op of the replacement, or add a condition: contiguous(x)"},
    Kind{"rewrite-number",
         "both sides of a rule agree for zeros of both signs, nan, infinite and rare numbers",
         "fix the replacement; conditions cannot ask for elements, but for those of constants: "
         "value(c)"},
    Kind{"rewrite-condition", "both sides of a rule agree for all values that its conditions allow",
         "pass the value on to the replacement, or add a condition that is false for it"},
    Kind{"rewrite-use", "a rule leaves to other calls what they read and write",
         "give the replacement's ops the letters and '!' that their schemas need"},
    Kind{"rewrite-mutation", "a replacement leaves its operands as they are",
         "declare the change in the schema of the op, Tensor(a!), or change a clone"},
    Kind{"rewrite-error", "a replacement gives a result wherever the pattern does",
         "fix the op, or add a condition that is false for what it refuses"},
};

constexpr bool have_distinct_names() {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (kKinds[i].name == kKinds[k].name) return false;
    }
  }
  return true;
}
static_assert(have_distinct_names());

const Kind* kind_of(std::string_view name) {
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(),
                                   [&](const Kind& kind) { return kind.name == name; });
  return found == kKinds.end() ? nullptr : found;
}

}  // namespace

std::string_view remedy_of(std::string_view kind) {
  const Kind* found = kind_of(kind);
  return found == nullptr ? std::string_view() : found->remedy;
}
std::string_view expectation_of(std::string_view kind) {
  const Kind* found = kind_of(kind);
  return found == nullptr ? std::string_view() : found->expected;
}

}  // namespace cli
