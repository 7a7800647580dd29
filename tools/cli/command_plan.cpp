// tenon plan: prints what a run of a config would do.
#include "commands.hpp"
#include "exit_code.hpp"
#include "format.hpp"
#include "given_inputs.hpp"
#include "json.hpp"
#include "plan.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace cli {

namespace {

// The lists of a prepared model.
int plan_prepared_file(const PlanOptions& options) {
  const std::vector<tenon::PreparedList> lists = open_prepared_file(options.config).lists();
  if (options.json) {
    tenon::JsonArray array;
    for (const tenon::PreparedList& list : lists) array.add(prepared_json(list));
    print_json(tenon::JsonObject().set("path", options.config).set("lists", array.json()));
    return kFine;
  }
  for (const tenon::PreparedList& list : lists) print_prepared_list(list);
  return kFine;
}

int plan_config(const PlanOptions& options) {
  if (is_prepared_file(options.config)) return plan_prepared_file(options);
  const Plan plan = make_plan(options);
  if (options.json) {
    print_json(plan_json(plan));
    return plan.faults.empty() ? kFine : kFault;
  }
  print_plan(plan);
  if (plan.faults.empty()) {
    const std::string missing = plan.of_model ? "" : plan.missing();
    print_fitted(format_text(
        "\n{}{}\n", paint(stdout, Style::green, "no faults found"),
        missing.empty() ? "" : format_text(", and nothing to run: the config has no {}", missing)));
    if (!plan.of_model && !plan.checked_by_run().empty())
      print(
          wrapped("what only plugin code knows, such as ranges and choices, is checked when a "
                  "run constructs the modules and calls the loss",
                  0, line_width(92)));
    return kFine;
  }
  std::string text = counted(static_cast<int64_t>(plan.faults.size()), "fault");
  for (const std::string& line : plan.faults) text += format_text("\n  {}", line);
  throw tenon::ConfigError(plan.faults.size() == 1 ? plan.faults.front() : text);
}

}  // namespace

void define_plan(Commands& commands) {
  auto [command, options] = commands.add(
      plan_config, "plan",
      "Print what a run would do: plugins, data, and the model's layers with their shapes",
      "  tenon plan digits.json\n"
      "  tenon plan digits.json --json\n"
      "  tenon plan digits.json --providers\n"
      "  tenon plan detector.onnx --input x=1x3x320x320\n"
      "The model is called with shapes alone: it computes nothing. Ends with 1 when the run would "
      "fail for a reason that can be seen now.");
  command.argument(options.config, "CONFIG",
                   "The config file, or the file of a model, prepared or not");
  command.inputs(options.inputs);
  command.frozen(options.frozen);
  command.flag("!--no-shapes", options.shapes,
               "Run no plugin code: layers as the config names them, without shapes");
  command.flag("--providers", options.providers,
               "List the plugin that each op of the model would get, and who declines it");
  command.exclude("--providers", "--no-shapes");
  command.flag(
      "--prepared", options.prepared,
      "List the calls of the model as it is prepared for inference, with their memory; runs "
      "it once, on zeros");
  command.exclude("--prepared", "--no-shapes");
  command.flag("--memory", options.memory,
               "Measure the memory that backward keeps, with and without \"recompute\"; runs the "
               "model once, on zeros");
  command.exclude("--memory", "--no-shapes");
  command.json(options.json);
}

}  // namespace cli
