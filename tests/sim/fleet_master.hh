#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "fleet_time.hh"
#include "shards/core/lease_terms.hh"

namespace lockkeeper::sim {

/// Lock keys in the world; each has a fence slot of its own.
inline constexpr size_t keys = 2;
inline constexpr size_t proxies = 3;

/// What a proxy asks of a master; the words of shards/masters/vote_commands.hh as values.
struct question {
    enum class kind : uint8_t {
        vote,
        raise,
        renew,
        release,
        look,
        mark,
        head,
        pend,
        admit,
        horizon,
        counters,
        time,
        beat,  ///< a proxy is there; who else is?
    };

    kind what = kind::vote;
    uint8_t key = 0;
    uint32_t block = 0;
    shards::attempt_id attempt{};
    int64_t length = 0;   ///< of a lease or a mark
    uint64_t number = 0;  ///< what to raise to, or a nonce
    uint64_t base = 0;
    std::string run_id{};
    std::string fingerprint{};
    std::string durability{};
};

/// The registry's card of a proxy: of which of its lives, and its beat.
struct registered {
    uint32_t epoch = 0;
    uint64_t beat = 0;
};

struct answer {
    /// 1 done, 0 not ours or busy, -1 not the admitted incarnation, -2 an error, -3 a replica.
    int verdict = -2;
    /// A fence counter, a nonce, or (head) whether it writes before it answers.
    uint64_t counter = 0;
    int64_t remaining = 0;  ///< of a key or a mark; (time) what its clock shows
    shards::attempt_id holder{};
    // head
    std::string run_id{};
    std::string incarnation{};
    std::string fingerprint{};
    std::string durability{};
    bool replica = false;
    bool promoted = false;
    // beat
    std::array<registered, proxies> cards{};
};

/// A redis-server: keys with a TTL on its wall clock, and the fence table. What it does with a
/// question is what Redis does with the words; tests/e2e/vote_commands_test.py holds the words
/// against a real one.
class fleet_master {
public:
    void begin(int number, const wall_clock& clock);

    /// In one step, as Redis does.
    answer carry_out(const question& asked, true_time now);

    const std::string& run_id() const { return _run_id; }
    int64_t clock(true_time now) const { return wall.shows(now); }

    enum class loss : uint8_t {
        everything,
        last_second,
        nothing,
        old_dump,  ///< somebody has put back a dump of long ago
    };
    /// Another process, with what it had on disk.
    void restart(loss lost);
    /// A replica takes its place, with what it had been sent; another process.
    void fail_over();
    /// It copies another one, and refuses writes until it is a master again. False if that would
    /// bring back its own data of earlier, which the other one had copied before: then it looks as
    /// if it had never forgotten anything, to us as well.
    bool follow(const fleet_master& other, true_time now);
    void lead_again();
    /// It was a replica, and nobody has seen so yet. If it restarted now, with what it writes
    /// before it answers, nobody ever would.
    bool is_promoted_unseen() const {
        return durable && (_replica || _promoted) && _data.incarnation != _run_id &&
               _data.nonce_run_id != _run_id;
    }
    void flush() { _data = {}; }
    /// True if there was one.
    bool evict(uint8_t key);
    void evict_fences();
    void write_to_disk() { _disk = _data; }
    void keep_dump() { _old = _data; }

    /// For the judge: the end of a key in true time if it is this attempt's, otherwise nothing.
    true_time held_until(uint8_t key, const shards::attempt_id& attempt) const;

    wall_clock wall;
    bool alive = true;
    bool full = false;          ///< refuses writes that need memory
    bool out_of_order = false;  ///< answers everything with an error
    bool durable = false;       ///< writes before it answers
    true_time frozen_until = 0;
    true_time forgot = -1;  ///< when it last lost something; for the judge

private:
    struct lock {
        shards::attempt_id owner{};
        int64_t ends = 0;  ///< on its own clock; 0: absent
    };
    struct data {
        std::array<lock, keys> locks{};
        std::array<uint64_t, keys> slots{};
        std::string incarnation{};
        std::string fingerprint{};
        std::string durability{};
        uint64_t base = 0;
        uint64_t nonce = 0;
        std::string nonce_run_id{};
        int64_t horizon = 0;  ///< on its own clock
        std::array<registered, proxies> cards{};
    };

    bool is_admitted(const question& asked) const;
    answer vote(const question& asked, int64_t now);
    answer raise(const question& asked, int64_t now);
    answer renew(const question& asked, int64_t now);
    answer admit(const question& asked);

    data _data;
    data _disk;
    data _old;
    bool _replica = false;
    bool _promoted = false;
    std::string _run_id;
    int _number = 0;
    int _lives = 0;
};

}  // namespace lockkeeper::sim
