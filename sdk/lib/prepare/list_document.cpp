#include "list_document.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include <tenon/runtime.hpp>

#include "lib/base/format.hpp"
#include "lib/base/text.hpp"
#include "saved_numbers.hpp"
#include "tensors.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

using lib::format_text;
using lib::quote;
using Kind = ListValue::Kind;

namespace {

constexpr const char* kind_names[] = {"argument", "constant", "result"};

// ---- literals ----

// The bits of a number, so that it is the same one when it is read, NaN and -0 too.
int64_t bits_of(double number) {
  int64_t bits = 0;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits;
}
double number_of(int64_t bits) {
  double number = 0;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

template <class Element, class Convert>
Json list_of(const Element* elements, uint32_t count, Convert&& convert) {
  JsonArray array;
  for (uint32_t i = 0; i < count; ++i) array.add(convert(elements[i]));
  return array.json();
}

Json one(const char* key, JsonValue value) {
  return JsonObject().set(key, std::move(value)).json();
}

}  // namespace

Json literal_document(const Value* literal) {
  if (literal == nullptr) return one("none", true);
  const tenon_value& value = literal->get();
  switch (value.tag) {
    case TENON_VALUE_NONE:
      return one("none", true);
    case TENON_VALUE_BOOL:
      return one("bool", value.as.integer != 0);
    case TENON_VALUE_INT:
      return one("int", value.as.integer);
    case TENON_VALUE_FLOAT:
      return one("float", bits_of(value.as.number));
    case TENON_VALUE_DTYPE:
      return one("dtype", dtype_text(static_cast<DType>(value.as.integer)));
    case TENON_VALUE_STRING:
      return one("text", std::string_view(value.as.string, value.length));
    case TENON_VALUE_INT_LIST:
      return one("ints", list_of(value.as.integers, value.length, [](int64_t n) { return n; }));
    case TENON_VALUE_FLOAT_LIST:
      return one("floats", list_of(value.as.numbers, value.length, bits_of));
    case TENON_VALUE_BOOL_LIST:
      return one("bools",
                 list_of(value.as.booleans, value.length, [](uint8_t b) { return int64_t{b}; }));
    case TENON_VALUE_STRING_LIST:
      return one("texts", list_of(value.as.strings, value.length, [](const tenon_string& text) {
                   return std::string_view(text.data, static_cast<size_t>(text.length));
                 }));
    default:
      throw ValueError(
          format_text("an argument is {}, which no file has", detail::kind_text(value)));
  }
}

std::shared_ptr<const Value> read_literal(const Json& document) {
  if (!document.is_object() || document.size() != 1)
    throw ValueError(format_text("{} is not a value", document.dump()));
  const std::string key = document.key(0);
  const Json given = document[int64_t{0}];
  const auto kept = [](const Argument& argument) {
    return std::make_shared<const Value>(copy_value(argument.value()));
  };
  if (key == "none") return nullptr;
  if (key == "bool" && given.is_bool()) return kept(given.as_bool());
  if (key == "int") return kept(read_integer(given, INT64_MIN, INT64_MAX, "an int"));
  if (key == "float")
    return kept(number_of(read_integer(given, INT64_MIN, INT64_MAX, "the bits of a float")));
  if (key == "dtype") return kept(read_dtype(given));
  if (key == "text" && given.is_text()) return kept(given.text());
  if (key == "texts" && given.is_array()) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < given.size(); ++i) {
      if (!given[i].is_text()) throw ValueError("an element of texts is not a text");
      texts.push_back(given[i].text());
    }
    tenon_value value{};
    detail::give_list(texts, &value);
    return std::make_shared<const Value>(value);
  }
  const bool ints = key == "ints", floats = key == "floats", bools = key == "bools";
  if (!ints && !floats && !bools)
    throw ValueError(format_text("{} is not a value", document.dump()));
  const std::vector<int64_t> list = read_integers(given);
  tenon_value value{};
  if (ints) {
    detail::give_list(list, &value);
  } else if (floats) {
    std::vector<double> numbers;
    std::transform(list.begin(), list.end(), std::back_inserter(numbers), number_of);
    detail::give_list(numbers, &value);
  } else {
    std::vector<bool> booleans(list.size());
    std::transform(list.begin(), list.end(), booleans.begin(),
                   [](int64_t number) { return number != 0; });
    detail::give_list(booleans, &value);
  }
  return std::make_shared<const Value>(value);
}

namespace {

// ---- operands and values ----

Json operand_document(const ListOperand& operand) {
  if (operand.kind == ListOperand::Kind::literal) return literal_document(operand.literal.get());
  if (operand.kind == ListOperand::Kind::tensor) return one("tensor", operand.values.front());
  JsonArray numbers;
  for (const int64_t number : operand.values) numbers.add(number);
  return one("tensors", numbers.json());
}
Json operands_document(const std::vector<ListOperand>& operands) {
  JsonArray list;
  for (const ListOperand& operand : operands) list.add(operand_document(operand));
  return list.json();
}

Json places_document(const std::vector<size_t>& places) {
  JsonArray list;
  for (const size_t place : places) list.add(static_cast<int64_t>(place));
  return list.json();
}

Json value_document(const ListValue& value, ConstantStore& store) {
  JsonObject object;
  object.set("kind", kind_names[static_cast<size_t>(value.kind)]).set("memory", value.memory);
  if (value.kind == Kind::argument) object.set("argument", value.argument);
  if (value.kind == Kind::result) object.set("layout", layout_document(value.layout).json());
  if (value.kind != Kind::constant) return object.json();
  if (!value.name.empty()) object.set("name", value.name);
  return object.set("constant", store.add(value.constant, value.name)).json();
}

// ---- ops that files may call ----

struct OpFacts {
  size_t parameters = 0;
  int64_t results = 0;
};

class Ops {
 public:
  // The facts of an op; ValueError for one that no file may call.
  const OpFacts& find(const Op& op) {
    const auto [place, added] = known_.try_emplace(op.handle());
    if (!added) return place->second;
    const Json parameters = parse_schema(op.schema())["parameters"];
    for (int64_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i]["name"].text() == "path")
        throw ValueError(
            format_text("it calls {}, which takes a path: files of prepared models "
                        "reach no other files",
                        op.name()));
    }
    place->second = {static_cast<size_t>(parameters.size()),
                     service::ops().result_count(op.handle())};
    if (place->second.results < 1)
      throw ValueError(format_text(
          "it calls {}, which gives no result and is called for what else it does", op.name()));
    return place->second;
  }

 private:
  std::map<const tenon_op*, OpFacts> known_;
};

// ---- reading ----

class ListReader {
 public:
  ListReader(const StoredConstants& stored, const ArgumentsKey& key)
      : stored_(stored), layouts_(key.layouts()) {}

  CallList read(const Json& document) {
    read_values(document["values"]);
    const Json calls = document["calls"];
    if (!calls.is_array()) throw ValueError("it has no calls");
    for (int64_t i = 0; i < calls.size(); ++i) {
      try {
        read_call(calls[i]);
      } catch (const Error& error) {
        if (error.kind() != TENON_ERROR_VALUE) throw;
        throw ValueError(format_text("call {}: {}", i, error.what()));
      }
    }
    read_outputs(document["outputs"], document["compared"]);
    return std::move(list_);
  }

 private:
  void read_values(const Json& values) {
    if (!values.is_array()) throw ValueError("it has no values");
    std::vector<bool> seen(layouts_.size(), false);
    list_.values.reserve(static_cast<size_t>(values.size()));
    for (int64_t i = 0; i < values.size(); ++i) {
      const Json document = values[i];
      ListValue value;
      const std::string kind = document["kind"].text();
      const auto* const found =
          std::find(std::begin(kind_names), std::end(kind_names), std::string_view(kind));
      if (found == std::end(kind_names))
        throw ValueError(format_text("value {} is of no kind: {}", i, quote(kind)));
      value.kind = static_cast<Kind>(found - kind_names);
      value.memory = read_integer(document["memory"], 0, values.size() - 1, "a number of memory");
      if (value.kind == Kind::argument) {
        value.argument = read_integer(document["argument"], 0,
                                      static_cast<int64_t>(layouts_.size()) - 1, "an argument");
        const auto place = static_cast<size_t>(value.argument);
        if (seen[place])
          throw ValueError(format_text("two values are argument {}", value.argument));
        seen[place] = true;
        value.layout = layouts_[place];
      } else if (value.kind == Kind::result) {
        value.layout = read_layout(document["layout"]);
      } else {
        value.name = document["name"].text();
        value.constant = stored_.find(document["constant"]);
        value.layout = stand_in(value.constant);
      }
      made_.push_back(value.kind != Kind::result);
      list_.values.push_back(std::move(value));
    }
    if (std::find(seen.begin(), seen.end(), false) != seen.end())
      throw ValueError("an argument is not among its values");
  }

  // Number of a tensor; `made`: which is there already.
  int64_t number(const Json& document, bool undefined, bool made) const {
    const int64_t number = read_integer(document, undefined ? undefined_value : 0,
                                        static_cast<int64_t>(list_.values.size()) - 1, "a tensor");
    if (number != undefined_value && made && !made_[static_cast<size_t>(number)])
      throw ValueError(format_text("tensor {} is used before a call makes it", number));
    return number;
  }

  ListOperand read_operand(const Json& document, bool made) const {
    ListOperand operand;
    if (!document.is_object() || document.size() != 1)
      throw ValueError(format_text("{} is not an operand", document.dump()));
    const std::string key = document.key(0);
    const Json given = document[int64_t{0}];
    if (key == "tensor") {
      operand.kind = ListOperand::Kind::tensor;
      operand.values.push_back(number(given, false, made));
    } else if (key == "tensors" && given.is_array()) {
      operand.kind = ListOperand::Kind::tensors;
      for (int64_t i = 0; i < given.size(); ++i)
        operand.values.push_back(number(given[i], true, made));
    } else {
      operand.literal = read_literal(document);
    }
    return operand;
  }
  std::vector<ListOperand> read_operands(const Json& document, bool made) const {
    if (!document.is_array()) throw ValueError("a list of operands is missing");
    std::vector<ListOperand> operands;
    for (int64_t i = 0; i < document.size(); ++i)
      operands.push_back(read_operand(document[i], made));
    return operands;
  }

  static std::vector<size_t> read_places(const Json& document, size_t parameters) {
    std::vector<size_t> places;
    if (!document.defined()) return places;
    for (const int64_t place : read_integers(document)) {
      if (place < 0 || static_cast<size_t>(place) >= parameters)
        throw ValueError(format_text("it changes parameter {}, which there is not", place));
      places.push_back(static_cast<size_t>(place));
    }
    return places;
  }

  void read_call(const Json& document) {
    ListedCall call((Op(document["op"].text())));
    const OpFacts& facts = ops_.find(call.op);
    call.arguments = read_operands(document["arguments"], true);
    call.results = read_operands(document["results"], false);
    if (call.arguments.size() != facts.parameters ||
        call.results.size() != static_cast<size_t>(facts.results))
      throw ValueError(format_text("{} takes {} arguments and gives {} results, not {} and {}",
                                   call.op.name(), facts.parameters, facts.results,
                                   call.arguments.size(), call.results.size()));
    for (const ListOperand& result : call.results) {
      if (result.kind == ListOperand::Kind::literal && result.literal != nullptr)
        throw ValueError("a result is not a tensor");
      for_each_value(result, [&](size_t made) { made_[made] = true; });
    }
    call.written = read_places(document["written"], facts.parameters);
    call.unchanged = read_places(document["unchanged"], facts.parameters);
    call.rewrite = document["rewrite"].text();
    list_.calls.push_back(std::move(call));
  }

  void read_outputs(const Json& outputs, const Json& compared) {
    list_.outputs = read_operands(outputs, true);
    for (int64_t i = 0; i < compared.size(); ++i) {
      const Tensor expected = stored_.find(compared[i]);
      const size_t place = list_.outputs.size() - static_cast<size_t>(compared.size() - i);
      if (static_cast<size_t>(compared.size()) > list_.outputs.size() || expected.numel() != 1 ||
          list_.outputs[place].kind != ListOperand::Kind::tensor)
        throw ValueError("what a run compares is not a tensor of one element");
      const ListValue& value =
          list_.values[static_cast<size_t>(list_.outputs[place].values.front())];
      if (value.kind != Kind::result || !same_layout(value.layout, expected))
        throw ValueError("what a run compares is not a result of that layout");
      list_.compared.push_back(expected);
    }
    if (list_.outputs.size() - list_.compared.size() > detail::max_results)
      throw ValueError(format_text("it has more than {} results", detail::max_results));
  }

  const StoredConstants& stored_;
  const std::vector<Tensor> layouts_;
  Ops ops_;
  CallList list_;
  std::vector<bool> made_;
};

Json texts_document(const std::vector<std::string>& texts) {
  JsonArray list;
  for (const std::string& text : texts) list.add(text);
  return list.json();
}

}  // namespace

Json list_document(const CallList& list, ConstantStore& store) {
  Ops ops;
  JsonArray values, calls, compared;
  for (const ListValue& value : list.values) values.add(value_document(value, store));
  for (const ListedCall& call : list.calls) {
    ops.find(call.op);
    JsonObject object;
    object.set("op", call.op.name())
        .set("arguments", operands_document(call.arguments))
        .set("results", operands_document(call.results));
    if (!call.written.empty()) object.set("written", places_document(call.written));
    if (!call.unchanged.empty()) object.set("unchanged", places_document(call.unchanged));
    if (!call.rewrite.empty()) object.set("rewrite", call.rewrite);
    calls.add(object.json());
  }
  for (const Tensor& tensor : list.compared) compared.add(store.add(tensor, ""));
  return JsonObject()
      .set("values", values.json())
      .set("calls", calls.json())
      .set("outputs", operands_document(list.outputs))
      .set("compared", compared.json())
      .json();
}

CallList read_list(const Json& document, const StoredConstants& stored, const ArgumentsKey& key) {
  return ListReader(stored, key).read(document);
}

Json account_document(const PreparedList& report) {
  JsonArray rewrites;
  for (const rewrites::Applied& one : report.rewrites) {
    rewrites.add(JsonObject()
                     .set("rule", one.rule)
                     .set("plugin", one.plugin)
                     .set("count", one.count)
                     .set("bound", one.bound)
                     .json());
  }
  return JsonObject()
      .set("recorded", report.recorded)
      .set("recorded_peak_bytes", report.recorded_peak_bytes)
      .set("folded", texts_document(report.folded))
      .set("dropped", texts_document(report.dropped))
      .set("rewrites", rewrites.json())
      .set("refused", texts_document(report.refused))
      .json();
}

PreparedList read_account(const Json& document) {
  PreparedList report;
  const auto count = [](const Json& number) {
    return number.defined() ? read_integer(number, 0, INT64_MAX, "a count") : 0;
  };
  report.recorded = count(document["recorded"]);
  report.recorded_peak_bytes = count(document["recorded_peak_bytes"]);
  report.folded = lib::texts_of(document["folded"]);
  report.dropped = lib::texts_of(document["dropped"]);
  report.refused = lib::texts_of(document["refused"]);
  const Json rewrites = document["rewrites"];
  for (int64_t i = 0; i < rewrites.size(); ++i) {
    const Json one = rewrites[i], bound = one["bound"];
    report.rewrites.push_back({one["rule"].text(), one["plugin"].text(), count(one["count"]),
                               bound.is_number() ? bound.number() : 0});
  }
  return report;
}

}  // namespace prepared

TENON_NAMESPACE_END
