#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

namespace plimsoll::rls {

struct Link;

/// Keeps a caller's jobs in order where there are several connections: as long as one of them is
/// on a connection, the caller's next ones go there, too. Two callers share nothing.
///
/// Cost: one look-up and two allocations for a caller who has no other job. Thread safety: none.
class Lanes {
 public:
  /// A caller of a tenant with its jobs, waiting and under way.
  class Lane {
   public:
    /// Where the caller's next job must go; null when it may go anywhere.
    [[nodiscard]] const std::shared_ptr<Link>& link() const noexcept { return link_; }
    /// A job of the caller's goes there.
    void place(std::shared_ptr<Link> link) noexcept;

   private:
    friend class Lanes;
    const std::string* key_ = nullptr;
    std::shared_ptr<Link> link_;
    std::size_t placed_ = 0;  ///< Jobs on `link_`.
    std::size_t jobs_ = 0;
  };

  /// One job more. The lane stays where it is until its last job has left.
  [[nodiscard]] Lane& join(const std::string& tenant, std::uint64_t caller);
  /// One job less. `link` is where it was placed; null for one that never was.
  void leave(Lane& lane, const std::shared_ptr<Link>& link);

  [[nodiscard]] std::size_t size() const noexcept { return lanes_.size(); }

 private:
  std::unordered_map<std::string, Lane> lanes_;
};

}  // namespace plimsoll::rls
