#include "lib/pg/pooler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace plimsoll::pg {
namespace {

using ::testing::HasSubstr;

Error error_of(std::string message, std::string sqlstate = "08P01") {
  return {Errc::kProtocol, std::move(message), std::move(sqlstate)};
}

TEST(Pooler, RefusesANameAndSaysWhatToDo) {
  EXPECT_TRUE(check_pooled(Query("SELECT 1")));
  const auto refused = check_pooled(Query("SELECT 1", {}, "one"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("\"one\""));
  EXPECT_THAT(refused.error().message, HasSubstr("send it without"));
}

TEST(Pooler, RefusesOptionsOfTheConnectionString) {
  const auto started = [](const char* dsn) {
    const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectStart(dsn), &PQfinish);
    return check_pooled(connection.get());
  };
  EXPECT_TRUE(started("host=/nonexistent"));
  const auto refused = started("host=/nonexistent options=-csearch_path=mine");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("-csearch_path=mine"));
}

TEST(Pooler, TellsItsErrorsApartByTheirText) {
  const std::vector<std::pair<std::string, Errc>> cases{
      {"query_wait_timeout", Errc::kBusy},
      {"no more connections allowed (max_client_conn)", Errc::kBusy},
      {"server conn crashed?", Errc::kUnavailable},
      {"server login has been failing, try again later (server_login_retry)", Errc::kUnavailable},
      {"pgbouncer cannot connect to server", Errc::kUnavailable},
      {"unsupported startup parameter: options", Errc::kInvalidArgument},
      {"no such user: nobody", Errc::kRefused},
      {"connection to server at \"127.0.0.1\", port 1 failed: FATAL:  08P01: no such database: x",
       Errc::kNotFound},
      {"database \"x\" does not exist", Errc::kNotFound},
      {"role \"x\" does not exist", Errc::kRefused},
  };
  for (const auto& [message, code] : cases) {
    EXPECT_TRUE(is_of_pooler(error_of(message))) << message;
    EXPECT_EQ(explain_pooler(error_of(message)).code, code) << message;
    EXPECT_EQ(explain_pooler(error_of(message)).message, message);
  }
}

TEST(Pooler, LeavesTheServersErrorsAlone) {
  const Error violation = error_of("invalid message format");
  EXPECT_FALSE(is_of_pooler(violation));
  EXPECT_EQ(explain_pooler(violation).code, Errc::kProtocol);
  const Error other = error_of("query_wait_timeout is what this row says", "P0001");
  EXPECT_FALSE(is_of_pooler(other));
}

}  // namespace
}  // namespace plimsoll::pg
