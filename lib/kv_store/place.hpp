#pragma once

#include <string>
#include <string_view>

namespace plimsoll::kv {

/// A tenant as the first part of a longer name: its length, a colon, itself. What follows cannot be
/// taken for a part of it, whatever bytes both hold: a colon alone would let tenant "a" with key
/// "b:c" name what belongs to tenant "a:b" with key "c".
[[nodiscard]] inline std::string place_of(std::string_view tenant) {
  std::string place = std::to_string(tenant.size());
  place += ':';
  place += tenant;
  return place;
}

/// The one name of a tenant's key among the keys of all.
[[nodiscard]] inline std::string place_of(std::string_view tenant, std::string_view key) {
  std::string place = place_of(tenant);
  place.reserve(place.size() + 1 + key.size());
  place += ':';
  place += key;
  return place;
}

}  // namespace plimsoll::kv
