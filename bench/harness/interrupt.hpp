#pragma once

namespace plimsoll::bench {

/// Takes SIGINT and SIGTERM: the first says so on stderr and lets the running case end, and those
/// after it are not run, so that every server and schema is given back; the second ends the process
/// at once. The result file is whole either way.
void handle_interrupts();

/// The signal that came, 0 for none. Async-signal-safe, any thread.
[[nodiscard]] int interrupting_signal() noexcept;

}  // namespace plimsoll::bench
