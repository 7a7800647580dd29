// Lists as documents, which files hold. What is read is not trusted: a list that is not consistent is refused.
#pragma once

#include <tenon/json.hpp>
#include <tenon/prepare/prepare.hpp>

#include "arguments_key.hpp"
#include "constant_store.hpp"

TENON_NAMESPACE_BEGIN

namespace prepared {

// A value that is not a tensor.
Json literal_document(const Value* literal);
std::shared_ptr<const Value> read_literal(const Json& document);

// ValueError for a list that calls ops which files may not call, see `read_list`.
Json list_document(const CallList& list, ConstantStore& store);
// The list, for arguments of the key. Loads plugins of its ops. ValueError says which part is at fault; ops that
// take a `path`, by which they would reach files, and ops without results are refused.
CallList read_list(const Json& document, const StoredConstants& stored, const ArgumentsKey& key);

Json account_document(const PreparedList& report);
// The account, to which the program adds calls and memory.
PreparedList read_account(const Json& document);

}  // namespace prepared

TENON_NAMESPACE_END
