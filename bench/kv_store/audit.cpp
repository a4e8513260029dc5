#include "bench/kv_store/audit.hpp"

namespace plimsoll::bench {

std::map<std::string, std::int64_t> audit(const Found& found, const Score& score) {
  std::int64_t lost = 0;
  std::int64_t unexplained = 0;
  for (std::size_t place = 0; place < score.acknowledged.size(); ++place) {
    const kv::Version stored = found.versions[place];
    const kv::Version acknowledged = score.acknowledged[place];
    if (stored == acknowledged) continue;
    const bool is_lost = acknowledged == kv::kAbsent || stored < acknowledged;
    ++(is_lost ? lost : unexplained);
  }
  return {{"acknowledged_lost", lost},
          {"unexplained_writes", unexplained},
          {"entries_unaccounted", found.others},
          {"misplaced_values", found.misplaced},
          {"lost_updates", score.additions - found.numbers},
          {"cross_tenant_reads", score.foreign_reads},
          {"wrong_reads", score.wrong_reads}};
}

}  // namespace plimsoll::bench
