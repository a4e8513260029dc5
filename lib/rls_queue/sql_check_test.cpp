#include "lib/rls_queue/sql_check.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace plimsoll::rls {
namespace {

using testing::HasSubstr;

TEST(SqlCheck, TakesQueriesAndChangesOfRows) {
  for (const char* const sql :
       {"SELECT 1", "select 1;", "INSERT INTO t VALUES (1)", "UPDATE t SET a = 1", "DELETE FROM t",
        "MERGE INTO t USING s ON true WHEN MATCHED THEN DO NOTHING",
        "WITH x AS (SELECT 1) SELECT * FROM x", "VALUES (1), (2)", "TABLE t", "((SELECT 1))",
        "\n\t\f SELECT 1", "-- why\nSELECT 1", "/* a /* b */ c */ SELECT 1", "SELECT(1)"}) {
    EXPECT_TRUE(check_sql(sql)) << sql;
  }
}

TEST(SqlCheck, RefusesEverythingElseByItsFirstWord) {
  for (const char* const sql : {"SET a.b = 1",
                                "set local a.b = 1",
                                "RESET ALL",
                                "COMMIT",
                                "END",
                                "ROLLBACK",
                                "ABORT",
                                "BEGIN",
                                "START TRANSACTION",
                                "SAVEPOINT s",
                                "RELEASE s",
                                "PREPARE TRANSACTION 'x'",
                                "SET ROLE postgres",
                                "SET SESSION AUTHORIZATION postgres",
                                "DISCARD ALL",
                                "DO $$BEGIN END$$",
                                "CALL p()",
                                "PREPARE p AS SELECT 1",
                                "EXECUTE p",
                                "DEALLOCATE ALL",
                                "LISTEN c",
                                "SHOW a.b",
                                "COPY t TO STDOUT",
                                "CREATE TABLE t ()",
                                "DECLARE c CURSOR FOR SELECT 1",
                                "LOCK t",
                                "EXPLAIN ANALYZE SELECT 1",
                                "selects 1",
                                "",
                                "  ",
                                "-- only this",
                                "/* SELECT 1",
                                ";",
                                "; COMMIT",
                                "\"select\" 1",
                                "/**/COMMIT",
                                "-- SELECT\nCOMMIT",
                                "(COMMIT)",
                                "$1",
                                "'SELECT'",
                                "\xEF\xBB\xBFSELECT 1"}) {
    const auto result = check_sql(sql);
    ASSERT_FALSE(result) << sql;
    EXPECT_EQ(result.error().code, Errc::kInvalidArgument);
  }
  EXPECT_THAT(check_sql("/* x */ Discard ALL").error().message, HasSubstr("Discard is refused"));
  EXPECT_THAT(check_sql("").error().message, HasSubstr("an empty statement is refused"));
}

TEST(SqlCheck, RefusesADirectCallOfSetConfigHoweverItIsWritten) {
  for (const char* const sql :
       {"SELECT set_config('a.b', 'c', true)", "SELECT SET_CONFIG('a.b', 'c', false)",
        "SELECT pg_catalog.\"set_config\"('a.b', 'c', true)",
        "SELECT 1, set_config ('a.b', 'c', true)", "SELECT set_config/**/('a.b', 'c', true)",
        "SELECT 'it''s', set_config('a.b', 'c', true)",
        "SELECT E'\\'', set_config('a.b', 'c', true)", "SELECT '\\', set_config('a.b', 'c', true)",
        "SELECT $q$x$q$, set_config('a.b', 'c', true)", "SELECT $1, set_config('a.b', 'c', true)",
        "SELECT 1.5e1set_config('a.b', 'c', true)",
        "SELECT U&\"\\0073et_config\"('a.b', 'c', true)"}) {
    EXPECT_FALSE(check_sql(sql)) << sql;
  }
}

TEST(SqlCheck, LeavesAloneWhatOnlyLooksLikeACall) {
  for (const char* const sql :
       {"SELECT 'set_config(a)'", "SELECT \"SET_CONFIG\" FROM t", "SELECT 1 -- set_config()",
        "SELECT /* set_config() */ 1", "SELECT $$set_config()$$", "SELECT $a$ $$ set_config() $a$",
        "SELECT E'\\' set_config()'", "SELECT my_set_config()", "SELECT set_config2()",
        "SELECT n'set_config', x'00', U&'set_config'", "SELECT 'set_config"}) {
    EXPECT_TRUE(check_sql(sql)) << sql;
  }
}

TEST(SqlCheck, TellsWhereTheStatementBegins) {
  EXPECT_EQ(*check_sql("SELECT 1"), 0U);
  EXPECT_EQ(*check_sql("  /* x */\nSELECT 1"), 10U);
  EXPECT_EQ(*check_sql(" ( SELECT 1)"), 1U);
}

}  // namespace
}  // namespace plimsoll::rls
