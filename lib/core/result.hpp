#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "lib/core/error.hpp"

namespace plimsoll {

/// A value, or the reason why there is none. Only the part of the API that std::expected shares is
/// used here
/// (`has_value`, `*`, `->`, `error()`), so that the later change of this alias is one line.
template <class T>
using Result = tl::expected<T, Error>;

/// `return fail(Errc::kTimeout, "...");` converts to any Result<T>.
[[nodiscard]] inline tl::unexpected<Error> fail(Errc code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message), {}});
}

/// Passes an error on unchanged.
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace plimsoll
