// The host's slots on JSON documents.
#include <limits>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/json.hpp"
#include "core/dispatch/binding/value.hpp"
#include "core/runtime/slots.hpp"

namespace tenon::core {

namespace {

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

tenon_status json_parse(const char* json, int64_t length, const tenon_json_reading* reading,
                        tenon_json** document, tenon_json** duplicates, tenon_error** error) {
  return guarded(error, [&] {
    const std::string_view text(json, static_cast<size_t>(length));
    JsonOptions options;
    std::vector<DuplicateKey> repeated;
    if (duplicates != nullptr) options.duplicates = &repeated;
    if (reading != nullptr) {
      if (reading->source != nullptr) options.source = reading->source;
      options.kind = reading->failure;
      options.max_bytes = static_cast<size_t>(reading->max_bytes);
      options.relaxed = (reading->flags & TENON_JSON_RELAXED) != 0;
      require_bounded(text, options, static_cast<size_t>(reading->value_bytes));
    }
    Json parsed = parse_json(text, options);
    if (duplicates != nullptr) *duplicates = duplicates_document(repeated).give();
    *document = parsed.give();
  });
}
tenon_status json_dump(const tenon_json* document, int32_t indent, tenon_value* text,
                       tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(document, "the document");
    *text = make_string(dump(*document, indent));
  });
}
void json_retain(tenon_json* document) { document->retain(); }
void json_release(tenon_json* document) {
  if (document != nullptr) document->release();
}
tenon_value json_value(const tenon_json* document) { return document->value(); }
int32_t json_is_object(const tenon_json* document) { return document->is_object() ? 1 : 0; }
int64_t json_size(const tenon_json* document) { return document->size(); }
const tenon_json* json_at(const tenon_json* document, int64_t index) { return document->at(index); }
const tenon_json* json_find(const tenon_json* document, const char* key, int64_t length) {
  return document->find({key, static_cast<size_t>(length)});
}
tenon_string json_key(const tenon_json* document, int64_t index) {
  const tenon_json* child = document->at(index);
  const std::string_view key = child == nullptr ? std::string_view() : child->key();
  return {key.data(), static_cast<int64_t>(key.size())};
}

tenon_status json_place(const tenon_json* document, tenon_value* text, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(document, "the document");
    *text = make_string(place_of(*document));
  });
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

void json_position(const tenon_json* node, tenon_json_position* position) {
  *position = {written_place(node->place()), written_place(node->key_place())};
}
tenon_status json_build(const tenon_json_step* steps, int64_t count, const tenon_json* source,
                        tenon_json** document, tenon_error** error) {
  return guarded(error, [&] {
    const std::span<const tenon_json_step> list(steps, static_cast<size_t>(count));
    *document = build_json(list, source == nullptr ? "" : source->source()).give();
  });
}

tenon_string json_source(const tenon_json* document) {
  const std::string_view source = document->source();
  return {source.data(), static_cast<int64_t>(source.size())};
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

tenon_status json_scan(const char* json, int64_t length, int64_t max_depth,
                       const tenon_json_events* given, tenon_error** error) {
  return guarded(error, [&] {
    require_not_null(given, "the events");
    JsonOptions options;
    options.max_bytes = std::numeric_limits<uint32_t>::max();
    options.max_depth = static_cast<size_t>(max_depth);
    BoundaryEvents events(*given);
    scan_json({json, static_cast<size_t>(length)}, options, events);
  });
}

}  // namespace

void add_json_slots(Services& services) {
  tenon_documents_service& documents = services.documents;
  documents.parse = json_parse;
  documents.dump = json_dump;
  documents.retain = json_retain;
  documents.release = json_release;
  documents.value = json_value;
  documents.is_object = json_is_object;
  documents.size = json_size;
  documents.at = json_at;
  documents.find = json_find;
  documents.key = json_key;
  documents.place = json_place;
  documents.build = json_build;
  documents.position = json_position;
  documents.scan = json_scan;
  documents.source = json_source;
}

}  // namespace tenon::core
