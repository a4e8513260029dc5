#include "lib/kv_store/writers.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "lib/kv_store/place.hpp"
#include "lib/pg/array.hpp"

namespace plimsoll::kv {
namespace {

std::optional<std::string> text_of(std::optional<std::chrono::milliseconds> ttl) {
  if (!ttl) return std::nullopt;
  return std::to_string(ttl->count());
}

}  // namespace

pg::BatchItem set_item(std::string tenant, Write write) {
  std::string place = place_of(tenant, write.key);
  return {std::move(place), pg::params(std::move(tenant), std::move(write.key),
                                       std::move(write.value), text_of(write.ttl))};
}

pg::BatchItem swap_item(std::string tenant, Write write, Version expected) {
  pg::BatchItem item = set_item(std::move(tenant), std::move(write));
  if (expected != kAbsent) item.values.emplace_back(std::to_string(expected));
  return item;
}

pg::BatchItem erase_item(std::string tenant, std::string key) {
  std::string place = place_of(tenant, key);
  return {std::move(place), pg::params(std::move(tenant), std::move(key))};
}

pg::BatchWriterPtr set_writer(StatementsPtr statements) {
  return pg::one_statement([all = std::move(statements)](std::span<const pg::BatchSlot> slots) {
    if (slots.size() == 1) return all->set.with(slots.front().item().values);
    return all->set_many.with(pg::array_params(slots));
  });
}

pg::BatchWriterPtr swap_writer(StatementsPtr statements) {
  return pg::statements_of_each([all = std::move(statements)](const pg::BatchSlot& slot) {
    const auto& values = slot.item().values;
    std::vector<pg::Query> queries;
    queries.push_back((values.size() == 5 ? all->swap : all->create).with(values));
    return queries;
  });
}

pg::BatchWriterPtr erase_writer(StatementsPtr statements) {
  return pg::statements_of_each([all = std::move(statements)](const pg::BatchSlot& slot) {
    std::vector<pg::Query> queries;
    queries.push_back(all->erase.with(slot.item().values));
    return queries;
  });
}

Folded fold_writes(const std::string& tenant, std::vector<Write> writes) {
  std::vector<std::size_t> order(writes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return std::string_view(writes[i].key); });
  Folded folded;
  folded.slot_of.resize(writes.size());
  folded.newer_of.resize(writes.size());
  pg::ArrayText tenants;
  pg::ArrayText keys;
  pg::ArrayText values;
  pg::ArrayText ttls;
  pg::ArrayText counts;
  std::size_t slot = 0;
  for (std::size_t begin = 0; begin < order.size(); ++slot) {
    std::size_t end = begin;
    while (end < order.size() && writes[order[end]].key == writes[order[begin]].key) ++end;
    for (std::size_t at = begin; at < end; ++at) {
      folded.slot_of[order[at]] = slot;
      folded.newer_of[order[at]] = end - 1 - at;
    }
    const Write& last = writes[order[end - 1]];
    tenants.add(tenant);
    keys.add(last.key);
    values.add(last.value);
    ttls.add(text_of(last.ttl));
    counts.add(std::to_string(end - begin));
    begin = end;
  }
  folded.slots = slot;
  folded.params =
      pg::params(tenants.take(), keys.take(), values.take(), ttls.take(), counts.take());
  return folded;
}

}  // namespace plimsoll::kv
