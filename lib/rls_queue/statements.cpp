#include "lib/rls_queue/statements.hpp"

#include <fmt/format.h>

#include <vector>

namespace plimsoll::rls {
namespace {

constexpr std::size_t kMaxPrefixBytes = 30;

// The server quotes it in its message, in whatever language that is.
constexpr std::string_view kBroken = "plimsoll: the job changed its identity";
constexpr std::string_view kInvalidText = "22P02";

Result<void> check_prefix(std::string_view prefix) {
  const bool is_plain =
      prefix.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
  const bool has_letter_first = !prefix.empty() && prefix[0] >= 'a' && prefix[0] <= 'z';
  if (is_plain && has_letter_first && prefix.size() <= kMaxPrefixBytes) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("the prefix of the settings is '{}'; it must be 1 to {} lower-case "
                          "letters, digits and _, a letter first",
                          prefix, kMaxPrefixBytes));
}

std::vector<std::string_view> values_of(bool with_actor) {
  std::vector<std::string_view> values{"tenant", "user", "roles"};
  if (with_actor) values.emplace_back("actor");
  return values;
}

pg::Params params_of(const Identity& identity, bool with_actor) {
  pg::Params params;
  params.reserve(5);
  params.emplace_back(identity.tenant());
  params.emplace_back(identity.user());
  params.emplace_back(identity.roles());
  if (with_actor) params.emplace_back(identity.actor());
  return params;
}

}  // namespace

std::string identity_sql(std::string_view prefix, std::string_view value, bool once) {
  // After a local setting ends, the connection says '' and no longer NULL: both are nobody.
  const auto read = fmt::format("NULLIF(current_setting('{}.{}', true), '')", prefix, value);
  return once ? fmt::format("(SELECT {})", read) : read;
}

Result<Statements> statements_for(const Settings& settings) {
  if (auto bad = check_prefix(settings.prefix); !bad) return fail(std::move(bad.error()));
  std::string stamps;
  std::string checks;
  std::string wipes;
  std::size_t number = 0;
  for (const auto value : values_of(settings.with_actor)) {
    const auto name = fmt::format("'{}.{}'", settings.prefix, value);
    ++number;
    stamps += fmt::format("{}set_config({}, ${}, true)", number > 1 ? ", " : "", name, number);
    checks += fmt::format("current_setting({}, true) = ${} AND ", name, number);
    wipes += fmt::format("set_config({}, '', false), ", name);
  }
  Statements all;
  all.with_actor = settings.with_actor;
  // num_nulls evaluates them all and answers in one byte.
  all.stamp = fmt::format("SELECT num_nulls({})", stamps);
  // CASE evaluates nothing of the branch that it does not take. The text in ELSE depends on a
  // setting, so that the planner cannot evaluate it beforehand; it is no number, hence the error.
  all.seal = fmt::format(
      "SELECT CASE WHEN {0}current_user = ${1} THEN num_nulls({2}{3}) "
      "ELSE concat('{4}', left(current_setting('{5}.tenant', true), 0))::int END",
      checks, number + 1, wipes, stamps, kBroken, settings.prefix);
  return all;
}

Result<std::string> probe_for(const Settings& settings) {
  if (auto bad = check_prefix(settings.prefix); !bad) return fail(std::move(bad.error()));
  std::string all;
  for (const auto value : values_of(settings.with_actor)) {
    all += fmt::format("{}current_setting('{}.{}', true)", all.empty() ? "" : ", ", settings.prefix,
                       value);
  }
  return fmt::format(
      "SELECT current_user::text, (SELECT rolsuper OR rolbypassrls FROM pg_catalog.pg_roles "
      "WHERE rolname = current_user), concat({}) <> ''",
      all);
}

pg::Query stamp_query(const Statements& statements, const Identity& identity, bool named) {
  return {statements.stamp, params_of(identity, statements.with_actor), named ? "rls_stamp" : ""};
}

pg::Query seal_query(const Statements& statements, const Identity& identity,
                     const std::string& role, bool named) {
  auto params = params_of(identity, statements.with_actor);
  params.emplace_back(role);
  return {statements.seal, std::move(params), named ? "rls_seal" : ""};
}

bool is_broken_seal(const Error& error) noexcept {
  return error.sqlstate == kInvalidText && error.message.find(kBroken) != std::string::npos;
}

}  // namespace plimsoll::rls
