#include <tenon/prepare/prepare.hpp>

#include "saved_model.hpp"
#include "session.hpp"

TENON_NAMESPACE_BEGIN

Prepared::Prepared(const Module& module, const PrepareOptions& options)
    : Module(module),
      session_(std::make_shared<prepared::Session>(
          module, options, std::make_shared<prepared::NumberedConstants>())) {
  required();  // throws where the module is undefined
}

Prepared::Prepared(const Module& module, std::shared_ptr<prepared::Session> session)
    : Module(module), session_(std::move(session)) {}

prepared::Session& Prepared::session() const {
  if (session_ == nullptr) required();
  return *session_;
}

void Prepared::run(const Given& given, tenon_value* results, int64_t result_count) const {
  session().run(
      {given.values, given.count, given.keywords, given.keyword_values, given.keyword_count},
      results, result_count);
}

Prepared Prepared::clone() const { return {*this, session().clone()}; }
void Prepared::save(const std::string& path, const Json& notes) const {
  session().save(path, notes);
}
std::string Prepared::forward_schema() const { return session().forward_schema(); }
std::vector<PreparedList> Prepared::lists() const { return session().lists(); }
std::vector<std::string> Prepared::reasons() const { return session().reasons(); }
int64_t Prepared::listed_runs() const { return session().listed_runs(); }
int64_t Prepared::runs_as_is() const { return session().runs_as_is(); }

Prepared prepare(const Module& module, const std::vector<std::vector<Tensor>>& examples,
                 const PrepareOptions& options) {
  Prepared prepared(module, options);
  for (const std::vector<Tensor>& example : examples) {
    std::vector<tenon_value> values;
    for (const Tensor& tensor : example) values.push_back(Argument(tensor).value());
    prepared.session().prepare(
        {values.data(), static_cast<int64_t>(values.size()), nullptr, nullptr, 0});
  }
  return prepared;
}

Prepared open_prepared(const std::string& path) {
  return {Module(), std::make_shared<prepared::Session>(prepared::read_saved(path))};
}

TENON_NAMESPACE_END
