#pragma once

#include <functional>

namespace plimsoll {

/// Runs what must block, such as a name look-up, in a detached thread of its own. The descriptor
/// returned becomes readable when it is over and belongs to the caller, who may close it at any
/// time and forget the work, whose captures must own all that they touch. Nothing of Asio's is
/// known to the thread, so a loop may end before it.
///
/// Cost: a thread and two descriptors. Errors: -1 when none is left; then nothing runs.
[[nodiscard]] int run_beside(std::function<void()> work) noexcept;

}  // namespace plimsoll
