#include "lib/redis/script.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/core/clock.hpp"

namespace plimsoll::redis {
namespace {

std::string sha1_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  std::string digits;
  for (unsigned int i = 0; i < size; ++i) digits += fmt::format("{:02x}", digest[i]);
  return digits;
}

Command call(std::string_view verb, const std::string& what, const std::vector<std::string>& keys,
             const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  words.reserve(3 + keys.size() + arguments.size());
  words.emplace_back(verb);
  words.push_back(what);
  words.push_back(std::to_string(keys.size()));
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  return Command(std::move(words));
}

}  // namespace

Script::Script(std::string text) {
  auto sha1 = sha1_of(text);
  source_ = std::make_shared<const Source>(Source{std::move(text), std::move(sha1)});
}

asio::awaitable<Result<Reply>> Script::run(Channel& channel, std::vector<std::string> keys,
                                           std::vector<std::string> arguments,
                                           Timeout timeout) const {
  return run_source(source_, channel, std::move(keys), std::move(arguments), timeout);
}

asio::awaitable<Result<Reply>> Script::run_source(std::shared_ptr<const Source> source,
                                                  Channel& channel, std::vector<std::string> keys,
                                                  std::vector<std::string> arguments,
                                                  Timeout timeout) {
  const auto begin = Clock::now();
  auto by_name = call("EVALSHA", source->sha1, keys, arguments);
  auto answer = co_await channel.command(std::move(by_name), timeout);
  // Of a script's answers only Redis' own NOSCRIPT is kNotFound.
  if (answer || answer.error().code != Errc::kNotFound) co_return answer;
  if (timeout) {
    const auto spent = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - begin);
    timeout = std::max(*timeout - spent, std::chrono::milliseconds(0));
  }
  auto whole = call("EVAL", source->text, keys, arguments);
  auto second = co_await channel.command(std::move(whole), timeout);
  co_return second;
}

}  // namespace plimsoll::redis
