#include "lib/lease_claims/statements.hpp"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "lib/lease_claims/lease.hpp"

namespace plimsoll::lease {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<Subject> kSubjects{Subject::kSkipLocked, Subject::kSkipLockedBatch,
                                     Subject::kAdvisory, Subject::kUpdateReturning};

TEST(Statements, ASchemaIsQuotedSoThatItsQuotesCannotEndTheIdentifier) {
  EXPECT_EQ(*quoted_identifier("plain"), "\"plain\"");
  EXPECT_EQ(*quoted_identifier("a\"; DROP SCHEMA b; --"), "\"a\"\"; DROP SCHEMA b; --\"");
}

TEST(Statements, ASchemaThatPostgresWouldCutOrRefuseIsRefused) {
  for (const std::string& bad : {std::string{}, std::string(64, 's'), std::string("a\0b", 3)}) {
    const auto result = statements_for(Subject::kSkipLocked, bad);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::kInvalidArgument);
  }
}

TEST(Statements, TwoTextsNeverShareAName) {
  std::set<std::string> texts;
  std::set<std::string> names;
  for (const Subject subject : kSubjects) {
    for (const char* const schema : {"a", "b"}) {
      const Statements all = *statements_for(subject, schema);
      for (const Statement* one :
           {&all.claim, &all.renew, &all.release, &all.fire, &all.explain, &all.renew_all,
            &all.release_all, &all.fire_all, &all.explain_all, &all.due, &all.claim_fair}) {
        texts.insert(one->sql);
        names.insert(one->name);
        EXPECT_LT(one->name.size(), 64U)
            << "PostgreSQL tells prepared statements apart by 63 bytes";
        EXPECT_THAT(one->sql, Not(HasSubstr("{")));
      }
    }
  }
  EXPECT_EQ(texts.size(), names.size());
}

TEST(Statements, ABatchIsBoundedByItsSubject) {
  EXPECT_EQ(statements_for(Subject::kSkipLocked, "s")->max_batch, 1U);
  EXPECT_EQ(statements_for(Subject::kSkipLockedBatch, "s")->max_batch, kMaxBatch);
  EXPECT_EQ(statements_for(Subject::kAdvisory, "s")->max_batch, kMaxAdvisoryBatch);
}

TEST(Statements, EverySubjectHasAName) {
  std::set<std::string_view> names;
  for (const Subject subject : kSubjects) names.insert(name(subject));
  EXPECT_EQ(names, (std::set<std::string_view>{"skip_locked", "skip_locked_batch", "advisory",
                                               "update_returning"}));
}

}  // namespace
}  // namespace plimsoll::lease
