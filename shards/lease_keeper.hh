#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/shared_future.hh>
#include <seastar/core/shared_ptr.hh>
#include <seastar/core/timer.hh>
#include <string>
#include <utility>
#include <vector>

#include "shards/core/entry_map.hh"
#include "shards/core/expiry_heap.hh"
#include "shards/core/forwarding.hh"
#include "shards/core/home_hints.hh"
#include "shards/core/home_search.hh"
#include "shards/core/lease_counters.hh"
#include "shards/core/lease_record.hh"
#include "shards/core/lease_source.hh"
#include "shards/core/lock_table.hh"
#include "shards/core/stripe_map.hh"
#include "shards/home_directory.hh"
#include "shards/lease_voters.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// A lease that a command found missing or too short.
struct wanted_lease {
    uint32_t database = 0;
    std::string name;
    key_hash hash;
    instant until = end_of_time;
    std::string token{};    ///< what the masters are to hold; empty: the lease's own value
    bool is_cover = false;  ///< the entry is there; only its end is not covered yet
};

enum class lease_outcome : uint8_t {
    ready,        ///< held, for long enough
    elsewhere,    ///< somebody else has it
    unreachable,  ///< a majority of the masters could not be asked
};

/// The leases of this core's keys: gives the table its fences, and sees to it that the masters hold
/// what the table holds. Decisions are core/lease's; this class gives them time, chance, and the
/// masters of their stripe. Belongs to a lock_service.
///
/// Invariant: a key whose entry bears the mark `leased` has a record here.
class lease_keeper final : public lease_source, public lease_answers {
    struct record;

public:
    /// `changed` is called, outside of any call of the table, when something may be served.
    lease_keeper(lock_table& table, stripe_map stripes, std::vector<lease_voters*> groups,
                 std::function<void(instant)> changed);
    virtual ~lease_keeper();

    /// No more work; leases end by themselves.
    ss::future<> stop();
    /// Gives all leases back that nobody needs for a promise.
    void release_all(instant now);

    // What a command left behind.
    bool has_wanted() const { return !_wanted.empty(); }
    std::vector<wanted_lease> take_wanted() { return std::exchange(_wanted, {}); }
    /// How long a command tries to get what it wants before it is answered with an error.
    static constexpr std::chrono::milliseconds patience() { return std::chrono::milliseconds(250); }
    /// Whether keys that others have had may be asked for again, if it is time; normally so.
    void ask_masters(bool may) { _may_ask = may; }
    /// The leases that a command has asked for stay while this lives, whatever becomes of their
    /// entries meanwhile: one that needs several gets them one after the other.
    class kept {
    public:
        explicit kept(lease_keeper& by) : _by(by) {}
        ~kept();
        kept(const kept&) = delete;
        kept& operator=(const kept&) = delete;
        kept(kept&&) = delete;
        kept& operator=(kept&&) = delete;

    private:
        friend class lease_keeper;
        lease_keeper& _by;
        std::vector<record*> _records;
    };
    /// Sees to all of them at once; the worst outcome counts.
    ss::future<lease_outcome> see_to(std::vector<wanted_lease> wanted, kept& keep);
    /// The same without waiting: who is in line is served when it is there. True if some of them
    /// were told that it is not to be had: the table is to be settled once more.
    bool pursue(std::vector<wanted_lease> wanted, instant now);
    /// The command is over: keys that are gone for good are given back.
    void finish(instant now) {
        if (!_idle.empty()) {
            give_back_idle(now);
        }
    }

    // Other proxies. Where a key is at home is asked only if somebody knows the way there.
    void find_homes_with(const home_directory& ways, std::string own_id);
    bool finds_homes() const { return _ways != nullptr; }
    /// What is known without asking anybody.
    lease_place place_of(const lock_key& key, instant now);
    /// Whether this proxy has the lease, or an entry that needs none.
    bool is_here(const lock_key& key, instant now);
    /// The same, after a round for it that is under way.
    ss::future<bool> comes_to_be_here(uint32_t database, std::string name, key_hash hash);
    /// The proxy that has the lease, if it can be reached and is known without asking.
    std::optional<std::string> known_home(const lock_key& key, instant now);
    /// The same; asks the masters if need be.
    ss::future<std::optional<std::string>> find_home(uint32_t database, std::string name,
                                                     key_hash hash);
    /// Both in one question.
    struct place {
        bool is_here = false;
        std::optional<std::string> home{};
    };
    /// `anew`: what was known of its home may be over, and does not count.
    ss::future<place> locate(uint32_t database, std::string name, key_hash hash, bool anew = false);
    /// That proxy says that it does not have it, or cannot be asked.
    void forget_home(const lock_key& key, std::string_view home, forward_trouble why);

    size_t size() const { return _records.size(); }
    const lease_counters& counted() const { return _counted; }
    /// Looks at all of them, a few at a time.
    ss::future<lease_survey> survey() const;

    // lease_source
    std::optional<uint64_t> fence(const lock_key& key, instant until, std::string_view token,
                                  instant now) override;
    bool is_valid(const lock_key& key, instant now) override;
    /// The masters hold the key until then, or no end was promised, or nobody needs to ask them.
    bool covers(const lock_key& key, instant until);
    bool is_elsewhere(const lock_key& key, instant now) override;
    std::optional<instant> elsewhere_until(const lock_key& key) override;
    void needed_until(const lock_key& key, instant until, instant now) override;
    void gone(const lock_key& key, bool in_line, instant now) override;

    // lease_answers
    void voted(const lock_key& key, attempt_id attempt, master_index from,
               const vote& answer) override;
    void raised(const lock_key& key, attempt_id attempt, master_index from, uint64_t to,
                bool confirmed) override;
    void renewed(const lock_key& key, attempt_id attempt, master_index from,
                 const renewal_answer& answer) override;
    void looked(const lock_key& key, attempt_id attempt, std::optional<std::string_view> holder,
                std::optional<std::chrono::nanoseconds> remaining) override;
    void link_lost(uint32_t stripe, master_index from) override;

private:
    static uint64_t hash_of(const lock_key& key);
    record* find(const lock_key& key);
    record& open(const lock_key& key);
    void close(record& one);
    template <typename Work>
    void with(record& one, instant now, Work work);
    template <typename Work>
    void on_answer(const lock_key& key, Work work);
    void after(record& one, instant now);
    bool is_awaited(const lock_key& key) const;
    bool give_up_line(record& one, instant now);
    void count_change(const record& one, lease::phase before, instant now);
    void count_renewal(const record& one, instant valid_before, instant now);
    void look_at(record& one);
    void pin(const wanted_lease& what, kept& keep);
    void unpin(record& one);
    void give_back_idle(instant now);
    /// Whether a free key is kept for those who poll.
    bool stays_for_pollers(const lock_line& line, instant now) const;
    void try_again(record& one, instant now);
    void expect_next(const lock_key& key, lease& held, const lease_rules& rules);
    void on_due();
    void schedule(instant now);
    ss::future<> change_of(record& one);
    ss::future<lease_outcome> see_to_one(wanted_lease wanted);
    void begin(record& one, instant until, std::string_view token, instant now);
    bool stores_tokens(const lock_key& key) const;
    std::string_view stored_for(const lock_key& key, std::string_view token) const;
    uint64_t random_number();
    struct search;
    void conclude(search& one);
    ss::lw_shared_ptr<search> search_home(const lock_key& key);
    ss::future<> send_line_home(uint32_t database, std::string name, key_hash hash);

    lock_table& _table;
    stripe_map _stripes;
    std::vector<lease_voters*> _groups;
    std::function<void(instant)> _changed;
    node_map<lease_record> _records;
    due_heap<lease_record> _due;
    std::vector<wanted_lease> _wanted;
    std::vector<record*> _idle;  ///< whose entry went in this command; each once
    std::vector<lease_action> _out;
    ss::timer<> _timer;
    instant _timer_at = end_of_time;
    instant _next_ringing{};  ///< no alarm before
    std::array<uint64_t, 64> _random{};
    size_t _random_left = 0;
    lease_counters _counted;
    bool _may_ask = true;
    bool _stopped = false;
    const home_directory* _ways = nullptr;
    std::string _own_id;
    home_hints _hints;
    std::map<attempt_id, ss::lw_shared_ptr<search>> _searches;
    std::map<std::pair<uint32_t, std::string>, ss::lw_shared_ptr<search>> _searched_keys;
    ss::gate _gate;
};

}  // namespace lockkeeper::shards
