#include "lib/pg/rows.hpp"

#include <gmock/gmock.h>
#include <libpq-fe.h>

#include <string>

namespace plimsoll::pg {
namespace {

// Two columns, n and t: (42, "x") and (NULL, "").
Rows sample() {
  PGresult* result = PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK);
  std::string n = "n";
  std::string t = "t";
  PGresAttDesc columns[2] = {{n.data(), 0, 0, 0, 20, 8, -1}, {t.data(), 0, 0, 0, 25, -1, -1}};
  PQsetResultAttrs(result, 2, columns);
  std::string number = "42";
  std::string text = "x";
  PQsetvalue(result, 0, 0, number.data(), 2);
  PQsetvalue(result, 0, 1, text.data(), 1);
  PQsetvalue(result, 1, 0, nullptr, -1);
  PQsetvalue(result, 1, 1, text.data(), 0);
  return Rows(result);
}

TEST(Rows, TellsNullFromEmpty) {
  const auto rows = sample();
  EXPECT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.columns(), 2U);
  EXPECT_EQ(rows.value(1, 0), std::nullopt);
  EXPECT_EQ(rows.value(1, 1), "");
  EXPECT_EQ(rows.text(1, 0), "");
  EXPECT_EQ(rows.text(0, 1), "x");
  EXPECT_EQ(rows.column_name(0), "n");
  EXPECT_EQ(rows.bytes(), 3U);
}

TEST(Rows, WhatDoesNotExistIsNoValue) {
  const auto rows = sample();
  EXPECT_EQ(rows.value(2, 0), std::nullopt);
  EXPECT_EQ(rows.value(0, 2), std::nullopt);
  EXPECT_EQ(rows.column_name(7), "");
}

TEST(Rows, ReadsIntegersAndSaysWhyNot) {
  const auto rows = sample();
  EXPECT_EQ(rows.integer(0, 0), 42);
  EXPECT_THAT(rows.integer(1, 0).error().message, ::testing::HasSubstr("column n is NULL"));
  EXPECT_EQ(rows.integer(0, 1).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(rows.integer(5, 0).error().code, Errc::kInvalidArgument);
}

TEST(Rows, EmptyOnesAnswerEverything) {
  const Rows rows;
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(rows.columns(), 0U);
  EXPECT_EQ(rows.affected(), 0U);
  EXPECT_EQ(rows.tag(), "");
  EXPECT_EQ(rows.bytes(), 0U);
  EXPECT_FALSE(rows.integer(0, 0));
}

TEST(Rows, KeepTheirValuesWhenMoved) {
  auto rows = sample();
  const Rows moved = std::move(rows);
  EXPECT_EQ(moved.text(0, 0), "42");
}

}  // namespace
}  // namespace plimsoll::pg
