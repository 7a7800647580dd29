// operator[] against an oracle that walks elements: random indices of all kinds, views, assignment,
// gradients, refusals.
#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

using namespace tenon::indexing;
using tenon::none;
using tenon::Tensor;

namespace {

using Sizes = std::vector<int64_t>;

int64_t count_of(const Sizes& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}
// The next place in row-major order.
void advance(Sizes& at, const Sizes& sizes) {
  for (size_t d = sizes.size(); d-- > 0;) {
    if (++at[d] < sizes[d]) return;
    at[d] = 0;
  }
}
Tensor counted(const Sizes& sizes) {
  return tenon::arange(count_of(sizes)).to(tenon::f64).reshape(sizes);
}

struct Random {
  std::mt19937_64 engine;
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
};

// Reference for indices, without the SDK: one dimension's part.
struct Part {
  enum Kind { integer, slice, made, indices, gap } kind;  // gap: an ellipsis of no dimension
  Sizes values;      // indices of a slice or of index tensors, wrapped; one for an integer
  Sizes shape = {};  // shape of an index tensor
};
struct Case {
  std::vector<Index> indices;
  std::vector<Part> parts;
  bool with_tensors = false;
};

Tensor index_tensor(const Sizes& values, const Sizes& shape) {
  const Tensor result = tenon::empty_tensor(
      tenon::IntList(shape.data(), static_cast<int64_t>(shape.size())), tenon::i64);
  if (!values.empty()) std::copy(values.begin(), values.end(), result.data<int64_t>());
  return result;
}

class Draw {
 public:
  Draw(Random& random, const Sizes& sizes) : random_(random), sizes_(sizes) {}
  Case draw() {
    shape_ = random_.chance(50) ? Sizes{random_.between(1, 3)}
                                : Sizes{random_.between(1, 2), random_.between(1, 3)};
    bool ellipsis_drawn = false;
    while (true) {
      if (random_.chance(15)) {
        case_.indices.emplace_back(none);
        case_.parts.push_back({Part::made, {0}});
      }
      if (!ellipsis_drawn && random_.chance(15)) {
        ellipsis_drawn = true;
        case_.indices.emplace_back(ellipsis);
        case_.parts.push_back({Part::gap, {}});
        for (int64_t i = random_.between(0, left()); i > 0; --i) add_whole();
      }
      if (left() == 0 || (!ellipsis_drawn && random_.chance(15))) break;
      add();
    }
    while (left() > 0) add_whole();
    return std::move(case_);
  }

 private:
  int64_t left() const { return static_cast<int64_t>(sizes_.size()) - dim_; }
  int64_t size() const { return sizes_[static_cast<size_t>(dim_)]; }
  void add_whole() {
    Part part{Part::slice, {}};
    for (int64_t i = 0; i < size(); ++i) part.values.push_back(i);
    case_.parts.push_back(part);
    ++dim_;
  }
  void add() {
    const int64_t choice = random_.between(0, 9);
    if (choice < 3 && size() > 0) {
      const int64_t at = random_.between(-size(), size() - 1);
      case_.indices.emplace_back(at);
      case_.parts.push_back({Part::integer, {at < 0 ? at + size() : at}});
      ++dim_;
    } else if (choice < 6) {
      add_slice();
    } else if (choice < 8 && size() > 0) {
      add_tensor();
    } else {
      add_mask();
    }
  }
  void add_slice() {
    const bool from_start = random_.chance(30), to_end = random_.chance(30);
    const int64_t start = random_.between(-size() - 1, size() + 1),
                  stop = random_.between(-size() - 1, size() + 1), step = random_.between(1, 3);
    case_.indices.emplace_back(Slice(from_start ? Slice::Bound(none) : Slice::Bound(start),
                                     to_end ? Slice::Bound(none) : Slice::Bound(stop), step));
    const auto cut = [&](int64_t bound) {
      return std::min(std::max<int64_t>(bound < 0 ? bound + size() : bound, 0), size());
    };
    Part part{Part::slice, {}};
    for (int64_t i = from_start ? 0 : cut(start); i < (to_end ? size() : cut(stop)); i += step)
      part.values.push_back(i);
    case_.parts.push_back(part);
    ++dim_;
  }
  void add_tensor() {
    Sizes shape = shape_;
    for (int64_t& one : shape) one = random_.chance(25) ? 1 : one;
    if (random_.chance(20)) shape.erase(shape.begin());
    Part part{Part::indices, {}, shape};
    Sizes given;
    for (int64_t i = count_of(shape); i > 0; --i) {
      given.push_back(random_.between(-size(), size() - 1));
      part.values.push_back(given.back() < 0 ? given.back() + size() : given.back());
    }
    case_.indices.emplace_back(index_tensor(given, shape));
    case_.parts.push_back(part);
    case_.with_tensors = true;
    ++dim_;
  }
  // As many true elements as the other index tensors broadcast with, if there can be so many.
  void add_mask() {
    const int64_t rank = random_.between(1, std::min<int64_t>(2, left()));
    const Sizes shape(sizes_.begin() + dim_, sizes_.begin() + dim_ + rank);
    const int64_t count = count_of(shape), chosen = shape_.back();
    if (chosen > count) return add_whole_slice();
    const Tensor mask = tenon::zeros(shape, tenon::boolean);
    for (int64_t found = 0; found < chosen;) {
      bool& one = mask.data<bool>()[random_.between(0, count - 1)];
      found += one ? 0 : 1;
      one = true;
    }
    std::vector<Part> parts(static_cast<size_t>(rank), Part{Part::indices, {}, {chosen}});
    Sizes at(shape.size());
    for (int64_t i = 0; i < count; ++i, advance(at, shape)) {
      for (size_t d = 0; d < at.size() && mask.data<bool>()[i]; ++d)
        parts[d].values.push_back(at[d]);
    }
    case_.indices.emplace_back(mask);
    case_.parts.insert(case_.parts.end(), parts.begin(), parts.end());
    case_.with_tensors = true;
    dim_ += rank;
  }
  void add_whole_slice() {
    case_.indices.emplace_back(Slice());
    add_whole();
  }

  Random& random_;
  Sizes sizes_, shape_;
  int64_t dim_ = 0;
  Case case_;
};

// The result by NumPy's rules: for each element of it, its place in the tensor.
struct Expected {
  Sizes shape, places;

  Expected(const Sizes& sizes, const Case& drawn) {
    const std::vector<Part>& parts = drawn.parts;
    const auto selects = [&](const Part& part) {
      return part.kind == Part::indices || (drawn.with_tensors && part.kind == Part::integer);
    };
    Sizes common;  // common shape of the index tensors
    int64_t runs = 0, first_run = -1;
    bool running = false;
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool now = selects(parts[i]);
      if (now && !running && runs++ == 0) first_run = static_cast<int64_t>(i);
      running = now;
      if (!now) continue;
      const Sizes& own = parts[i].shape;
      while (common.size() < own.size()) common.insert(common.begin(), 1);
      for (size_t d = 0; d < own.size(); ++d) {
        int64_t& size = common[common.size() - own.size() + d];
        size = size == 1 ? own[d] : size;
      }
    }
    // Position of each part among the result's dimensions.
    size_t common_at = 0;
    const auto put_common = [&] {
      common_at = shape.size();
      shape.insert(shape.end(), common.begin(), common.end());
    };
    std::vector<size_t> dims(parts.size());
    if (runs > 1) put_common();
    for (size_t i = 0; i < parts.size(); ++i) {
      if (runs == 1 && static_cast<int64_t>(i) == first_run) put_common();
      dims[i] = shape.size();
      if (parts[i].kind == Part::slice || parts[i].kind == Part::made)
        shape.push_back(static_cast<int64_t>(parts[i].values.size()));
    }
    Sizes at(shape.size());
    for (int64_t n = count_of(shape); n > 0; --n, advance(at, shape)) {
      int64_t place = 0;
      size_t dim = 0;
      for (size_t i = 0; i < parts.size(); ++i) {
        const Part& part = parts[i];
        if (part.kind == Part::made || part.kind == Part::gap) continue;
        int64_t chosen = 0;
        if (part.kind == Part::slice) {
          chosen = at[dims[i]];
        } else if (part.kind == Part::indices) {
          for (size_t d = 0; d < part.shape.size(); ++d) {
            const int64_t own = at[common_at + common.size() - part.shape.size() + d];
            chosen = chosen * part.shape[d] + (part.shape[d] == 1 ? 0 : own);
          }
        }
        place = place * sizes[dim++] + part.values[static_cast<size_t>(chosen)];
      }
      places.push_back(place);
    }
  }
};

std::vector<double> as_numbers(const Sizes& places) { return {places.begin(), places.end()}; }
Element at(const Tensor& x, const Case& drawn) {
  const Index* indices = drawn.indices.data();
  return element(x, indices, indices + drawn.indices.size());
}

}  // namespace

TEST_SUITE("sdk/indexing") {
  TEST_CASE(
      "random indices give the elements that NumPy's rules say, are written and differentiated") {
    int64_t views = 0, gathers = 0;
    for (uint64_t seed = 1; seed <= 1500; ++seed) {
      Random random{std::mt19937_64(seed)};
      Sizes sizes;
      for (int64_t i = random.between(1, 4); i > 0; --i)
        sizes.push_back(random.chance(5) ? 0 : random.between(1, 4));
      CAPTURE(seed);
      const Case drawn = Draw(random, sizes).draw();
      const Expected expected(sizes, drawn);
      Tensor x = counted(sizes);
      if (random.chance(50) && x.dim() > 1) x = x.transpose(0, -1).contiguous().transpose(0, -1);
      const Tensor found = at(x, drawn);
      REQUIRE(found.sizes() == expected.shape);
      REQUIRE(found.to_vector<double>() == as_numbers(expected.places));
      const bool view = found.numel() > 0 &&
                        tenon::service::tensors().shares_storage(found.handle(), x.handle()) != 0;
      CHECK(view == (!drawn.with_tensors && found.numel() > 0));
      ++(drawn.with_tensors ? gathers : views);

      const Tensor values = counted(expected.shape) + 1000;
      std::vector<double> written = x.to_vector<double>(), gradient(written.size());
      for (size_t i = 0; i < expected.places.size(); ++i) {
        const auto place = static_cast<size_t>(expected.places[i]);
        written[place] = 1000 + static_cast<double>(i);
        gradient[place] += 1000 + static_cast<double>(i);
      }
      Tensor changed = x.clone();
      at(changed, drawn) = values;
      REQUIRE(changed.to_vector<double>() == written);
      Tensor input = x.clone().requires_grad_();
      (at(input, drawn) * values).sum().backward();
      REQUIRE(input.grad().to_vector<double>() == gradient);
    }
    CHECK(views > 300);
    CHECK(gathers > 300);
  }

  TEST_CASE("indices are written in brackets") {
    const Tensor x = counted({2, 3, 4});
    CHECK(x[1].sizes() == Sizes{3, 4});
    CHECK(x[{1, -1, 2}].item() == 22);
    CHECK(x[{ellipsis, Slice(1, none, 2)}].sizes() == Sizes{2, 3, 2});
    CHECK(x[{none, Slice(), 0}].sizes() == Sizes{1, 2, 4});
    CHECK(x[x > 20].to_vector<double>() == std::vector<double>{21, 22, 23});
    CHECK(x[{tenon::tensor({1, 0}), Slice(), tenon::tensor({0, 3})}].sizes() == Sizes{2, 3});
    CHECK(x[{0, Slice(), tenon::tensor({0, 3})}].sizes() == Sizes{2, 3});
    CHECK(x[{0, tenon::tensor({0, 2})}].sizes() == Sizes{2, 4});
    const Tensor row = x[0][1];
    CHECK(row.to_vector<double>() == std::vector<double>{4, 5, 6, 7});
    CHECK(x[Slice(1, 2)][0].sum().item() == 210);
  }

  TEST_CASE("assigning writes to the tensor, and binding a name does not") {
    Tensor x = tenon::zeros({2, 3});
    x[0] = 1;
    x[{1, Slice(1, none)}] = tenon::tensor({5.0, 6.0});
    x[{ellipsis, 0}] += 10;
    CHECK(x.to_vector<double>() == std::vector<double>{11, 1, 1, 10, 5, 6});
    x[x > 9] = -1;
    x[tenon::tensor({1, 1})] *= 2;  // as NumPy: once
    CHECK(x.to_vector<double>() == std::vector<double>{-1, 1, 1, -2, 10, 12});
    x[0] = x[1];
    CHECK(x.to_vector<double>() == std::vector<double>{-2, 10, 12, -2, 10, 12});
    auto first = x[0];
    first = x[1];
    Tensor other = x[0];
    other = tenon::ones({3});
    CHECK(x.to_vector<double>() == std::vector<double>{-2, 10, 12, -2, 10, 12});
    Tensor whole = tenon::zeros({3}, tenon::i32);
    whole[tenon::tensor({2, 0})] = 7;
    CHECK(whole.to_vector<int64_t>() == std::vector<int64_t>{7, 0, 7});
  }

  TEST_CASE("what is written has a gradient") {
    const Tensor value = tenon::tensor({1.0, 2.0}).requires_grad_();
    const Tensor leaf = tenon::ones({2, 2}).requires_grad_();
    Tensor x = leaf * 3;
    x[{tenon::tensor({0, 1}), 1}] = value;
    x[{0, 0}] = value[0];
    (x * tenon::tensor({{1.0, 2.0}, {3.0, 4.0}})).sum().backward();
    CHECK(value.grad().to_vector<double>() == std::vector<double>{3, 4});
    CHECK(leaf.grad().to_vector<double>() == std::vector<double>{0, 0, 9, 0});
  }

  TEST_CASE("indices that do not fit are refused") {
    const Tensor x = counted({2, 3});
    const auto refusal = [&](const auto& call) {
      try {
        call();
      } catch (const tenon::IndexError& error) {
        return std::string(error.what());
      }
      return std::string("nothing was refused");
    };
    CHECK(refusal([&] { x[{0, 3}]; }) == "index 3 is out of range for dimension 1 with size 3");
    CHECK(refusal([&] { x[{0, 1, 2}]; }) == "3 dimensions are indexed, but the tensor has 2");
    CHECK(refusal([&] { x[{ellipsis, 0, ellipsis}]; }) == "2 indices are an ellipsis; use one");
    CHECK(refusal([&] {
            x[tenon::ones({3, 2}, tenon::boolean)];
          }).find("the mask of shape") != std::string::npos);
    CHECK(refusal([&] { x[tenon::tensor({5})]; }).find("index 5 is out of range") !=
          std::string::npos);
    CHECK_THROWS_AS(x[Slice(none, none, -1)], tenon::ValueError);
    CHECK_THROWS_AS(x[Tensor()], tenon::TypeError);
    CHECK_THROWS_AS(x[tenon::ones({2})], tenon::TypeError);
  }
}
