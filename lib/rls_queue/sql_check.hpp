#pragma once

#include <cstddef>
#include <string_view>

#include "lib/core/result.hpp"

namespace plimsoll::rls {

/// Whether a job may run this statement: it must be a query or a change of rows, which the first
/// word behind blanks, comments and opening brackets tells for certain (SELECT, INSERT, UPDATE,
/// DELETE, MERGE, WITH, VALUES, TABLE). Every utility statement, hence everything that ends a
/// transaction or changes a session by itself, begins with another word. That there is one
/// statement only is the extended protocol's word. A direct call of set_config is refused, too;
/// what a function does inside, the text cannot tell, and the seal of statements.hpp judges.
///
/// Returns where the statement begins behind blanks and comments.
///
/// Cost: one pass over the text. Errors: kInvalidArgument, which names the word.
[[nodiscard]] Result<std::size_t> check_sql(std::string_view sql);

}  // namespace plimsoll::rls
