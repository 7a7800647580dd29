// Plans as JSON: the document of `tenon plan --json`.
#include "json.hpp"
#include "plan.hpp"

namespace cli {

namespace training = tenon::training;

using tenon::Json;

namespace {

Json sizes_json(const std::vector<int64_t>& shape) {
  tenon::JsonArray sizes;
  for (const int64_t size : shape) sizes.add(size);
  return sizes.json();
}

Json shapes_json(const std::vector<std::vector<int64_t>>& shapes) {
  tenon::JsonArray list;
  for (const std::vector<int64_t>& shape : shapes) list.add(sizes_json(shape));
  return list.json();
}

Json ops_json(const std::vector<training::ProvidedOp>& ops) {
  tenon::JsonArray list;
  for (const training::ProvidedOp& op : ops) {
    tenon::JsonArray declined;
    for (const auto& [plugin, reason] : op.declined)
      declined.add(tenon::JsonObject().set("plugin", plugin).set("reason", reason).json());
    list.add(tenon::JsonObject()
                 .set("layer", op.layer)
                 .set("op", op.op)
                 .set("calls", op.calls)
                 .set("provider", op.provider)
                 .set("declined", declined.json())
                 .json());
  }
  return list.json();
}

}  // namespace

Json prepared_json(const tenon::PreparedList& list) {
  tenon::JsonArray calls;
  for (const tenon::PreparedCall& call : list.calls) {
    calls.add(tenon::JsonObject()
                  .set("op", call.op)
                  .set("provider", call.provider)
                  .set("bytes", call.bytes)
                  .set("memory", call.in_place   ? "in_place"
                                 : call.in_arena ? "shared"
                                                 : "own")
                  .set("rewrite", call.rewrite)
                  .json());
  }
  tenon::JsonArray rewrites;
  for (const tenon::rewrites::Applied& one : list.rewrites) {
    rewrites.add(tenon::JsonObject()
                     .set("rule", one.rule)
                     .set("plugin", one.plugin)
                     .set("count", one.count)
                     .set("bound", one.bound)
                     .json());
  }
  return tenon::JsonObject()
      .set("arguments", list.arguments)
      .set("reason", list.reason)
      .set("recorded", list.recorded)
      .set("folded", text_array(list.folded))
      .set("dropped", text_array(list.dropped))
      .set("rewrites", rewrites.json())
      .set("refused", text_array(list.refused))
      .set("calls", calls.json())
      .set("bytes_before", list.result_bytes)
      .set("bytes_after", list.result_bytes - list.shared_bytes + list.arena_bytes)
      .set("peak_before", list.recorded_peak_bytes)
      .set("peak_after", list.peak_bytes)
      .set("compared", list.compared)
      .json();
}

namespace {

Json summary_json(const Plan& plan) {
  tenon::JsonArray layers;
  for (const training::LayerSummary& layer : plan.summary.layers) {
    layers.add(tenon::JsonObject()
                   .set("name", layer.name)
                   .set("type", layer.type)
                   .set("outputs", shapes_json(layer.outputs))
                   .set("parameters", layer.parameters)
                   .set("bytes", layer.bytes)
                   .set("multiply_adds", layer.multiply_adds)
                   .json());
  }
  tenon::JsonObject object;
  object.set("inputs", shapes_json(plan.summary.inputs)).set("layers", layers.json());
  if (!plan.summary.ops.empty()) object.set("ops", ops_json(plan.summary.ops));
  return object.set("parameters", plan.summary.parameters)
      .set("trainable", plan.summary.trainable)
      .set("bytes", plan.summary.bytes)
      .set("multiply_adds", plan.summary.multiply_adds)
      .set("unknown", plan.summary.unknown)
      .json();
}

}  // namespace

Json plan_json(const Plan& plan) {
  tenon::JsonArray plugins, layers;
  for (const PlannedPlugin& row : plan.plugins) {
    plugins.add(tenon::JsonObject()
                    .set("id", row.id)
                    .set("version", row.version)
                    .set("state", row.state)
                    .set("load", row.load)
                    .set("for", text_array(row.purposes))
                    .set("path", row.path)
                    .json());
  }
  for (const training::Layer& layer : plan.outline.layers) {
    layers.add(tenon::JsonObject()
                   .set("name", layer.name)
                   .set("type", layer.type)
                   .set("attributes", layer.attributes)
                   .set("plugin", layer.plugin)
                   .json());
  }
  tenon::JsonObject object;
  object.set("config", plan.path).set("plugins", plugins.json()).set("model", layers.json());
  if (!plan.summary.layers.empty()) object.set("summary", summary_json(plan));
  if (plan.memory)
    object.set("memory", tenon::JsonObject()
                             .set("peak_bytes", plan.memory->peak_bytes)
                             .set("kept_bytes", plan.memory->kept_bytes)
                             .set("recomputed", text_array(plan.memory->recomputed))
                             .json());
  tenon::JsonArray devices;
  for (const Plan::DeviceBytes& one : plan.bytes_by_device())
    devices.add(tenon::JsonObject()
                    .set("device", one.device)
                    .set("what", one.what)
                    .set("bytes", one.bytes)
                    .json());
  object.set("devices", devices.json());
  if (plan.prepared) object.set("prepared", prepared_json(*plan.prepared));
  if (plan.config.data.section.defined()) {
    training::PartCounts counts{plan.outline.data.samples, 0, 0};
    if (plan.outline.data.samples > 0)
      counts = training::part_counts(plan.config.split, plan.outline.data.samples);
    object.set("data", tenon::JsonObject()
                           .set("path", plan.config.data.path_node)
                           .set("bytes", plan.outline.data_bytes)
                           .set("samples", plan.outline.data.samples)
                           .set("shape", sizes_json(plan.outline.data.shape))
                           .set("targets", sizes_json(plan.outline.data.targets))
                           .set("train", counts.train)
                           .set("validation", counts.validation)
                           .set("test", counts.test)
                           .json());
  }
  for (const char* key : {"ops", "types", "loss", "metrics", "optimizer", "training", "output"}) {
    if (const Json section = plan.config.document[key]; section.defined()) object.set(key, section);
  }
  return object.set("checked_by_run", text_array(plan.checked_by_run()))
      .set("runs", plan.faults.empty() && plan.missing().empty())
      .set("seed", static_cast<int64_t>(plan.config.seed))
      .set("faults", text_array(plan.faults))
      .json();
}

}  // namespace cli
