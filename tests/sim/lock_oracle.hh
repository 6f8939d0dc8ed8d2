#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lock_schedule.hh"
#include "shards/core/grant_types.hh"
#include "shards/core/waiter.hh"

namespace lockkeeper::sim {

using shards::grant;
using shards::instant;
using shards::lock_error;
using shards::lock_mode;

/// A client's wish for a lock.
struct wish {
    std::string owner;
    uint32_t actor = 0;
    uint64_t connection = 0;
    lock_mode mode = lock_mode::exclusive;
    uint32_t permits = 1;
    uint32_t of = 1;
    std::optional<milliseconds> ttl{};
    bool is_parked = false;
    bool is_collected = false;  ///< one of several: what its owner has already stays as it is
};

/// A place in line, and whose it is.
struct place : shards::waiter {
    uint32_t actor = 0;
    size_t key_index = 0;
    bool asked_to_leave = false;

    wish wanted() const {
        return {owner, actor, client, mode, permits, of, ttl, is_parked, is_collected};
    }
};

/// How a request should end. Where clients poll, the table may keep a lock for one of them: then
/// either answer can be right at this instant, and bounds on time decide.
struct expected {
    enum class answer : uint8_t { granted, refused, either, failed };

    answer what = answer::refused;
    lock_error error{};

    static expected to_fail(lock_error why) { return {answer::failed, why}; }
    static expected to(answer what) { return {what, {}}; }
};

/// What locks should do, said as simply as it can be: vectors and loops, no hashes, heaps, lines or
/// seats. It shares no code with the table and sees what clients see. Time moves by tick() only.
class lock_oracle {
public:
    explicit lock_oracle(const schedule& plan);

    void tick(instant now);

    // ---- owners and queues
    expected expect_take(size_t key, const wish& what, bool has_fences) const;
    /// A second hold is the same grant once more; everything else is a fresh one, with a fence of
    /// its own.
    enum class grant_kind : uint8_t { fresh, same };
    grant_kind took(size_t key, const wish& what, const grant& given);
    /// The error that a place in line should be refused with.
    std::optional<lock_error> expect_entry(const place& who) const;
    void entered(place& who);
    /// What kind of a grant it ended with, if it did.
    std::optional<grant_kind> ended(place& who);
    /// A client was refused and may ask again: soon, if it polls.
    enum class asks : uint8_t { perhaps, regularly };
    void refused(size_t key, uint32_t actor, uint64_t connection, std::string_view token,
                 asks again);

    struct release {
        bool fails = false;
        std::optional<int64_t> left{};
    };
    release released(size_t key, std::string_view owner);
    /// Whether this grant of it is there still.
    bool holds(size_t key, std::string_view owner, uint64_t fence) const;
    /// All of several locks are there: the end that this one has now, if it is.
    std::optional<instant> confirmed(size_t key, const wish& what, uint64_t fence, bool is_fresh);
    std::optional<instant> extended(size_t key, std::string_view owner, milliseconds ttl);
    bool broken(size_t key);
    void disconnected(uint64_t connection);

    // ---- commands of Redis
    bool present(size_t key) const { return at(key).what != kind::none; }
    /// Nothing if it is not a plain lock.
    const std::string* text(size_t key) const;
    std::optional<instant> until(size_t key) const;
    /// SET NX, and INCR and the like where nothing may be refused.
    expected expect_set_nx(size_t key, std::string_view token, uint32_t actor, uint64_t connection,
                           bool has_fences) const;
    void set_nx(size_t key, std::string_view token, uint32_t actor, uint64_t connection,
                std::optional<milliseconds> ttl, uint64_t fence);
    void set(size_t key, std::string_view token, std::optional<milliseconds> ttl, uint64_t fence);
    bool removed(size_t key);
    bool removed_if(size_t key, std::string_view token);
    bool expire_if(size_t key, std::string_view token, instant when);
    bool expire(size_t key, instant when);
    bool persist(size_t key);
    void flush(uint32_t database);
    void orphan(size_t key, uint64_t connection);

    // ---- hash locks
    expected expect_hash(size_t key, std::string_view owner, uint32_t actor, bool has_fences) const;
    void hash_took(size_t key, std::string_view owner, uint32_t actor, milliseconds ttl);
    bool is_hash_owner(size_t key, std::string_view owner) const;
    void hash_released(size_t key, std::string_view owner);

    // ---- what must have happened by now
    /// P4: whoever is first in line and could be granted has been.
    void check_served();
    /// There are none at this instant: the next look at a line may be a while away.
    void has_no_fences() { _had_no_fence = _now; }
    void told_lost(size_t key, std::string_view owner, uint64_t fence, uint64_t client);
    /// The table has cleared away all that had ended: nobody is to be told any more.
    void check_told() const;
    void check_empty() const;

    size_t waiting() const;
    /// The process has begun anew: nobody holds anything, and nobody is told.
    void restarted();
    uint64_t expired() const { return _expired; }
    uint64_t delayed() const { return _delayed; }

private:
    enum class kind : uint8_t { none, plain, several, hash };
    enum class why : uint8_t { released, removed, expired };

    struct holder {
        std::string owner;
        uint64_t client = 0;
        uint64_t fence = 0;
        instant until = shards::end_of_time;
        int64_t holds = 1;
        uint32_t permits = 1;
        bool bound = false;
        milliseconds after{};  ///< its connection
        instant not_before =
            shards::start_of_time;  ///< told with a TTL, and so not its connection's
    };
    /// Somebody who asks again and again.
    struct seat {
        uint32_t actor = 0;
        uint64_t connection = 0;
        std::string token;
        bool keeps_token = false;  ///< then it is known by that, otherwise by its connection
        instant first{};
        instant last{};
        nanoseconds longest_pause{};
        uint32_t asked = 1;
        instant steady_since{};  ///< asks at regular intervals since then
        uint32_t steady = 1;     ///< that often
        uint32_t overtaken = 0;
        bool polls = false;
        bool is_over = false;  ///< the table may not know that, and expect it to ask again
    };
    struct lock {
        const key_plan* plan = nullptr;
        kind what = kind::none;
        lock_mode mode = lock_mode::exclusive;
        uint32_t of = 1;
        std::vector<holder> holders;
        bool native = false;
        bool orphaned = false;
        bool delays = false;
        instant granted{};
        std::vector<place*> queue;
        std::vector<seat> seats;
        instant closed_from = shards::start_of_time;   ///< nobody may have it before
        instant closed_until = shards::start_of_time;  ///< somebody may have it after
        instant free_since{};
        std::optional<instant> refused_since{};  ///< although free, with nobody in line
    };
    struct loss {
        size_t key;
        std::string owner;
        uint64_t fence;
        uint64_t client;
    };

    lock& at(size_t key) { return _locks[key]; }
    const lock& at(size_t key) const { return _locks[key]; }
    static holder* find(lock& of, std::string_view owner);
    static const holder* find(const lock& of, std::string_view owner);
    /// For this instant, whoever is in line.
    expected decide(const lock& of, const wish& what, bool has_fences) const;
    expected at_the_door(const lock& of, uint32_t actor, expected if_open) const;
    bool is_reserved_perhaps(const lock& of) const;
    bool is_remembered(const seat& who) const;
    bool has_waited(const lock& of, const seat& who) const;
    bool is_eligible(const lock& of, const seat& who) const;
    nanoseconds longest_pause(const lock& of) const;
    instant end_of(const lock& of, const wish& what) const;
    void create(lock& of, kind what, holder first);
    void keep_alive(lock& of, milliseconds ttl);
    static void give_end(lock& of, instant when);
    void gone(lock& of, why how, instant when);
    static void close(lock& of, instant when);
    void lose(lock& of, const holder& who);
    void won(lock& of, uint32_t actor);
    void overtook(lock& of, uint32_t actor);

    const schedule& _plan;
    std::vector<lock> _locks;
    std::vector<loss> _losses;
    instant _now = start;
    instant _had_no_fence = shards::start_of_time;
    uint64_t _expired = 0;
    uint64_t _delayed = 0;
};

}  // namespace lockkeeper::sim
