#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shards/core/clock.hh"
#include "shards/core/grant_book.hh"
#include "shards/core/keyspace.hh"
#include "shards/core/lock_policy.hh"
#include "shards/core/lock_types.hh"
#include "shards/core/waiting_room.hh"

namespace lockkeeper::shards {

/// All lock keys of one core, and every decision about them. One core owns a table and calls it
/// without suspension, so each call, and each sequence of calls without a suspension between, is
/// atomic: a script over several keys is a few reads followed by writes.
///
/// Invariants:
/// - An entry whose expiry has come is absent to every call from that instant on, removed or not.
/// - An entry is never empty: the last field or element takes its key along.
/// - Every change of an entry gives it a version that no entry of this table ever had.
/// - A call that answers with an error has changed nothing.
///
/// Calls may free locks that somebody waits for. settle() hands them on; it is to be called before
/// anybody else looks.
class lock_table {
public:
    explicit lock_table(lock_table_options options = {}, policy_book policies = policy_book(),
                        waiting_room_options waiting = {});
    lock_table(const lock_table&) = delete;
    lock_table& operator=(const lock_table&) = delete;

    // Strings: plain locks and counters.
    lock_result<set_outcome> set(const set_request& request, instant now);
    lock_result<std::optional<std::string_view>> get(const lock_key& key, instant now);
    lock_result<compare_outcome> remove_if(const remove_if_request& request, instant now);
    lock_result<compare_outcome> expire_if_equal(const expire_if_equal_request& request,
                                                 instant now);
    lock_result<acquire_or_renew_outcome> acquire_or_renew(const acquire_or_renew_request& request,
                                                           instant now);
    /// INCRBY: an absent key counts from 0, the TTL stays.
    lock_result<int64_t> increment(const lock_key& key, int64_t by, instant now);

    // Keys of any kind.
    /// `client` asks for it without saying whose it is; 0: does not matter.
    bool remove(const lock_key& key, instant now, uint64_t client = 0);
    bool exists(const lock_key& key, instant now);
    std::optional<entry_kind> kind_of(const lock_key& key, instant now);
    lifetime lifetime_of(const lock_key& key, instant now);
    bool expire(const expire_request& request, instant now);
    bool persist(const lock_key& key, instant now);

    // Reentrant locks, held by owners in a hash.
    lock_result<acquire_outcome> acquire(const reentrant_request& request, instant now);
    /// `expiry` applies if the lock is still held afterwards. The last hold of an owner frees the
    /// whole key.
    lock_result<release_outcome> release(const reentrant_request& request, instant now);
    /// False if `owner` does not hold the lock.
    lock_result<bool> renew(const reentrant_request& request, instant now);

    // Locks with owners, fences and queues: the native verbs.
    /// At once or not at all. Whoever is in line comes first, unless the owner holds it already.
    enum class if_refused : uint8_t { will_wait, may_ask_again };
    lock_result<grant_outcome> take(const grant_request& request, if_refused then, instant now);
    /// Takes a place in line; take() has just refused what it wants. Ends by take_ended().
    lock_result<void> wait(waiter& who, const lock_key& key, instant now) {
        return _room.enter(who, key, now);
    }
    void stop_waiting(waiter& who, instant now) {
        _room.leave(who, waiter::state::cancelled, {}, now);
    }
    void refuse_waiting(waiter& who, lock_error error, instant now) {
        _room.leave(who, waiter::state::refused, error, now);
    }
    /// Holds left; nothing if not the owner.
    lock_result<std::optional<int64_t>> release_hold(const lock_key& key, std::string_view owner,
                                                     instant now, uint64_t client = 0);
    /// A grant that its owner was never told of.
    bool take_back(const lock_key& key, std::string_view owner, uint64_t fence, instant now) {
        return _grants.take_back(key, owner, fence, now);
    }
    lock_result<std::optional<instant>> extend_hold(const lock_key& key, std::string_view owner,
                                                    std::chrono::milliseconds ttl, instant now) {
        return _grants.extend(key, owner, ttl, now);
    }
    bool holds(const lock_key& key, std::string_view owner, uint64_t fence, instant now) {
        return _grants.holds(key, owner, fence, now);
    }
    lock_result<std::optional<grant>> confirm(const grant_request& request, collected_as how,
                                              instant now) {
        return _grants.confirm(request, how, now);
    }
    bool break_lock(const lock_key& key, instant now) { return _grants.break_lock(key, now); }
    std::vector<holder_view> holders(const lock_key& key, instant now) {
        return _grants.holders(key, now);
    }
    bool holds(const lock_key& key, std::string_view owner, instant now) {
        return _grants.holds(key, owner, now);
    }
    /// Of the present holder, the newest if there are several.
    std::optional<uint64_t> fence_of(const lock_key& key, instant now);
    /// From now on until then it is remembered what happens to this lock: see lock_line::history.
    void show(const lock_key& key, instant until, instant now) { _room.show(key, until, now); }
    /// Null if nobody is in line.
    lock_line* line_of(const lock_key& key) { return _room.find(key); }
    void for_each_line(const std::function<void(lock_line&)>& visit) { _room.for_each(visit); }
    /// The same, a few at a time: see waiting_room.
    static constexpr uint64_t end_of_lines = waiting_room::end_of_lines;
    uint64_t visit_lines(uint64_t from, const std::function<void(lock_line&)>& visit) {
        return _room.visit_some(from, visit);
    }

    // Clients that wait their own way.
    /// Whether somebody who does not wait may have a key that is absent. For scripts, which look
    /// before they act; set() and its kin ask by themselves.
    bool may_take(const lock_key& key, uint64_t client, std::string_view token, instant now);
    /// When an absent key that cannot be taken now may be had; for clients that wait by themselves.
    instant open_again(const lock_key& key, instant now);
    void was_refused(const lock_key& key, uint64_t client, std::string_view token, instant now);
    /// Who was refused just now and had been before, if its next try may be held back. Only once.
    std::optional<polled_try> take_polled() { return _room.take_polled(); }
    /// A client that polls waits in line from now on: since when it has polled, if that is known.
    std::optional<instant> stand_up(const lock_key& key, caller who) {
        return _room.stand_up(key, who);
    }
    /// Who waits for this key sleeps until its release is told: it is kept for nobody who polls.
    void announced(const lock_key& key) { _room.announced(key); }
    /// The client that took this key since then left without another word, and has perhaps not read
    /// that it has it: its owner may come again and repeat its SET NX.
    void orphan(const lock_key& key, uint64_t client, instant since, instant now);
    /// A connection has ended; what it held alive goes on for its grace, and not less than
    /// `at_least`.
    void client_left(uint64_t client, instant now,
                     std::chrono::milliseconds at_least = std::chrono::milliseconds::zero()) {
        _grants.client_left(client, now, at_least);
    }

    // Leases, if there are masters behind the table.
    void lease_from(lease_source& source) { _keys.lease_from(source); }
    void lease_only(std::optional<std::span<const std::string_view>> names) {
        _keys.lease_only(names);
    }
    bool has_leases() const { return _keys.leases() != nullptr; }
    void lease_changed(const lock_key& key) { _room.stir(key); }
    /// Ends the waits of all who are in line for this key.
    void refuse_line(const lock_key& key, lock_error error, instant now);

    /// Commands on these keys come next. In a large table each of them would wait for memory, one
    /// after the other; here the processor is asked for all of it at once. Changes nothing.
    void fetch(std::span<const lock_key> keys) const;
    /// Whether the table is too large for a cache.
    bool is_worth_fetching(uint32_t database) const { return _keys.size(database) > 4'096; }

    // What has happened meanwhile.
    void settle(instant now) { _room.settle(now); }
    /// Whatever is due by now, expire_due() excepted.
    void advance(instant now) { _room.advance(now); }
    std::optional<instant> next_due() const { return _room.next_due(); }
    waiter* take_ended() { return _room.take_ended(); }
    bool has_ended() const { return _room.has_ended(); }
    std::vector<lost_grant> take_lost() { return _grants.take_lost(); }
    bool has_lost() const { return _grants.has_lost(); }
    size_t waiters() const { return _room.waiters(); }
    size_t lines() const { return _room.lines(); }
    /// Before that nobody is given anything.
    instant opens_at() const { return _keys.options().grants_from; }
    grant_counters& counted() { return _grants.counted; }
    slow_log& slow() { return _grants.slow; }
    habit_log& habits() { return _grants.habits; }
    hold_times& held() { return _keys.holds; }
    const wait_times& waited() const { return _room.waited(); }
    const policy_book& policies() const { return _policies; }
    /// For whatever is decided from now on. What has been given stays as it was given, and who is
    /// in line stays there.
    void change_policies(policy_book next) noexcept { _policies.replace(std::move(next)); }
    fence_counter& fences() { return _keys.fences(); }

    // Hashes, field by field.
    lock_result<std::optional<std::string_view>> hash_get(const lock_key& key,
                                                          std::string_view field, instant now);
    /// True if the field is new.
    lock_result<bool> hash_set(const lock_key& key, hash_field field, instant now);
    lock_result<int64_t> hash_increment(const lock_key& key, std::string_view field, int64_t by,
                                        instant now);
    lock_result<bool> hash_remove(const lock_key& key, std::string_view field, instant now);
    lock_result<size_t> hash_length(const lock_key& key, instant now);
    /// In the order in which the fields came.
    lock_result<std::vector<hash_field>> hash_fields(const lock_key& key, instant now);

    // Signal lists. A push of several values pushes one after the other.
    lock_result<size_t> list_push(const lock_key& key, list_end end,
                                  std::span<const std::string_view> values, instant now);
    lock_result<std::optional<std::string>> list_pop(const lock_key& key, list_end end,
                                                     instant now);
    lock_result<size_t> list_length(const lock_key& key, instant now);

    // WATCH. A mark costs no memory here and needs no unwatch.
    watch_mark watch(const lock_key& key, instant now) { return _keys.watch(key, now); }
    /// Never misses a change. For a key that was absent and is absent again it may, rarely, see one
    /// that was another key's.
    bool changed_since(const lock_key& key, watch_mark mark, instant now) {
        return _keys.changed_since(key, mark, now);
    }

    // The whole table.
    /// Returns the next cursor, 0 at the end. Every key present from the first call to the last is
    /// visited; one that comes or goes meanwhile may be. `visit` must not call the table. A cursor
    /// stays below 2^32.
    uint64_t scan(const scan_request& request, instant now, const scan_visitor& visit) const {
        return _keys.scan(request, now, visit);
    }
    /// Counts entries that have expired and are not removed yet, as DBSIZE does.
    size_t size(uint32_t database) const { return _keys.size(database); }
    /// Which of them end by themselves, and when.
    endings ends(uint32_t database, instant now) const { return _keys.ends(database, now); }
    /// Takes effect at once; the memory returns with the next calls of expire_due. Tells how many
    /// keys went.
    size_t flush(uint32_t database) { return _keys.flush(database); }

    /// When expire_due has something to do; in the past while flushed memory waits to be freed.
    std::optional<instant> next_expiry() const;
    /// Removes up to `budget` entries that have expired or were flushed, and as many holders that
    /// have ended before others of their lock.
    expire_progress expire_due(instant now, size_t budget);

    table_stats stats() const { return _keys.stats(); }
    /// For tests: walks everything and says what is broken, or nothing.
    std::optional<std::string> verify() const {
        auto broken = _keys.verify();
        return broken ? broken : _grants.verify();
    }
    /// The same for those in line; after settle().
    std::optional<std::string> verify_lines(instant now) { return _room.verify(now); }

private:
    lock_result<lock_entry*> create(const lock_key& key, lock_entry::payload value,
                                    expiry_change expiry, instant now);
    enum class owner : uint8_t { same, other };
    /// A value for another owner ends what the present one has, and needs a fence.
    lock_result<void> replace_text(lock_entry& entry, std::string_view value, owner whose,
                                   expiry_change expiry, instant now);
    /// A plain lock has been taken by a command of Redis.
    void taken(lock_entry& entry, const lock_key& key, std::string_view value, uint64_t client,
               expiry_change expiry, instant now);
    /// Whether its unclean end delays the next one.
    void note_delay(lock_entry& entry);
    void note_late_release(const remove_if_request& request, instant now);
    bool is_resent(const lock_entry& entry, const set_request& request) const;
    void taken_again(lock_entry& entry, const set_request& request, instant now);
    void keep_alive_by_policy(lock_entry& entry, expiry_change expiry, instant now);

    policy_book _policies;
    keyspace _keys;
    grant_book _grants{_keys, _policies};
    waiting_room _room;
};

}  // namespace lockkeeper::shards
