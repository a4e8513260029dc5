#include "lib/core/error.hpp"

namespace plimsoll {

std::string_view name(Errc code) noexcept {
  switch (code) {
    case Errc::kInvalidArgument:
      return "invalid argument";
    case Errc::kNotFound:
      return "not found";
    case Errc::kRefused:
      return "refused";
    case Errc::kConflict:
      return "conflict";
    case Errc::kBusy:
      return "busy";
    case Errc::kUnavailable:
      return "unavailable";
    case Errc::kTimeout:
      return "timeout";
    case Errc::kCancelled:
      return "cancelled";
    case Errc::kRejected:
      return "rejected";
    case Errc::kCorrupt:
      return "corrupt";
    case Errc::kProtocol:
      return "protocol";
    case Errc::kInternal:
      return "internal";
  }
  return "unknown";
}

}  // namespace plimsoll
