#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lock_beliefs.hh"
#include "lock_coverage.hh"
#include "lock_oracle.hh"
#include "lock_schedule.hh"
#include "shards/core/lock_table.hh"

namespace lockkeeper::sim {

/// What has happened in schedules, for people and for comparison.
struct tally {
    uint64_t schedules = 0;
    uint64_t events = 0;
    coverage seen{};
    bool is_traced = false;  ///< prints what happens
    uint64_t digest = 0xcbf2'9ce4'8422'2325U;

    void saw(feature what, uint64_t times = 1) { seen[static_cast<size_t>(what)] += times; }
    /// Everything that clients see goes in here (FNV-1a).
    void note(uint64_t word) { digest = (digest ^ word) * 0x0000'0100'0000'01b3U; }
};

/// Those who are told what happens to them.
class audience {
public:
    virtual void wait_ended(place& who) = 0;
    /// True: the connection has ended and the grant cannot be told.
    virtual bool is_unreachable(const place& who) = 0;

protected:
    ~audience() = default;
};

/// The lock table and everything that checks it: each operation is done by the table, foretold by
/// the oracle, and remembered by those who believe in it. What the server's shell does around the
/// table is done here: settle, tell, take back.
class lock_clerk {
public:
    lock_clerk(const schedule& plan, tally& counted, audience& listeners);

    void set_time(instant now) { _now = now; }

    // ---- locks with owners
    enum class reply : uint8_t { granted, refused, waits, failed };
    struct outcome {
        reply how = reply::refused;
        grant given{};
    };
    /// `line`: where to wait if refused; null: try once.
    outcome acquire(size_t key, const wish& what, place* line);
    void stop_waiting(place& who);
    std::optional<int64_t> release(size_t key, std::string_view owner);
    bool extend(size_t key, std::string_view owner, milliseconds ttl);
    /// Of several locks: whether it is there still, and what it has when all of them are.
    bool holds(size_t key, std::string_view owner, uint64_t fence);
    bool confirm(size_t key, const wish& what, const grant& given);
    void give_back(size_t key, std::string_view owner, uint64_t fence);

    // ---- plain locks
    bool set_nx(size_t key, std::string_view token, uint32_t actor, uint64_t connection,
                std::optional<milliseconds> ttl);
    bool unset(size_t key, std::string_view token);
    bool renew(size_t key, std::string_view token, milliseconds ttl);
    bool get_is(size_t key, std::string_view token);

    // ---- hash locks, as scripts take them
    bool hash_acquire(size_t key, std::string_view owner, uint32_t actor, uint64_t connection,
                      milliseconds ttl);
    void hash_release(size_t key, std::string_view owner);

    // ---- connections
    void disconnect(uint64_t connection);
    /// It took this lock and left without another word.
    void orphan(size_t key, uint64_t connection);

    // ---- administrators
    void remove(size_t key);
    void set(size_t key, std::string_view token, std::optional<milliseconds> ttl);
    void expire(size_t key, nanoseconds after);
    void persist(size_t key);
    void break_lock(size_t key);
    void flush(uint32_t database);
    void look(size_t key);
    void raise_fences(uint64_t by);

    void saw(feature what) { _counted.saw(what); }

    // ---- the process
    /// Everybody has lost its connection. Locks are forgotten, fences are not.
    void restart();

    // ---- time
    /// A command over several cores runs: nothing is handed on before its end.
    void defer(bool on);
    /// What the timer of the shell does.
    void advance();
    /// What its clearing of expired entries does.
    void clear_away();
    std::optional<instant> next_due() const { return table().next_due(); }
    std::optional<instant> next_expiry() const { return table().next_expiry(); }
    bool is_idle(size_t key) { return table().line_of(key_of(key)) == nullptr; }
    bool is_deferred() const { return _is_deferred; }

    /// What was done last, to which key, by whom: for the report of a violation.
    std::string doing() const;

    void verify();
    /// After everything: nothing may be left.
    void check_empty();

private:
    shards::lock_key key_of(size_t key) const;
    shards::lock_table& table() { return *_process; }
    const shards::lock_table& table() const { return *_process; }
    void count();
    void saw_grant(const wish& what, const grant& given, lock_oracle::grant_kind kind);
    bool has_fences() { return table().fences().left() > 0; }
    uint64_t fence_of(size_t key);
    lock_beliefs::told told_of(const wish& what, const grant& given, size_t key) const;
    enum class act : uint8_t {
        lost,
        wait_ended,
        handed_on,
        take,
        stop_waiting,
        release,
        extend,
        confirm,
        give_back,
        disconnect,
        set_nx,
        unset,
        renew,
        look,
        hash_acquire,
        hash_release,
        remove,
        set,
        expire,
        persist,
        break_lock,
        flush,
        orphan,
        turn,
        advance,
        clear,
        wait,
        verify,
        restart,
    };
    /// Before each operation. Nothing ends between two of them without the oracle's knowledge.
    void begin(act what, size_t key = 0, std::string_view who = {});
    /// After each operation.
    void finish();
    void tell();
    void tell(place& who, std::optional<lock_oracle::grant_kind> kind);
    void take_back(const place& who);
    static const char* name_of(act what);
    void note(act what, size_t key, uint64_t answer, std::string_view who = {});

    const schedule& _plan;
    tally& _counted;
    audience& _listeners;
    shards::key_hasher _hasher;
    std::optional<shards::lock_table> _process;  ///< for as long as it runs
    lock_oracle _oracle;
    lock_beliefs _beliefs;
    instant _now = start;
    act _act{};
    size_t _key = 0;
    std::string _who;
    bool _is_deferred = false;
    uint64_t _waits = 0;
    uint64_t _ends = 0;
};

}  // namespace lockkeeper::sim
