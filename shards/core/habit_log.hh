#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shards/core/clock.hh"
#include "shards/core/lock_types.hh"

namespace lockkeeper::shards {

/// What clients do with locks that goes well until it does not.
enum class habit : uint8_t {
    no_ttl,          ///< takes a lock that never ends
    blind_delete,    ///< deletes a lock without asking whose it is
    foreign_delete,  ///< and it was another connection's
    late_release,    ///< gives back what it does not have any more
    retry_storm,     ///< asks again and again without a pause worth the name
};
inline constexpr size_t habits = 5;

/// `order:4711:pay` -> `order:*:pay`: what looks like a number or an id becomes a star.
std::string pattern_of(std::string_view key);

/// How often each habit was seen on one core, and by which keys and clients: every one is counted,
/// and some are looked at more closely, a hundred a second at most, so that a bad client costs no
/// more than a good one.
class habit_log {
public:
    struct row {
        habit what{};
        std::string pattern;
        std::string example;
        uint32_t database = 0;
        uint64_t client = 0;
        uint64_t count = 0;  ///< about: what was not looked at counts for the next that is
        instant last{};
    };
    /// Beyond it rarely seen ones make room.
    static constexpr size_t rows_max = 64;

    void note(habit what, const lock_key& key, uint64_t client, instant now) {
        seen& one = _seen[static_cast<size_t>(what)];
        ++one.count;
        ++one.unlooked;
        if (now >= one.next_look) {
            look(what, key, client, now);
        }
    }

    uint64_t count(habit what) const { return _seen[static_cast<size_t>(what)].count; }
    const std::vector<row>& rows() const { return _rows; }
    void clear();

private:
    struct seen {
        uint64_t count = 0;
        uint64_t unlooked = 0;
        instant next_look = start_of_time;
    };
    void look(habit what, const lock_key& key, uint64_t client, instant now);
    row& row_for(habit what, const lock_key& key, uint64_t client);

    std::array<seen, habits> _seen{};
    std::vector<row> _rows;
};

}  // namespace lockkeeper::shards
