#include "lib/redis/reply_error.hpp"

#include <gtest/gtest.h>

namespace plimsoll::redis {
namespace {

TEST(ErrcOfReply, FollowsTheFirstWord) {
  struct Row {
    const char* text;
    Errc code;
  };
  for (const auto& [text, code] : {
           Row{"ERR unknown command 'FOO'", Errc::kRejected},
           Row{"WRONGTYPE Operation against a key holding the wrong kind of value",
               Errc::kRejected},
           Row{"NOSCRIPT No matching script. Please use EVAL.", Errc::kNotFound},
           Row{"NOSCRIPT a script made this up", Errc::kRejected},
           Row{"OOM command not allowed when used memory > 'maxmemory'.", Errc::kBusy},
           Row{"LOADING Redis is loading the dataset in memory", Errc::kBusy},
           Row{"BUSY Redis is busy running a script.", Errc::kBusy},
           Row{"CLUSTERDOWN The cluster is down", Errc::kBusy},
           Row{"READONLY You can't write against a read only replica.", Errc::kRefused},
           Row{"NOAUTH Authentication required.", Errc::kRefused},
           Row{"WRONGPASS invalid username-password pair", Errc::kRefused},
           Row{"NOPERM this user has no permissions", Errc::kRefused},
           Row{"MOVED 3999 127.0.0.1:6381", Errc::kRejected},
           Row{"ASK 3999 127.0.0.1:6381", Errc::kRejected},
           Row{"EXECABORT Transaction discarded because of previous errors.", Errc::kRejected},
           Row{"BUSYKEY Target key name already exists.", Errc::kConflict},
           Row{"BUSYGROUP Consumer Group name already exists", Errc::kConflict},
           Row{"UNBLOCKED client unblocked via CLIENT UNBLOCK", Errc::kCancelled},
           Row{"MISCONF Redis is configured to save RDB snapshots", Errc::kInternal},
           Row{"ERR Protocol error: invalid bulk length", Errc::kProtocol},
           Row{"MYOWN error of a script", Errc::kRejected},
           Row{"BUSYBODY is not BUSY", Errc::kRejected},
           Row{"", Errc::kRejected},
       }) {
    EXPECT_EQ(errc_of_reply(text), code) << text;
  }
}

TEST(ErrcOfReply, LeavesTheConnectionUsableUnlessTheServerHangsUp) {
  for (const char* text : {"LOADING x", "BUSY x", "READONLY x", "NOAUTH x", "OOM x", "MISCONF x"}) {
    EXPECT_FALSE(error_of_reply(text).poisons_connection()) << text;
  }
  EXPECT_TRUE(error_of_reply("ERR Protocol error: x").poisons_connection());
}

TEST(ErrorOfReply, IsOneLine) {
  EXPECT_EQ(error_of_reply("ERR a\r\nb\tc").message, "ERR a  b c");
  EXPECT_NE(error_of_reply("").message, "");
}

TEST(KnownPrefix, IsNoWordThatMayBeAnything) {
  EXPECT_EQ(known_prefix("WRONGPASS invalid"), "WRONGPASS");
  EXPECT_EQ(known_prefix("ERR"), "ERR");
  EXPECT_EQ(known_prefix("s3cret is wrong"), "");
  EXPECT_EQ(known_prefix(""), "");
}

}  // namespace
}  // namespace plimsoll::redis
