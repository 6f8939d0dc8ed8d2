#pragma once

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shards/core/lock_table.hh"
#include "support.hh"

/// A lock table with one policy for all keys, and short words for what tests do with it.
namespace lockkeeper::shards {

struct wish {
    uint64_t client = 1;
    lock_mode mode = lock_mode::exclusive;
    uint32_t permits = 1;
    uint32_t of = 1;
    /// None: bound to the connection.
    std::optional<std::chrono::milliseconds> ttl = std::chrono::milliseconds(10'000);
    std::optional<uint64_t> repeats{};
    bool is_collected = false;
};

inline wish shared(uint64_t client = 1) {
    return {.client = client, .mode = lock_mode::shared};
}
inline wish permits(uint32_t number, uint32_t of, uint64_t client = 1) {
    return {.client = client, .mode = lock_mode::permits, .permits = number, .of = of};
}
inline wish bound(uint64_t client) {
    return {.client = client, .ttl = std::nullopt};
}

class lock_desk;

/// A place in line. A case may end while somebody waits: then it leaves.
struct place : waiter {
    explicit place(std::string_view who, const wish& what = {}, instant limit = end_of_time,
                   int32_t rank = 0) {
        owner = who;
        client = what.client;
        mode = what.mode;
        permits = what.permits;
        of = what.of;
        ttl = what.ttl;
        deadline = limit;
        priority = rank;
    }
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    ~place();

    lock_desk* at = nullptr;
};

class lock_desk {
public:
    explicit lock_desk(const lock_policy& policy = {}, const lock_table_options& options = {},
                       const waiting_room_options& waiting = {})
        : table(options, policy_book({{"*", policy}}), waiting) {}
    ~lock_desk() { check(); }

    /// After every case, and wherever a case likes.
    void check() {
        BOOST_TEST(table.verify().value_or("") == "");
        BOOST_TEST(table.verify_lines(latest).value_or("") == "");
    }

    lock_result<grant_outcome> ask(
        std::string_view name, std::string_view owner, const wish& what, instant now = start,
        lock_table::if_refused then = lock_table::if_refused::may_ask_again) {
        note(now);
        auto outcome = table.take({.key = key_of(name),
                                   .owner = owner,
                                   .client = what.client,
                                   .mode = what.mode,
                                   .permits = what.permits,
                                   .of = what.of,
                                   .ttl = what.ttl,
                                   .repeats = what.repeats,
                                   .is_collected = what.is_collected},
                                  then, now);
        table.settle(now);
        return outcome;
    }
    /// The grant, or nothing if it was refused. An error fails the test.
    std::optional<grant> take(std::string_view name, std::string_view owner, const wish& what = {},
                              instant now = start) {
        const auto outcome = ask(name, owner, what, now).value();
        return outcome.granted ? std::optional(outcome.given) : std::nullopt;
    }
    std::string error_of(std::string_view name, std::string_view owner, const wish& what,
                         instant now = start) {
        const auto outcome = ask(name, owner, what, now);
        return outcome ? "none" : show(outcome.error());
    }

    /// Takes a place in line; the lock must be refused first.
    void wait(place& who, std::string_view name, instant now = start) {
        BOOST_REQUIRE((try_wait(who, name, now) == "none"));
    }
    std::string try_wait(place& who, std::string_view name, instant now = start) {
        note(now);
        const auto tried =
            ask(name, who.owner,
                {who.client, who.mode, who.permits, who.of, who.ttl, {}, who.is_collected}, now,
                lock_table::if_refused::will_wait);
        BOOST_REQUIRE((!tried || !tried->granted));
        who.at = this;
        const auto entered = table.wait(who, key_of(name), now);
        table.settle(now);
        return entered ? "none" : show(entered.error());
    }

    std::optional<int64_t> release(std::string_view name, std::string_view owner,
                                   instant now = start) {
        note(now);
        const auto left = table.release_hold(key_of(name), owner, now).value();
        table.settle(now);
        return left;
    }

    /// `SET name token NX PX ttl`, or without PX.
    bool set_nx(std::string_view name, std::string_view token, uint64_t client, instant now = start,
                std::optional<std::chrono::milliseconds> ttl = std::chrono::milliseconds(10'000)) {
        note(now);
        const auto outcome =
            table.set({.key = key_of(name),
                       .value = token,
                       .condition = set_condition::if_absent,
                       .expiry = ttl ? expiry_change::at(now + *ttl) : expiry_change::never(),
                       .client = client},
                      now);
        table.settle(now);
        return outcome.value().stored;
    }
    /// Compare and delete.
    bool unset(std::string_view name, std::string_view token, instant now = start) {
        note(now);
        const auto outcome = table.remove_if({.key = key_of(name), .comparand = token}, now);
        table.settle(now);
        return outcome.value() == compare_outcome::done;
    }
    bool remove(std::string_view name, instant now = start) {
        note(now);
        const bool removed = table.remove(key_of(name), now);
        table.settle(now);
        return removed;
    }
    void expire(std::string_view name, instant when, instant now = start) {
        note(now);
        BOOST_REQUIRE(table.expire({.key = key_of(name), .when = when}, now));
        table.settle(now);
    }
    void leave(uint64_t client, instant now = start,
               std::chrono::milliseconds at_least = std::chrono::milliseconds(0)) {
        note(now);
        table.client_left(client, now, at_least);
        table.settle(now);
    }
    void advance(instant now) {
        note(now);
        table.advance(now);
        table.expire_due(now, 100);
        table.settle(now);
    }

    /// Whose waits have ended since the last call, in that order, and how: "a granted, b timed
    /// out".
    std::string ended() {
        std::string text;
        while (const waiter* const next = table.take_ended()) {
            text += (text.empty() ? "" : ", ") + next->owner + " " + show(next->how);
        }
        return text;
    }
    /// Likewise who has lost a grant.
    std::string lost() {
        std::string text;
        for (const lost_grant& each : table.take_lost()) {
            text += (text.empty() ? "" : ", ") + each.owner;
        }
        return text;
    }
    /// Who holds it: "a b".
    std::string owners(std::string_view name, instant now = start) {
        note(now);
        std::string text;
        for (const holder_view& each : table.holders(key_of(name), now)) {
            text += (text.empty() ? "" : " ") + std::string(each.owner);
        }
        return text;
    }
    std::optional<instant> until(std::string_view name, instant now = start) {
        note(now);
        return table.lifetime_of(key_of(name), now).until;
    }
    size_t waiting_for(std::string_view name) {
        const lock_line* const line = table.line_of(key_of(name));
        return line == nullptr ? 0 : line->queue.size();
    }

    lock_table table;
    instant latest = start;

private:
    void note(instant now) { latest = std::max(latest, now); }

    static std::string show(lock_error error) {
        switch (error) {
            case lock_error::wrong_type:
                return "wrong type";
            case lock_error::key_too_long:
                return "key too long";
            case lock_error::too_many_locks:
                return "too many locks";
            case lock_error::too_many_members:
                return "too many members";
            case lock_error::too_many_holders:
                return "too many holders";
            case lock_error::too_many_holds:
                return "too many holds";
            case lock_error::too_many_waiters:
                return "too many waiters";
            case lock_error::other_lock_type:
                return "other lock type";
            case lock_error::other_permits:
                return "other permits";
            case lock_error::upgrade:
                return "upgrade";
            case lock_error::deadlock:
                return "deadlock";
            case lock_error::no_fence:
                return "no fence";
            case lock_error::no_lease:
                return "no lease";
            case lock_error::starting:
                return "starting";
            default:
                return "another error";
        }
    }
    static std::string show(waiter::state how) {
        switch (how) {
            case waiter::state::granted:
                return "granted";
            case waiter::state::timed_out:
                return "timed out";
            case waiter::state::cancelled:
                return "cancelled";
            case waiter::state::refused:
                return "refused";
            default:
                return "waiting";
        }
    }
};

inline place::~place() {
    if (at != nullptr && how == state::waiting) {
        at->table.stop_waiting(*this, at->latest);
        at->table.settle(at->latest);
    }
    while (is_linked() && at->table.take_ended() != nullptr) {
    }
}

}  // namespace lockkeeper::shards
