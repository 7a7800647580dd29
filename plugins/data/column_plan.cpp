// Plans the columns of a CSV text: by the keywords of a request, or by the text of an earlier fit.
#include "column_plan.hpp"

#include <algorithm>

#include "cell_text.hpp"

namespace data {

using tenon::Json;

bool is_header(CsvCursor cursor) {
  bool text = false, number = false, counted = true;
  int64_t column = 0;
  do {
    const std::string_view cell = cursor.take_cell().text;
    double value = 0;
    if (read_decimal(cell, cursor.point(), value) == Reading::number) {
      number = true;
      counted = counted && value == static_cast<double>(column);
    } else {
      counted = false;
      text = text || !is_missing(cell);
    }
    ++column;
  } while (cursor.more_cells());
  if (counted && column > 2) {
    throw Fault(
        "the first row is 0, 1, 2, ...: pass header=true if these are names, header=false "
        "if they are values",
        "1");
  }
  return text && !number;
}

namespace {

void use_part(ColumnPlan& plan, const std::vector<int64_t>& columns) {
  if (columns.size() > 1)
    throw Fault("part names " + std::to_string(columns.size()) + " columns: name one");
  plan.use(columns, Column::Use::part);
}

void plan_by_request(ColumnPlan& plan, const CsvRequest& request) {
  const auto resolve = [&](const ColumnChoice& choice) {
    return choice.resolve(plan.names, plan.width());
  };
  plan.targets = resolve(request.targets);
  plan.use(plan.targets, Column::Use::target);
  use_part(plan, resolve(request.part));
  const std::vector<int64_t> dropped = resolve(request.drop);
  for (const int64_t column : dropped) {
    if (plan.at(column).use != Column::Use::skipped)
      throw Fault(plan.text(column) + " is named in drop and for another use");
  }
  if (request.inputs.given()) {
    plan.inputs = resolve(request.inputs);
  } else {
    for (int64_t column = 0; column < plan.width(); ++column) {
      if (plan.at(column).use == Column::Use::skipped &&
          std::find(dropped.begin(), dropped.end(), column) == dropped.end())
        plan.inputs.push_back(column);
    }
  }
  plan.use(plan.inputs, Column::Use::input);
  const bool all = request.categories.is_word("auto");
  for (Column& column : plan.columns) column.may_code = all || column.use == Column::Use::target;
  if (!all) {
    for (const int64_t column : resolve(request.categories)) {
      if (plan.at(column).use == Column::Use::skipped)
        throw Fault("categories names " + plan.text(column) + ", which is not read");
      plan.at(column).may_code = plan.at(column).named_category = true;
    }
  }
  if (request.with_targets) return;
  for (const int64_t column : plan.targets) plan.at(column).use = Column::Use::skipped;
  plan.targets.clear();
}

// Position in this text of a column that another text was fitted with; -1 where it is not.
int64_t find_fitted(const ColumnPlan& plan, const Json& column, int64_t fitted_width,
                    const std::vector<int64_t>& absent) {
  if (column.is_text()) {
    const auto found = std::find(plan.names.begin(), plan.names.end(), column.text());
    return found == plan.names.end() ? -1 : found - plan.names.begin();
  }
  const int64_t position = column.integer();
  if (plan.width() == fitted_width) return position;
  // Without the targets the columns behind them are further to the front.
  if (std::find(absent.begin(), absent.end(), position) != absent.end()) return -1;
  const auto before = std::count_if(absent.begin(), absent.end(),
                                    [&](int64_t target) { return target < position; });
  return position - before;
}

void plan_by_fitted(ColumnPlan& plan, const CsvRequest& request) {
  const Json& fitted = request.fitted;
  const int64_t fitted_width = fitted["width"].integer();
  std::vector<int64_t> absent;
  const Json targets = fitted["targets"];
  if (!request.with_targets && plan.width() == fitted_width - targets.size()) {
    for (int64_t i = 0; i < targets.size(); ++i)
      if (!targets[i]["column"].is_text()) absent.push_back(targets[i]["column"].integer());
  } else if (plan.names.empty() && plan.width() != fitted_width) {
    throw Fault("the file has " + std::to_string(plan.width()) + " columns, the one that was " +
                "fitted has " + std::to_string(fitted_width));
  }
  const auto add = [&](const Json& list, std::vector<int64_t>& positions, Column::Use use) {
    for (int64_t i = 0; i < list.size(); ++i) {
      const Json entry = list[i];
      const int64_t position = find_fitted(plan, entry["column"], fitted_width, absent);
      if (position < 0 || position >= plan.width()) {
        throw Fault("the file has no column " + quoted_text(entry["column"].text()) +
                    (use == Column::Use::input
                         ? ", which the inputs were fitted with"
                         : ", the target: pass with_targets=false where there is none"));
      }
      positions.push_back(position);
      plan.use({position}, use);
      Column& column = plan.at(position);
      if (entry["mean"].is_number()) column.mean = entry["mean"].number();
      const Json categories = entry["categories"];
      if (!categories.defined()) continue;
      std::vector<std::string> values;
      for (int64_t k = 0; k < categories.size(); ++k) values.push_back(categories[k].text());
      column.made_codes().fix(std::move(values));
      column.may_code = column.named_category = true;
    }
  };
  if (request.with_targets) add(targets, plan.targets, Column::Use::target);
  add(fitted["inputs"], plan.inputs, Column::Use::input);
  std::vector<int64_t> parts;
  try {
    parts = request.part.resolve(plan.names, plan.width());
  } catch (const Fault&) {
    return;  // a text to predict from need not have it
  }
  // Nor where the position of the part is that of another column, without the targets.
  if (parts.size() == 1 && plan.at(parts[0]).use != Column::Use::skipped) return;
  use_part(plan, parts);
}

}  // namespace

ColumnPlan plan_columns(std::vector<std::string> names, int64_t width, const CsvRequest& request) {
  ColumnPlan plan;
  plan.names = std::move(names);
  plan.columns.resize(static_cast<size_t>(width));
  if (request.fitted.defined())
    plan_by_fitted(plan, request);
  else
    plan_by_request(plan, request);
  if (plan.inputs.empty()) {
    throw Fault(std::string("no column is left for the inputs") +
                (width == 1 ? ": the file has one column; check its delimiter" : ""));
  }
  return plan;
}

}  // namespace data
