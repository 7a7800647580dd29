// NumPy as a second oracle: numpy/ops.json has an expression of NumPy for each op. The calls are
// drawn here and their results written; numpy/compare.py evaluates the expressions and reports what
// differs. TENON_TEST_SEED=7 draws other calls, TENON_TEST_ROUNDS=10 ten times as many,
// TENON_TEST_KEEP=1 keeps the files that are exchanged.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "declared_ops.hpp"
#include "random_inputs.hpp"

using namespace declared;
using random_inputs::Draw;
using random_inputs::Sizes;
using tenon::DType;

namespace {

namespace fs = std::filesystem;

constexpr int64_t kAnswered = 200;  // calls of each op that are not refused
constexpr int64_t kAttempts = 8;    // times as many are drawn at most

int64_t setting(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atoll(text);
}
fs::path folder() { return TENON_NUMPY_ORACLE; }

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Json table_of_ops() { return Json::parse(text_of_file(folder() / "ops.json")); }

// A row of the table with what its group has for all rows.
struct Row {
  std::string op;
  Json own, group;
  Json over;  // the row for complex operands; undefined for all others
  Json at(const char* key) const {
    if (over.defined() && over[key].defined()) return over[key];
    return own[key].defined() ? own[key] : group[key];
  }
  std::string name() const { return over.defined() ? op + " of complex numbers" : op; }
  // How an argument is drawn; undefined where its type says enough.
  Json draw(const std::string& parameter) const {
    const Json here = own["draw"][parameter];
    return here.defined() ? here : group["draw"][parameter];
  }
};
// A row for complex operands; undefined when it is not used again with them.
Json over_complex(const Json& table, const std::string& op) {
  for (int64_t t = 0; t < table["complex"].size(); ++t) {
    const Json again = table["complex"][t];
    for (int64_t i = 0; i < again["ops"].size(); ++i) {
      if (again["ops"][i].text() == op) return again["with"];
    }
  }
  return {};
}
using Ops = std::map<std::string, Declared>;
// An in-place form is drawn as the op is, and has no row itself.
std::vector<Row> rows_of(const Json& table, const Ops& declared) {
  std::vector<Row> rows;
  const auto add = [&](Row row) {
    rows.push_back(row);
    row.op += '_';
    if (declared.count(row.op) != 0) rows.push_back(row);
  };
  const Json groups = table["groups"];
  for (int64_t g = 0; g < groups.size(); ++g) {
    const Json ops = groups[g]["ops"];
    for (int64_t i = 0; i < ops.size(); ++i) {
      const Row row{ops.key(i), ops[i].is_text() ? Json() : ops[i], groups[g], Json()};
      add(row);
      const Json over = over_complex(table, row.op);
      if (over.defined()) add({row.op, row.own, row.group, over});
    }
  }
  return rows;
}

std::vector<DType> dtypes_of(const std::string& name) {
  using namespace tenon;
  static const std::map<std::string, std::vector<DType>> kinds{
      {"all", {f32, f64, f64, boolean, u8, i8, i16, i32, i64}},
      {"numeric", {f32, f64, f64, u8, i8, i16, i32, i64}},
      {"float", {f32, f64}},
      {"integer", {u8, i8, i16, i32, i64}},
      {"whole", {boolean, u8, i8, i16, i32, i64}},
      {"signed", {f32, f64, i8, i16, i32, i64}},
      {"complex", {c64, c128, c128}},
      {"complex or real", {c64, c128, c128, f32, f64, i32}},
      {"bool", {boolean}},
      {"i64", {i64}}};
  return kinds.at(name);
}

// A default of a schema, "None", "False" or "'linear'", as JSON has it.
std::string as_json(std::string text) {
  static const std::map<std::string, std::string> names{
      {"", "null"}, {"None", "null"}, {"False", "false"}, {"True", "true"}};
  const auto found = names.find(text);
  if (found != names.end()) return found->second;
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

// Draws the arguments of one op. Letters of shapes are sizes, the same ones in a call; "*" is the
// call's own shape, which operands broadcast to.
class Drawer {
 public:
  Drawer(uint64_t seed, const Declared& op, const Row& row)
      : random_(seed), op_(op), row_(row), mixed_(row.at("mixed").as_bool(true)) {}

  Call draw() {
    sizes_.clear();
    first_ = {};
    base_ = random_.shape(row_.at("least_rank").integer(0), row_.at("most_rank").integer(4));
    dtype_ = random_.of(dtypes_of(row_.at("dtypes").text("all")));
    Call call;
    number_drawn_ = false;
    for (size_t i = 0; i < op_.operands; ++i) {
      const Parameter& parameter = op_.parameters[i];
      call.push_back(argument(parameter, row_.draw(parameter.name)));
      if (!first_.defined() && call.back().kind == Held::one_tensor) first_ = call.back().tensor;
      if (!first_.defined() && call.back().kind == Held::tensor_list)
        first_ = call.back().tensors.front();
    }
    return call;
  }

 private:
  Held argument(const Parameter& parameter, const Json& how) {
    const std::string& type = parameter.type;
    const bool drawn = how.defined();
    if (drawn && how["of"].defined()) return chosen(how["of"][random_.below(how["of"].size())]);
    if (parameter.optional && (how.is_null() || random_.chance(30))) {
      if (!drawn && parameter.name == "dim" && random_.chance(70)) return dims(parameter, how);
      return {};
    }
    if (type == "Tensor|Scalar") {
      const bool number = !number_drawn_ && random_.chance(how["tensor"].as_bool() ? 0 : 20);
      number_drawn_ |= number;
      return number ? scalar(how) : held(tensor(how));
    }
    if (type == "Tensor") return held(tensor(how));
    if (type == "Tensor[]") {
      Held result;
      result.kind = Held::tensor_list;
      for (int64_t i = random_.below(3); i >= 0; --i) result.tensors.push_back(tensor(how));
      return result;
    }
    if (type == "bool" && (drawn || parameter.name == "keepdim")) return number(random_.chance(50));
    if (type == "dtype" && drawn) {
      Held result;
      result.kind = Held::dtype;
      result.type = random_.of(dtypes_of(how["dtype"].text("all")));
      return result;
    }
    const bool named = parameter.name.compare(0, 3, "dim") == 0 && !how["low"].defined();
    if (named || how["dims"].defined()) return dims(parameter, how);
    if (drawn) return type.compare(0, 4, "int[") == 0 ? integers(how) : scalar(how);
    return chosen(Json::parse(as_json(parameter.default_text)));
  }

  Held held(const Tensor& tensor) {
    Held result;
    result.kind = Held::one_tensor;
    result.tensor = tensor;
    return result;
  }
  Held number(const Scalar& number) {
    Held result;
    result.kind = Held::scalar;
    result.number = number;
    return result;
  }
  Held chosen(const Json& value) {
    Held result;
    if (value.is_null()) return result;
    if (value.is_text()) {
      result.kind = Held::string;
      result.text = value.text();
    } else if (value.is_container()) {
      result.kind = Held::integers;
      for (int64_t i = 0; i < value.size(); ++i) result.list.push_back(value[i].integer());
    } else {
      const std::string text = value.dump();
      if (text == "true" || text == "false") return number(text == "true");
      const bool whole = text.find_first_of(".eE") == std::string::npos;
      return whole ? number(value.integer()) : number(value.number());
    }
    return result;
  }
  int64_t between(const Json& how) {
    return random_.between(how["low"].integer(-3), how["high"].integer(3));
  }
  Held scalar(const Json& how) {
    const double fraction = how["real"].as_bool() || (!how["low"].defined() && random_.chance(40))
                                ? 0.25 * static_cast<double>(random_.between(-9, 9))
                                : 0;
    if (how["real"].as_bool() || fraction != 0) return number(fraction);
    const int64_t least = tenon::is_floating(dtype_) || dtype_ != tenon::u8 ? -3 : 0;
    return number(random_.between(how["low"].integer(least), how["high"].integer(3)));
  }
  int64_t rank() const { return first_.defined() ? first_.dim() : 0; }
  // A dim of `rank`, from either end; now and then one that does not exist.
  int64_t dim(int64_t rank) {
    const int64_t most = std::max<int64_t>(rank, 1);
    return random_.chance(2) ? random_.of(Sizes{most, -most - 1})
                             : random_.between(-most, most - 1);
  }
  Held dims(const Parameter& parameter, const Json& how) {
    const bool list = parameter.type.compare(0, 4, "int[") == 0;
    if (!list) return number(dim(rank() + how["more"].integer(0)));
    Held result;
    result.kind = Held::integers;
    const bool all = how["dims"].text("") == "all";
    for (int64_t i = 0; i < rank(); ++i)
      result.list.insert(result.list.begin() + random_.between(0, i), i);
    if (!all && !result.list.empty())
      result.list.resize(static_cast<size_t>(random_.between(1, rank())));
    for (int64_t& one : result.list) one -= random_.chance(40) ? rank() : 0;
    return result;
  }
  Held integers(const Json& how) {
    Held result;
    result.kind = Held::integers;
    if (how["like"].text("") == "broadcast") {  // to more dims, ones made larger
      for (int64_t i = random_.below(3); i > 0; --i) result.list.push_back(random_.between(0, 3));
      for (const int64_t size : first_.sizes())
        result.list.push_back(size == 1 ? random_.between(0, 3) : size);
    } else if (how["like"].text("") == "reshape") {  // sizes merged; one is sometimes left open
      for (const int64_t size : first_.sizes()) {
        if (!result.list.empty() && random_.chance(50))
          result.list.back() *= size;
        else
          result.list.push_back(size);
      }
      if (!result.list.empty() && random_.chance(40)) result.list[0] = -1;
    } else {
      const int64_t count =
          how["count"].integer(rank() + how["more"].integer(0)) * how["times"].integer(1);
      for (int64_t i = 0; i < count; ++i) result.list.push_back(between(how));
    }
    return result;
  }

  int64_t size_of(char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    const auto found = sizes_.find(letter);
    if (found != sizes_.end()) return random_.chance(1) ? random_.between(0, 4) : found->second;
    return sizes_[letter] = random_.chance(8) ? 0 : random_.between(1, 5);
  }
  Sizes shape(const Json& how) {
    const std::string letters = how["shape"].text("*");
    Sizes sizes;
    for (const char letter : letters) {
      if (letter != '*') {
        sizes.push_back(size_of(letter));
        continue;
      }
      Sizes own = base_;
      if (first_.defined() || random_.chance(20)) {  // sizes of 1, fewer dims
        for (int64_t& size : own) size = random_.chance(15) && size != 0 ? 1 : size;
        const auto fewer = static_cast<int64_t>(own.size()) + 1;
        if (!how["whole"].as_bool() && random_.chance(25))
          own.erase(own.begin(), own.begin() + random_.below(fewer));
      }
      if (how["same"].as_bool() || row_.at("same").as_bool()) own = base_;
      sizes.insert(sizes.end(), own.begin(), own.end());
    }
    return sizes;
  }
  Tensor tensor(const Json& how) {
    DType dtype = dtype_;
    if (mixed_ && random_.chance(30)) dtype = random_.of(dtypes_of(row_.at("dtypes").text("all")));
    if (how["dtype"].defined()) dtype = random_.of(dtypes_of(how["dtype"].text()));
    const bool special = how["special"].as_bool(row_.at("special").as_bool(true));
    Tensor result = random_.tensor(shape(how), dtype, special);
    if (how["below"].defined() || how["low"].defined()) {
      int64_t low = how["low"].integer(0), high = how["high"].integer(3);
      if (how["below"].is_text()) {  // an index of that size, from either end
        high = size_of(how["below"].text()[0]) - 1;
        low = how["low"].integer(-high - 1);
      }
      result = filled(result, low, high);
    }
    if (how["positive"].as_bool() && result.dim() >= 2)  // definite
      result = tenon::matmul(result, tenon::conjugate(result.transpose(-1, -2))) +
               tenon::eye(result.size(-2), std::nullopt, dtype) * 4;
    if (how["sorted"].as_bool() && result.dim() > 0 && result.numel() > 0)
      result = std::get<0>(tenon::sort(result));
    return result;
  }
  Tensor filled(const Tensor& like, int64_t low, int64_t high) {
    const Tensor result = tenon::empty_tensor(like.shape(), like.dtype());
    tenon::visit(like.dtype(), [&](auto zero) {
      using T = decltype(zero);
      T* to = result.numel() == 0 ? nullptr : result.data<T>();
      for (int64_t i = 0; i < result.numel(); ++i)
        to[i] = static_cast<T>(high < low ? 0 : random_.between(low, high));
    });
    return result;
  }

  Draw random_;
  const Declared& op_;
  const Row& row_;
  bool mixed_, number_drawn_ = false;
  std::map<char, int64_t> sizes_;
  Sizes base_;
  Tensor first_;
  DType dtype_ = tenon::f32;
};

// Calls and results as text of JSON; the elements of all tensors follow each other in one array.
class Record {
 public:
  void begin(const Declared& op, const std::string& name) {
    text_ += text_.empty() ? "{" : "]},\n";
    text_ += quoted(name) + ": {\"parameters\": [";
    for (size_t i = 0; i < op.operands; ++i)
      text_ += (i == 0 ? "" : ",") + quoted(op.parameters[i].name);
    text_ += "], \"calls\": [";
    first_ = true;
  }
  void add(const Declared& op, const Call& call, const Outcome& outcome) {
    text_ += first_ ? "\n[" : ",\n[";
    first_ = false;
    text_ += quoted(text_of(op, call)) + ",[";
    for (size_t i = 0; i < call.size(); ++i) text_ += (i == 0 ? "" : ",") + argument(call[i]);
    text_ += "],";
    text_ += outcome.refused.empty() ? list(outcome.tensors) : quoted(outcome.refused);
    text_ += ']';
  }
  void write(const fs::path& into) {
    std::ofstream(into / "calls.json") << text_ << (text_.empty() ? "{}" : "]}}");
    const Tensor elements =
        tenon::empty_tensor({static_cast<int64_t>(elements_.size())}, tenon::u8);
    std::copy(elements_.begin(), elements_.end(), elements.data<uint8_t>());
    tenon::Op("data.write_npy").call<void>((into / "elements.npy").string(), elements);
  }

 private:
  static std::string quoted(const std::string& text) {
    return tenon::JsonArray().add(text).json()[0].dump();
  }
  std::string tensor(const Tensor& tensor) {
    const Tensor whole = tensor.contiguous();
    std::string text = "{\"at\":" + std::to_string(elements_.size()) + ",\"dtype\":\"" +
                       std::string(tenon::dtype_text(whole.dtype())) + "\",\"shape\":[";
    for (int64_t i = 0; i < whole.dim(); ++i)
      text += (i == 0 ? "" : ",") + std::to_string(whole.size(i));
    const auto* bytes = static_cast<const uint8_t*>(whole.view_record().data);
    if (whole.numel() != 0) {
      elements_.insert(elements_.end(), bytes,
                       bytes + whole.numel() * tenon::element_size(whole.dtype()));
    }
    elements_.resize((elements_.size() + 15) / 16 * 16);
    return text + "]}";
  }
  std::string list(const std::vector<Tensor>& tensors) {
    std::string text = "[";
    for (const Tensor& one : tensors) text += (text.size() == 1 ? "" : ",") + tensor(one);
    return text + "]";
  }
  std::string argument(const Held& held) {
    switch (held.kind) {
      case Held::one_tensor:
        return tensor(held.tensor);
      case Held::tensor_list:
        return list(held.tensors);
      case Held::integers: {
        std::string text = "[";
        for (const int64_t number : held.list)
          text += (text.size() == 1 ? "" : ",") + std::to_string(number);
        return text + "]";
      }
      case Held::string:
        return quoted(held.text);
      case Held::scalar: {
        if (held.number.is_bool()) return held.number.to<bool>() ? "true" : "false";
        const std::string text = held.number.text();
        const bool whole = text.find_first_of(".en") == std::string::npos;
        return held.number.is_floating() && whole ? text + ".0" : text;
      }
      case Held::dtype:
        return std::string("{\"type\":\"") + std::string(tenon::dtype_text(held.type)) + "\"}";
      default:
        return "null";
    }
  }

  std::string text_;
  std::vector<uint8_t> elements_;
  bool first_ = true;
};

// A Python that has NumPy; empty where there is none.
std::string python() {
  for (const char* candidate : {"python3", "/usr/bin/python3"}) {
    const std::string command = std::string(candidate) + " -c 'import numpy' 2>/dev/null";
    if (std::system(command.c_str()) == 0) return candidate;
  }
  return {};
}

// Plugin fft is optional.
bool has_fft() {
  try {
    return tenon::Op("fft.fft").handle() != nullptr;
  } catch (const tenon::Error&) {
    return false;
  }
}

Ops ops_by_name() {
  Ops ops;
  std::vector<std::string> plugins{"math", "blas", "nn"};
  if (has_fft()) plugins.emplace_back("fft");
  for (const Declared& op : declared_ops(plugins)) ops[op.name] = op;
  return ops;
}

}  // namespace

TEST_SUITE("plugins/numpy_oracle") {
  TEST_CASE("every op of math and blas has an expression of NumPy, or a reason why not") {
    std::map<std::string, int> mentions;
    const Json table = table_of_ops();
    const Ops ops = ops_by_name();
    for (const Row& row : rows_of(table, ops)) mentions[row.op] += row.over.defined() ? 0 : 1;
    const Json without = table["without"];
    for (int64_t i = 0; i < without.size(); ++i) {
      CHECK(!without[i]["reason"].text().empty());
      for (int64_t k = 0; k < without[i]["ops"].size(); ++k) {
        const std::string name = without[i]["ops"][k].text();
        ++mentions[name];
        if (ops.count(name + "_") != 0) ++mentions[name + "_"];
      }
    }
    for (const auto& one : ops) {
      const auto& name = one.first;
      if (name.compare(0, 3, "nn.") == 0 || name.compare(0, 6, "optim.") == 0) continue;
      if (name.compare(0, 7, "metric.") == 0 || name.compare(0, 9, "schedule.") == 0) continue;
      CAPTURE(name);
      CHECK(mentions[name] == 1);
    }
    for (const auto& mention : mentions) {
      if (mention.first.compare(0, 4, "fft.") == 0 && !has_fft()) continue;
      CAPTURE(mention.first);
      CHECK(ops.count(mention.first) == 1);
    }
  }

  TEST_CASE("calls drawn at random give what NumPy gives") {
    const std::string interpreter = python();
    if (interpreter.empty()) {
      MESSAGE("skipped: no python3 with NumPy (apt-get install python3-numpy)");
      return;
    }
    const Ops ops = ops_by_name();
    const int64_t answered_each = kAnswered * setting("TENON_TEST_ROUNDS", 1);
    Record record;
    for (const Row& row : rows_of(table_of_ops(), ops)) {
      if (ops.count(row.op) == 0) continue;
      const Declared& op = ops.at(row.op);
      CAPTURE(row.name());
      const auto seed = static_cast<uint64_t>(setting("TENON_TEST_SEED", 1));
      Drawer drawer(seed * 1000003 + std::hash<std::string>()(row.name()), op, row);
      record.begin(op, row.name());
      int64_t answered = 0;
      for (int64_t i = 0; answered < answered_each && i < answered_each * kAttempts; ++i) {
        const Call call = drawer.draw();
        // An op that changes its operand is given another one, so that the record has the call.
        Call given = call;
        for (size_t k = 0; k < given.size(); ++k) {
          if (op.parameters[k].mutated) given[k].tensor = given[k].tensor.clone();
        }
        const Outcome outcome = run(op, given);
        answered += outcome.refused.empty() ? 1 : 0;
        record.add(op, call, outcome);
      }
      CHECK(answered == answered_each);
    }
    std::string name = (fs::temp_directory_path() / "tenon_numpy_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    const fs::path exchange = name;
    record.write(exchange);
    const std::string command = interpreter + " -B '" + (folder() / "compare.py").string() + "' '" +
                                exchange.string() + "'";
    const int status = std::system(command.c_str());
    const Json report = Json::parse(text_of_file(exchange / "report.json"));
    if (std::getenv("TENON_TEST_KEEP") == nullptr) fs::remove_all(exchange);
    REQUIRE(status == 0);
    for (int64_t i = 0; i < report["differences"].size(); ++i)
      FAIL_CHECK(report["differences"][i].text());
    MESSAGE(report["summary"].text());
  }
}
