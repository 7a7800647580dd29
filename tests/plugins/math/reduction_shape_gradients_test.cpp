// Every differentiable reduction and shape op against central differences: first order, second
// order, forward mode.
#include <cctype>
#include <limits>

#include <tenon/gradcheck.hpp>

#include "../compare.hpp"
#include "gradient_cases.hpp"

using namespace compare;
using tenon::none;

namespace {

using List = const std::vector<Tensor>&;
using Results = std::vector<Tensor>;
using Dims = std::vector<int64_t>;

struct Case {
  std::string op;
  std::function<Results(List)> call;
  std::vector<Tensor> inputs;
};

// Numbers without ties whose order is not their place.
Tensor distinct(const Dims& shape, uint64_t seed = 1) { return leaf(shape, seed); }

void add_reductions(std::vector<Case>& list) {
  using Reduction = Tensor (*)(const Tensor&, const tenon::Argument&, bool);
  const auto reduction = [&](const char* op, Reduction call) {
    for (const bool keepdim : {false, true}) {
      for (const Dims& dims : {Dims{}, Dims{0}, Dims{-1, 0}, Dims{1}}) {
        list.push_back({op,
                        [=](List in) { return Results{call(in[0], dims, keepdim)}; },
                        {distinct({3, 4, 2})}});
        list.push_back(
            {op,
             [=](List in) { return Results{call(in[0].transpose(0, 1), dims, keepdim)}; },
             {distinct({2, 3})}});
      }
      list.push_back(
          {op, [=](List in) { return Results{call(in[0], none, keepdim)}; }, {distinct({3})}});
    }
  };
  reduction("sum", [](const Tensor& x, const tenon::Argument& d, bool k) { return sum(x, d, k); });
  reduction("mean",
            [](const Tensor& x, const tenon::Argument& d, bool k) { return mean(x, d, k); });
  reduction("amax",
            [](const Tensor& x, const tenon::Argument& d, bool k) { return amax(x, d, k); });
  reduction("amin",
            [](const Tensor& x, const tenon::Argument& d, bool k) { return amin(x, d, k); });
  reduction("var", [](const Tensor& x, const tenon::Argument& d, bool k) { return var(x, d, k); });
  reduction("std",
            [](const Tensor& x, const tenon::Argument& d, bool k) { return tenon::std(x, d, k); });
  reduction("logsumexp",
            [](const Tensor& x, const tenon::Argument& d, bool k) { return logsumexp(x, d, k); });
  for (const char* op : {"sum", "mean", "logsumexp", "amax", "amin"}) {
    list.push_back(
        {op, [op](List in) { return Results{tenon::Op(op).call<Tensor>(in[0])}; }, {distinct({})}});
  }
  for (const char* op : {"sum", "mean", "var", "std", "logsumexp"}) {
    list.push_back({op,
                    [op](List in) { return Results{tenon::Op(op).call<Tensor>(in[0] * 2)}; },
                    {distinct({0, 3})}});
  }
  list.push_back(
      {"var", [](List in) { return Results{var(in[0], Dims{0}, false, 0)}; }, {distinct({3, 2})}});
  list.push_back({"sum",
                  [](List in) { return Results{sum(in[0], none, false, tenon::f64)}; },
                  {distinct({3, 2})}});

  // Zeros in a product: one, two, none in a line.
  const Tensor zeros_inside =
      tenon::tensor({{0.0, 2.0, 3.0}, {0.0, 0.0, 1.5}, {1.0, -2.0, 0.5}}, tenon::f64)
          .requires_grad_();
  for (const Tensor& x : {zeros_inside, distinct({3, 3})}) {
    for (const bool keepdim : {false, true}) {
      list.push_back({"prod", [=](List in) { return Results{prod(in[0], 0, keepdim)}; }, {x}});
      list.push_back({"prod", [=](List in) { return Results{prod(in[0], -1, keepdim)}; }, {x}});
      list.push_back({"prod", [=](List in) { return Results{prod(in[0], none, keepdim)}; }, {x}});
    }
  }
  list.push_back({"prod", [](List in) { return Results{prod(in[0])}; }, {distinct({})}});
  list.push_back({"prod",
                  [](List in) { return Results{prod(in[0], 0)}; },
                  {tenon::tensor(0.0, tenon::f64).requires_grad_()}});

  for (const int64_t dim : {int64_t{0}, int64_t{-1}}) {
    for (const bool keepdim : {false, true}) {
      list.push_back({"max",
                      [=](List in) { return Results{std::get<0>(max(in[0], dim, keepdim))}; },
                      {distinct({3, 4})}});
      list.push_back({"min",
                      [=](List in) { return Results{std::get<0>(min(in[0], dim, keepdim))}; },
                      {distinct({3, 4})}});
    }
    list.push_back(
        {"max", [=](List in) { return Results{std::get<0>(max(in[0], dim))}; }, {distinct({})}});
    list.push_back(
        {"min", [=](List in) { return Results{std::get<0>(min(in[0], dim))}; }, {distinct({2})}});
    list.push_back(
        {"cumsum", [=](List in) { return Results{cumsum(in[0], dim)}; }, {distinct({3, 4})}});
    list.push_back({"cumsum",
                    [=](List in) { return Results{cumsum(in[0], dim, true, dim == 0)}; },
                    {distinct({3, 4})}});
    list.push_back(
        {"cumsum", [=](List in) { return Results{cumsum(in[0], dim)}; }, {distinct({})}});
  }
  list.push_back({"sum_to_size",
                  [](List in) {
                    return Results{sum_to_size(in[0], {1, 3})};
                  },
                  {distinct({2, 2, 3})}});
  list.push_back({"sum_to_size",
                  [](List in) {
                    return Results{sum_to_size(in[0], {2, 3})};
                  },
                  {distinct({2, 3})}});
}

// Sums, products and extrema that accumulate; norms; what is picked by its order.
void add_ordered(std::vector<Case>& list) {
  using Call = std::function<Tensor(const Tensor&)>;
  const auto add = [&](const char* op, const Call& call, const Tensor& x) {
    list.push_back({op, [call](List in) { return Results{call(in[0])}; }, {x}});
  };
  const auto first = [](const std::tuple<Tensor, Tensor>& pair) { return std::get<0>(pair); };
  const Tensor zeros_inside =
      tenon::tensor({{0.0, 2.0, 3.0, -1.0}, {0.5, 0.0, 1.5, 0.0}, {1.0, -2.0, 0.5, 2.0}},
                    tenon::f64)
          .requires_grad_();
  for (const int64_t dim : {int64_t{0}, int64_t{-1}}) {
    for (const Tensor& x : {zeros_inside, distinct({3, 4}), distinct({1, 1})})
      add(
          "cumprod", [=](const Tensor& t) { return t.cumprod(dim); }, x);
    add(
        "logcumsumexp", [=](const Tensor& t) { return logcumsumexp(t * 5, dim); },
        distinct({3, 4}));
    add(
        "cummax", [=](const Tensor& t) { return first(cummax(t, dim)); }, distinct({3, 4}));
    add(
        "cummin", [=](const Tensor& t) { return first(cummin(t, dim)); }, distinct({3, 4}));
    for (const bool descending : {false, true})
      add(
          "sort", [=](const Tensor& t) { return first(sort(t, dim, descending)); },
          distinct({3, 4}));
    add(
        "topk", [=](const Tensor& t) { return first(topk(t, 2, dim)); }, distinct({3, 4}));
    for (const bool keepdim : {false, true})
      add(
          "median", [=](const Tensor& t) { return first(median(t, dim, keepdim)); },
          distinct({3, 4}));
  }
  add(
      "median", [=](const Tensor& t) { return first(median(t)); }, distinct({3, 4}));
  add(
      "median", [=](const Tensor& t) { return first(median(t, none, true)); }, distinct({3, 4}));
  for (const char* op : {"cumprod", "logcumsumexp"}) {
    add(
        op, [=](const Tensor& t) { return tenon::Op(op).call<Tensor>(t, 0); }, distinct({}));
    add(
        op, [=](const Tensor& t) { return tenon::Op(op).call<Tensor>(t * 2, 0); },
        distinct({0, 2}));
  }
  for (const char* op : {"sort", "median", "cummax", "cummin"}) {
    add(
        op,
        [=](const Tensor& t) {
          return first(tenon::Op(op).call<std::tuple<Tensor, Tensor>>(t, 0));
        },
        distinct({}));
  }
  const double inf = std::numeric_limits<double>::infinity();
  for (const double ord : {2.0, 1.0, 0.0, 3.0, 1.5, 0.5, -1.0, -2.5, inf, -inf}) {
    add(
        "vector_norm", [=](const Tensor& t) { return vector_norm(t, ord); }, distinct({2, 3}));
    add(
        "vector_norm", [=](const Tensor& t) { return vector_norm(t, ord, Dims{-1}, true); },
        distinct({2, 3}));
    add(
        "vector_norm",
        [=](const Tensor& t) { return vector_norm(t.transpose(0, 1), ord, Dims{0}); },
        distinct({2, 3}));
  }
  // Composite ops, whose gradients come from what they call.
  add(
      "nansum", [](const Tensor& t) { return nansum(t * t, Dims{1}); }, distinct({2, 3}));
  add(
      "nanmean", [](const Tensor& t) { return nanmean(t * t, Dims{0}, true); }, distinct({2, 3}));
  add(
      "diff", [](const Tensor& t) { return diff(t * t, 2, 0); }, distinct({4, 2}));
  add(
      "trapezoid", [](const Tensor& t) { return trapezoid(t * t, t, 1, 0); }, distinct({4, 2}));
  for (const char* how : {"linear", "lower", "higher", "nearest", "midpoint"}) {
    add(
        "quantile",
        [=](const Tensor& t) {
          return quantile(t, tenon::tensor({0.1, 0.8, 1.0}), 0, true, how);
        },
        distinct({5, 2}));
  }
}

void add_views(std::vector<Case>& list) {
  const auto add = [&](const char* op, std::function<Tensor(const Tensor&)> call,
                       const Dims& shape) {
    list.push_back({op, [call](List in) { return Results{call(in[0])}; }, {distinct(shape)}});
    // The view also changes what it reads: of the square the gradient is not a constant.
    list.push_back(
        {op, [call](List in) { return Results{call(in[0] * in[0]) * 2}; }, {distinct(shape, 2)}});
  };
  add("reshape", [](const Tensor& x) { return x.reshape({3, -1}); }, {2, 3});
  add("reshape", [](const Tensor& x) { return x.t().reshape({6}); }, {2, 3});
  add("reshape", [](const Tensor& x) { return x.reshape({1, 1}); }, {});
  add("view", [](const Tensor& x) { return x.view({6}); }, {2, 3});
  add("flatten", [](const Tensor& x) { return x.flatten(); }, {2, 3});
  add("flatten", [](const Tensor& x) { return x.flatten(); }, {3});
  add("flatten", [](const Tensor& x) { return x.flatten(); }, {});
  add("transpose", [](const Tensor& x) { return x.transpose(0, -1); }, {2, 3, 2});
  add("transpose", [](const Tensor& x) { return x.transpose(0, 0); }, {});
  add("t", [](const Tensor& x) { return x.t(); }, {2, 3});
  add("t", [](const Tensor& x) { return x.t(); }, {3});
  add("permute", [](const Tensor& x) { return x.permute({1, -1, 0}); }, {2, 3, 2});
  add("squeeze", [](const Tensor& x) { return x.squeeze(); }, {1, 3, 1});
  add("squeeze", [](const Tensor& x) { return x.squeeze(0); }, {1, 3, 1});
  add("unsqueeze", [](const Tensor& x) { return x.unsqueeze(-2); }, {2, 3});
  add("expand", [](const Tensor& x) { return x.expand({2, -1, 4}); }, {3, 1});
  add("expand", [](const Tensor& x) { return x.expand({2, 2}); }, {});
  add("expand_as", [](const Tensor& x) { return x.expand_as(tenon::zeros({2, 3})); }, {3});
  add("slice", [](const Tensor& x) { return x.slice(-1, 1, none, 2); }, {2, 5});
  add("slice", [](const Tensor& x) { return x.slice(0, 2, 1); }, {2, 2});
  add("slice_backward",
      [](const Tensor& x) {
        return slice_backward(x, {2, 5}, 1, 1, none, 2);
      },
      {2, 2});
  add("select", [](const Tensor& x) { return x.select(1, -1); }, {2, 3});
  add("select_backward", [](const Tensor& x) { return select_backward(x, {2, 3}, 1, -1); }, {2});
  add("narrow", [](const Tensor& x) { return x.narrow(1, -2, 2); }, {2, 3});
  add("as_strided", [](const Tensor& x) { return x.as_strided({2, 2}, {3, 1}, 1); }, {2, 3});
  add("as_strided", [](const Tensor& x) { return x.as_strided({3, 2}, {1, 1}); }, {2, 3});
  add("as_strided", [](const Tensor& x) { return x.t().as_strided({2, 2}, {1, 3}, 1); }, {2, 3});
  add("as_strided", [](const Tensor& x) { return x.as_strided({3}, {-1}, 4); }, {2, 3});
  add("as_strided", [](const Tensor& x) { return x.slice(0, 2, 5).as_strided({2}, {-2}, 2); }, {6});
  add("contiguous", [](const Tensor& x) { return x.t().contiguous(); }, {2, 3});
  add("contiguous", [](const Tensor& x) { return x.contiguous(); }, {2, 3});
  add("clone", [](const Tensor& x) { return x.clone(); }, {2, 3});
  add("to", [](const Tensor& x) { return x.to(tenon::f64); }, {2});
  add("flip", [](const Tensor& x) { return x.flip({0, -1}); }, {2, 3});
  add("diagonal", [](const Tensor& x) { return x.diagonal(); }, {2, 3});
  add("diagonal", [](const Tensor& x) { return x.diagonal(-1, -1, 0); }, {2, 2, 3});
  add("diagonal", [](const Tensor& x) { return x.diagonal(5); }, {2, 3});
  add("diagonal_backward",
      [](const Tensor& x) {
        return diagonal_backward(x, {3, 2, 2}, 1, 0, 2);
      },
      {2, 1});
  add("diag", [](const Tensor& x) { return x.diag(-1); }, {3});
  add("diag", [](const Tensor& x) { return x.diag(1); }, {2, 3});
  add("movedim", [](const Tensor& x) { return x.movedim({0, 1}, {-1, 0}); }, {2, 3, 2});
  add("unfold", [](const Tensor& x) { return x.unfold(-1, 3, 2); }, {2, 7});
  add("unfold", [](const Tensor& x) { return x.unfold(0, 2, 1); }, {4, 2});
  add("unfold", [](const Tensor& x) { return x.unfold(0, 1, 1); }, {});
  add("roll", [](const Tensor& x) { return x.roll({4}); }, {2, 3});
  add("roll", [](const Tensor& x) { return x.roll({-1, 2, 1}, {0, -1, 0}); }, {3, 4});
  add("rot90", [](const Tensor& x) { return x.rot90(3, {1, 0}); }, {2, 3});
  add("constant_pad_nd",
      [](const Tensor& x) {
        return constant_pad_nd(x, {-1, 2, 1, -1}, 3);
      },
      {2, 3});
  for (const char* mode : {"constant", "reflect", "replicate", "circular"})
    add("pad", [=](const Tensor& x) { return x.pad({1, 2, -1, 1}, mode); }, {3, 3});
  add("repeat", [](const Tensor& x) { return x.repeat({2, 1, 3}); }, {2, 3});
  add("tile", [](const Tensor& x) { return x.tile({2}); }, {2, 3});
  add("repeat_interleave",
      [](const Tensor& x) {
        return x.repeat_interleave(tenon::tensor({2, 0, 1}), 1);
      },
      {2, 3});
  add("tril", [](const Tensor& x) { return x.tril(-1); }, {2, 3, 3});
  add("triu", [](const Tensor& x) { return x.triu(1); }, {3, 4});
  const auto add_list = [&](const char* op, std::function<Results(const Tensor&)> call,
                            const Dims& shape) {
    list.push_back({op, [call](List in) { return call(in[0]); }, {distinct(shape)}});
    list.push_back({op,
                    [call](List in) { return Results{call(in[0] * in[0]).back()}; },
                    {distinct(shape, 2)}});
  };
  add_list("split", [](const Tensor& x) { return x.split(2, 1); }, {2, 5});
  add_list("split", [](const Tensor& x) { return x.split(Dims{1, 0, 2}); }, {3, 2});
  add_list("chunk", [](const Tensor& x) { return x.chunk(2, -1); }, {2, 3});
  add_list("unbind", [](const Tensor& x) { return x.unbind(1); }, {2, 3});
}

void add_joins(std::vector<Case>& list) {
  list.push_back({"cat",
                  [](List in) {
                    return Results{tenon::cat({in[0], in[1], in[0]}, 1)};
                  },
                  {distinct({2, 3}), distinct({2, 1}, 2)}});
  list.push_back({"cat",
                  [](List in) {
                    return Results{tenon::cat({in[0], tenon::zeros({0}), tenon::ones({1, 3})})};
                  },
                  {distinct({2, 3})}});
  list.push_back({"stack",
                  [](List in) {
                    return Results{tenon::stack({in[0], in[1], in[0] * in[1]}, -1)};
                  },
                  {distinct({2, 3}), distinct({2, 3}, 2)}});
  list.push_back({"slice_scatter",
                  [](List in) { return Results{slice_scatter(in[0], in[1], 1, 0, none, 2)}; },
                  {distinct({2, 3}), distinct({2, 2}, 2)}});
  list.push_back({"select_scatter",
                  [](List in) { return Results{select_scatter(in[0], in[1], 0, -1)}; },
                  {distinct({2, 3}), distinct({3}, 2)}});
  list.push_back({"as_strided_scatter",
                  [](List in) {
                    return Results{as_strided_scatter(in[0], in[1], {2, 2}, {3, 1}, 1)};
                  },
                  {distinct({2, 3}), distinct({2, 2}, 2)}});
  list.push_back(
      {"as_strided_scatter",
       [](List in) { return Results{as_strided_scatter(in[0].t(), in[1], {2}, {2}, 1)}; },
       {distinct({2, 3}), distinct({2}, 2)}});
  list.push_back({"as_strided_scatter",
                  [](List in) {
                    return Results{
                        as_strided_scatter(in[0], tenon::ones({2}, tenon::f64), {2}, {2})};
                  },
                  {distinct({2, 3})}});
}

void add_indexing(std::vector<Case>& list) {
  const Tensor index = tenon::tensor({2, 0, 2});
  const Tensor places = tenon::tensor({{0, 2}, {1, 1}});
  list.push_back({"index_select",
                  [=](List in) { return Results{in[0].index_select(1, index)}; },
                  {distinct({2, 3})}});
  list.push_back({"index_select",
                  [=](List in) {
                    return Results{
                        in[0].t().index_select(-1, index.to(tenon::i32).narrow(0, 1, 1))};
                  },
                  {distinct({2, 3})}});
  list.push_back({"index_add",
                  [=](List in) { return Results{in[0].index_add(0, index, in[1])}; },
                  {distinct({3, 2}), distinct({3, 2}, 2)}});
  list.push_back({"index_add",
                  [=](List in) {
                    return Results{in[0].index_add(0, index, tenon::ones({3, 2}, tenon::f64))};
                  },
                  {distinct({3, 2})}});
  list.push_back({"index_add",
                  [=](List in) {
                    return Results{tenon::ones({3, 2}, tenon::f64).index_add(0, index, in[0])};
                  },
                  {distinct({3, 2})}});
  list.push_back(
      {"gather", [=](List in) { return Results{in[0].gather(1, places)}; }, {distinct({2, 3})}});
  list.push_back(
      {"gather", [=](List in) { return Results{in[0].gather(0, places)}; }, {distinct({3, 4})}});
  list.push_back({"gather",
                  [](List in) { return Results{in[0].gather(0, tenon::tensor(0))}; },
                  {distinct({})}});
  list.push_back({"scatter_add",
                  [=](List in) { return Results{in[0].scatter_add(1, places, in[1])}; },
                  {distinct({2, 3}), distinct({2, 2}, 2)}});
  list.push_back({"scatter_add",
                  [=](List in) { return Results{in[0].scatter_add(0, places, in[1])}; },
                  {distinct({3, 3}), distinct({4, 3}, 2)}});
  list.push_back({"scatter_add",
                  [=](List in) {
                    return Results{tenon::zeros({3, 3}, tenon::f64).scatter_add(0, places, in[0])};
                  },
                  {distinct({2, 2}, 2)}});
}

// Places that two entries name are written by the last.
void add_written(std::vector<Case>& list) {
  const Tensor places = tenon::tensor({{0, 2}, {0, 1}}), rows = tenon::tensor({2, 0, 2});
  for (const int64_t dim : {int64_t{0}, int64_t{1}}) {
    list.push_back({"scatter",
                    [=](List in) { return Results{in[0].scatter(dim, places, in[1])}; },
                    {distinct({3, 3}), distinct({2, 3}, 2)}});
  }
  list.push_back({"scatter",
                  [=](List in) { return Results{in[0].scatter(1, places, 0.5) * in[0]}; },
                  {distinct({3, 3})}});
  list.push_back({"scatter",
                  [=](List in) {
                    return Results{tenon::zeros({3, 3}, tenon::f64).scatter(0, places, in[0])};
                  },
                  {distinct({2, 2}, 2)}});
  for (const char* reduce : {"sum", "mean", "amax", "amin"}) {
    for (const bool include_self : {true, false}) {
      list.push_back({"scatter_reduce",
                      [=](List in) {
                        return Results{
                            in[0].scatter_reduce(1, places, in[1], reduce, include_self)};
                      },
                      {distinct({3, 3}), distinct({2, 3}, 2)}});
    }
  }
  list.push_back({"index",
                  [=](List in) {
                    return Results{in[0].index({rows, tenon::tensor({1})}) * 2};
                  },
                  {distinct({3, 2, 2})}});
  list.push_back({"index",
                  [=](List in) { return Results{in[0].index({in[0].detach() > 0})}; },
                  {distinct({3, 2})}});
  for (const bool accumulate : {false, true}) {
    list.push_back({"index_put",
                    [=](List in) { return Results{in[0].index_put({rows}, in[1], accumulate)}; },
                    {distinct({3, 2}), distinct({3, 2}, 2)}});
  }
  list.push_back({"masked_select",
                  [](List in) { return Results{in[0].masked_select(in[0].detach() > 0)}; },
                  {distinct({3, 2})}});
  list.push_back({"take_along_dim",
                  [=](List in) { return Results{in[0].take_along_dim(places, 1)}; },
                  {distinct({1, 3})}});
  list.push_back(
      {"bincount", [=](List in) { return Results{bincount(rows, in[0], 5)}; }, {distinct({3})}});
}

std::vector<Case> cases() {
  std::vector<Case> list;
  add_reductions(list);
  add_ordered(list);
  add_views(list);
  add_joins(list);
  add_indexing(list);
  add_written(list);
  return list;
}

std::vector<double> gradient(const std::function<Tensor(const Tensor&)>& f, const Tensor& at) {
  const Tensor x = at.detach().clone().requires_grad_();
  f(x).backward();
  return x.grad().to_vector<double>();
}

}  // namespace

TEST_SUITE("math reduction and shape gradients") {
  TEST_CASE("gradients are right, of first and second order and in forward mode") {
    for (const Case& c : cases()) {
      CAPTURE(c.op);
      tenon::GradcheckOptions options;
      options.check_forward_ad = true;
      CHECK_NOTHROW(tenon::gradcheck(c.call, c.inputs, options));
      CHECK_NOTHROW(tenon::gradgradcheck(c.call, c.inputs));
      CHECK_NOTHROW(check_mixed_order(c.call, c.inputs));
    }
  }

  TEST_CASE("no differentiable op of math is left without a gradient check") {
    std::set<std::string> checked = elementwise_gradient_ops();
    checked.merge(complex_gradient_ops());
    for (const Case& c : cases()) checked.insert(c.op);
    CHECK(unchecked_formulas("math", checked) == std::set<std::string>());
  }

  TEST_CASE("ties share the gradient of amax; the first wins in max") {
    const Tensor x = tenon::tensor({{1.0, 3.0, 3.0}, {2.0, 2.0, 2.0}}, tenon::f64);
    check_close(gradient([](const Tensor& t) { return t.amax({1}).sum(); }, x),
                {0, 0.5, 0.5, 1. / 3, 1. / 3, 1. / 3}, 1e-12);
    check_close(gradient([](const Tensor& t) { return t.amax(); }, x), {0, 0.5, 0.5, 0, 0, 0},
                1e-12);
    check_close(gradient([](const Tensor& t) { return std::get<0>(t.max(1)).sum(); }, x),
                {0, 1, 0, 1, 0, 0}, 1e-12);
    check_close(gradient([](const Tensor& t) { return std::get<0>(t.min(0)).sum(); }, x),
                {1, 0, 0, 0, 1, 1}, 1e-12);
  }

  TEST_CASE("corners: no spread, no elements in a log-sum, products of zeros") {
    check_close(
        gradient([](const Tensor& t) { return tenon::std(t); }, tenon::full({3}, 2.0, tenon::f64)),
        {0, 0, 0}, 0);
    const double inf = std::numeric_limits<double>::infinity();
    check_close(gradient([](const Tensor& t) { return t.logsumexp(); },
                         tenon::tensor({-inf, -inf}, tenon::f64)),
                {0, 0}, 0);
    check_close(gradient([](const Tensor& t) { return t.logsumexp(); },
                         tenon::tensor({-inf, 1.0}, tenon::f64)),
                {0, 1}, 0);
    check_close(gradient([](const Tensor& t) { return t.prod(); },
                         tenon::tensor({0.0, 0.0, 5.0}, tenon::f64)),
                {0, 0, 0}, 0);
    check_close(gradient([](const Tensor& t) { return t.prod(); },
                         tenon::tensor({0.0, 2.0, 5.0}, tenon::f64)),
                {10, 0, 0}, 0);
  }

  TEST_CASE("gradients come in the dtype of the input, in the shape of the input") {
    Tensor x = numbers({2, 3}).requires_grad_();
    x.to(tenon::f64).sum().backward();
    CHECK(x.grad().dtype() == tenon::f32);
    x.set_grad({});
    x.sum(none, false, tenon::f64).backward();
    CHECK(x.grad().dtype() == tenon::f32);
    CHECK(x.grad().sizes() == Dims{2, 3});
    Tensor y = numbers({2}).requires_grad_();
    tenon::cat({y, numbers({3}, tenon::f64)}).sum().backward();
    CHECK(y.grad().dtype() == tenon::f32);
  }

  TEST_CASE("ops that return their input return another tensor in the graph") {
    const Tensor x = leaf({3});
    const Tensor same = x.contiguous();
    CHECK(same.requires_grad());
    (same * x.to(tenon::f64) * x.flatten()).sum().backward();
    check_close(x.grad(), x.detach() * x.detach() * 3, 1e-12);
  }

  TEST_CASE("indices and truth values carry no gradient") {
    const Tensor x = leaf({2, 3});
    for (const Tensor& result :
         {x.argmax(), x.argmin(0), x.all(), x.any(), x.count_nonzero(), std::get<1>(x.max(0))}) {
      CHECK_FALSE(result.requires_grad());
    }
    CHECK_FALSE(x.to(tenon::i64).requires_grad());
  }
}
