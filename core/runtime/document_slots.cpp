// Service documents: JSON documents, and raw documents of the runtime.
#include <limits>
#include <string_view>
#include <vector>

#include "core/autograd/graph/leak_tracking.hpp"
#include "core/base/error.hpp"
#include "core/base/flags.hpp"
#include "core/base/json.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/dispatch/call/running_calls.hpp"
#include "core/runtime/documents.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

tenon_string borrowed(std::string_view text) {
  return {text.data(), static_cast<int64_t>(text.size())};
}

tenon_json_place written_place(JsonPlace place) { return {place.line, place.column, place.offset}; }

Json duplicates_document(const std::vector<DuplicateKey>& duplicates) {
  JsonBuilder list;
  list.begin_array();
  for (const DuplicateKey& one : duplicates) {
    list.begin_object().member("key", one.key).member("pointer", one.pointer);
    list.member("line", one.place.line).member("column", one.place.column);
    list.member("offset", one.place.offset);
    list.member("first_line", one.first.line).member("first_column", one.first.column);
    list.end_object();
  }
  return list.end_array().finish();
}

Json build_json(std::span<const tenon_json_step> steps, std::string_view source) {
  JsonBuilder builder(source);
  for (const tenon_json_step& step : steps) {
    if (step.kind == TENON_JSON_END) {
      builder.on_end();
      continue;
    }
    const tenon_json* origin = step.origin;
    const JsonPlace place = origin == nullptr ? JsonPlace{} : origin->place();
    if (builder.is_in_object())
      builder.on_key({step.key.data, static_cast<size_t>(step.key.length)},
                     origin == nullptr ? JsonPlace{} : origin->key_place());
    if (step.kind == TENON_JSON_ARRAY || step.kind == TENON_JSON_OBJECT)
      builder.on_begin(step.kind == TENON_JSON_OBJECT, place);
    else if (step.kind != TENON_JSON_VALUE)
      throw Error(TENON_ERROR_VALUE, "a step of a document has the kind {}, expected 0 to {}",
                  step.kind, TENON_JSON_END);
    else if (step.value.tag == TENON_VALUE_JSON && step.value.as.json != nullptr)
      builder.copy(*step.value.as.json, origin != nullptr);
    else
      builder.on_scalar(step.value, place);
  }
  return builder.finish();
}

// Events of a text as the boundary has them.
class BoundaryEvents final : public JsonEvents {
 public:
  explicit BoundaryEvents(const tenon_json_events& events) : events_(events) {}
  void on_begin(bool object, JsonPlace) override {
    call_checked(events_.begin, events_.self, object ? 1 : 0);
  }
  void on_end() override { call_checked(events_.end, events_.self); }
  void on_key(std::string_view text, JsonPlace) override {
    call_checked(events_.key, events_.self, text.data(), static_cast<int64_t>(text.size()));
  }
  void on_scalar(const tenon_value& value, JsonPlace) override {
    call_checked(events_.value, events_.self, &value);
  }

 private:
  const tenon_json_events& events_;
};

// ---- raw documents ----

Json raw_document(uint32_t which) {
  switch (which) {
    case TENON_DOCUMENT_RUNTIME:
      return runtime_document(plugin_manager());
    case TENON_DOCUMENT_PLUGINS:
      return plugins_document(plugin_manager());
    case TENON_DOCUMENT_FACTS:
      return facts_document(plugin_manager());
    case TENON_DOCUMENT_REGISTRATIONS:
      return registrations_document(process_runtime());
    case TENON_DOCUMENT_LIVE:
      return describe_live();
    case TENON_DOCUMENT_LOADABLE:
      return plugin_manager().loadable();
    default:
      throw Error(TENON_ERROR_ARGUMENT,
                  "document {} is unknown; expected {} to {} (TENON_DOCUMENT_...)", which,
                  TENON_DOCUMENT_RUNTIME, TENON_DOCUMENT_LOADABLE);
  }
}

}  // namespace

constinit const tenon_documents_service documents_service{
    .head = {},
    .parse = slot([](const char* json, int64_t length, const tenon_json_reading* reading,
                     tenon_json** document, tenon_json** duplicates) {
      const std::string_view text(json, static_cast<size_t>(length));
      JsonOptions options;
      std::vector<DuplicateKey> repeated;
      if (duplicates != nullptr) options.duplicates = &repeated;
      if (reading != nullptr) {
        require_flags("documents.parse", reading->flags, TENON_JSON_RELAXED);
        if (reading->source != nullptr) options.source = reading->source;
        options.kind = reading->failure;
        options.max_bytes = static_cast<size_t>(reading->max_bytes);
        options.relaxed = (reading->flags & TENON_JSON_RELAXED) != 0;
        require_bounded(text, options, static_cast<size_t>(reading->value_bytes));
      }
      Json parsed = parse_json(text, options);
      if (duplicates != nullptr) *duplicates = duplicates_document(repeated).give();
      *document = parsed.give();
    }),
    .dump = slot([](const tenon_json* document, int32_t indent) {
      return dump(checked(document, "the document"), indent);
    }),
    .build = slot([](const tenon_json_step* steps, int64_t count, const tenon_json* source) {
      return build_json(span_of(steps, count), source == nullptr ? "" : source->source());
    }),
    .retain = [](tenon_json* document) { document->retain(); },
    .release = [](tenon_json* document) -> void {
      if (document != nullptr) document->release();
    },
    .value = [](const tenon_json* document) { return document->value(); },
    .is_object = [](const tenon_json* document) { return document->is_object() ? 1 : 0; },
    .size = [](const tenon_json* document) { return document->size(); },
    .at = [](const tenon_json* document, int64_t index) { return document->at(index); },
    .find = [](const tenon_json* document, const char* key, int64_t length) -> const tenon_json* {
      return document->find({key, static_cast<size_t>(length)});
    },
    .key = [](const tenon_json* document, int64_t index) -> tenon_string {
      const tenon_json* child = document->at(index);
      return child == nullptr ? tenon_string{} : borrowed(child->key());
    },
    .place = slot(
        [](const tenon_json* document) { return place_of(checked(document, "the document")); }),
    .document = slot([](uint32_t which) {
      plugin_manager().retired();  // lets go what can go, which within a call nothing can
      const OuterCall running;     // reads implementations
      return raw_document(which);
    }),
    .facts_read = slot([](const char* path) {
      require_not_null(path, "the path of the plugin");
      const OuterCall running;
      return facts_document(std::string(path));
    }),
    .providers = slot([](uint32_t kind, const char* name) {
      require_not_null(name, "the name");
      if (kind >= kItemKinds)
        throw Error(TENON_ERROR_ARGUMENT,
                    "items of kind {} are unknown; expected {} to {} (TENON_ITEM_...)", kind,
                    TENON_ITEM_OP, TENON_ITEM_TYPE);
      const OuterCall running;
      return providers_document(process_runtime(), static_cast<ItemKind>(kind), name);
    }),
    .schema_parse = slot([](const char* schema, int64_t length) {
      return schema_document({schema, static_cast<size_t>(length)});
    }),
    .position = [](const tenon_json* node, tenon_json_position* position) -> void {
      *position = {written_place(node->place()), written_place(node->key_place())};
    },
    .scan = slot(
        [](const char* json, int64_t length, int64_t max_depth, const tenon_json_events* given) {
          JsonOptions options;
          options.max_bytes = std::numeric_limits<uint32_t>::max();
          options.max_depth = static_cast<size_t>(max_depth);
          BoundaryEvents events(checked(given, "the events"));
          scan_json({json, static_cast<size_t>(length)}, options, events);
        }),
    .source = [](const tenon_json* document) { return borrowed(document->source()); },
};

}  // namespace tenon::core
