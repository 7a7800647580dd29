// Accounts of calls: what a call would do, and why, without making it.
//
//   explain(Op("add"), x, y, arg("alpha") = 2)["answer"]["what"].text()   "override add[ScalarTensor]"
//
// <tenon/listing/why.hpp> makes explanations for readers from them.
#pragma once

#include "tenon/json.hpp"
#include "tenon/overridable.hpp"

TENON_NAMESPACE_BEGIN

// How the arguments bind, which candidates are asked, what runs and from which plugin, the kernel's
// dtypes, and what autograd would record: for the modes and settings of this thread, now. A call
// that would fail has its error there. share/tenon/documents.md has the shape.
template <class... Arguments>
Json explain(const Op& op, const Arguments&... arguments) {
  const detail::WrittenArguments written(arguments...);
  Json account;
  detail::check(service::ops().explain, op.handle(), written.values.data(), written.count(),
                written.names.data(), written.named.data(), written.keyword_count(),
                account.slot());
  return account;
}

TENON_NAMESPACE_END
