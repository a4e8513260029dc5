#include "lib/pg/sqlstate.hpp"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <memory>

namespace plimsoll::pg {
namespace {

struct Case {
  const char* sqlstate;
  Errc code;
};

TEST(Sqlstate, SaysWhatACallerCanDo) {
  for (const auto& [sqlstate, code] : {
           Case{"08000", Errc::kUnavailable},  // connection_exception
           Case{"08006", Errc::kUnavailable},  // connection_failure
           Case{"08P01", Errc::kProtocol},     // protocol_violation
           Case{"57P01", Errc::kUnavailable},  // admin_shutdown
           Case{"57P02", Errc::kUnavailable},  // crash_shutdown
           Case{"57P03", Errc::kUnavailable},  // cannot_connect_now
           Case{"57P05", Errc::kUnavailable},  // idle_session_timeout
           Case{"25P03", Errc::kUnavailable},  // idle_in_transaction_session_timeout
           Case{"57014", Errc::kCancelled},    // query_canceled
           Case{"40001", Errc::kConflict},     // serialization_failure
           Case{"40P01", Errc::kConflict},     // deadlock_detected
           Case{"23505", Errc::kConflict},     // unique_violation
           Case{"23P01", Errc::kConflict},     // exclusion_violation
           Case{"55P03", Errc::kConflict},     // lock_not_available
           Case{"53300", Errc::kBusy},         // too_many_connections
           Case{"53100", Errc::kBusy},         // disk_full
           Case{"28P01", Errc::kRefused},      // invalid_password
           Case{"28000", Errc::kRefused},      // invalid_authorization_specification
           Case{"42501", Errc::kRefused},      // insufficient_privilege, row-level security
           Case{"3D000", Errc::kNotFound},     // invalid_catalog_name: no such database
           Case{"42601", Errc::kRejected},     // syntax_error
           Case{"42P01", Errc::kRejected},     // undefined_table
           Case{"22012", Errc::kRejected},     // division_by_zero
           Case{"23502", Errc::kRejected},     // not_null_violation
           Case{"23503", Errc::kRejected},     // foreign_key_violation
           Case{"25P02", Errc::kRejected},     // in_failed_sql_transaction
           Case{"0A000", Errc::kRejected},     // feature_not_supported
           Case{"P0001", Errc::kRejected},     // raise_exception
           Case{"XX001", Errc::kCorrupt},      // data_corrupted
           Case{"XX000", Errc::kInternal},     // internal_error
           Case{"58030", Errc::kInternal},     // io_error
           Case{"", Errc::kProtocol},         Case{"4200", Errc::kProtocol},
           Case{"42p01", Errc::kProtocol},
       }) {
    EXPECT_EQ(errc_of_sqlstate(sqlstate), code) << sqlstate;
  }
}

TEST(Sqlstate, AResultWithoutSqlstateMeansALostConnection) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(
      PQmakeEmptyPGresult(nullptr, PGRES_FATAL_ERROR), &PQclear);
  const auto error = error_of_result(result.get());
  EXPECT_EQ(error.code, Errc::kUnavailable);
  EXPECT_FALSE(error.message.empty());
}

TEST(ConnectError, FindsTheSqlstateInLibpqsText) {
  const auto error = error_of_connect(
      "connection to server at \"127.0.0.1\", port 5 failed: FATAL:  28P01: password "
      "authentication failed for user \"u\"\nLOCATION:  auth_failed, auth.c:338\n",
      false);
  EXPECT_EQ(error.code, Errc::kRefused);
  EXPECT_EQ(error.sqlstate, "28P01");
  EXPECT_EQ(error.message.find("LOCATION"), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find('\n'), std::string::npos);
}

TEST(ConnectError, FindsTheSqlstateInAnyLanguage) {
  EXPECT_EQ(error_of_connect("FATAL:  53300: sorry, too many clients already\n", false).code,
            Errc::kBusy);
  EXPECT_EQ(error_of_connect("FEHLER:  3D000: Datenbank existiert nicht\n", false).code,
            Errc::kNotFound);
}

TEST(ConnectError, WithoutSqlstateNobodyIsThere) {
  const auto error = error_of_connect(
      "connection to server failed: Connection refused\n\tIs the server running?\n", false);
  EXPECT_EQ(error.code, Errc::kUnavailable);
  EXPECT_EQ(error.message,
            "connection to server failed: Connection refused; Is the server running?");
}

TEST(ConnectError, AMissingPasswordIsARefusal) {
  EXPECT_EQ(error_of_connect("fe_sendauth: no password supplied\n", true).code, Errc::kRefused);
}

TEST(ConnectError, OfSeveralHostsTheLastAnswerCounts) {
  const auto error = error_of_connect(
      "host one: FATAL:  57P03: starting up\nhost two: FATAL:  28000: no entry\n", false);
  EXPECT_EQ(error.sqlstate, "28000");
}

TEST(OneLine, JoinsLinesAndTrims) {
  EXPECT_EQ(one_line(" a \n\n\tb\r\n"), "a; b");
  EXPECT_EQ(one_line(""), "");
}

}  // namespace
}  // namespace plimsoll::pg
