#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "bench/load/histogram.hh"

namespace lockkeeper::bench {

/// What went wrong, by text. Texts that differ in a number are bounded: whatever does not fit is
/// counted under "other errors".
class error_counts {
public:
    void add(std::string_view text, std::uint64_t times = 1);
    void merge(const error_counts& more);
    bool empty() const { return _counts.empty(); }
    const std::map<std::string, std::uint64_t, std::less<>>& by_text() const { return _counts; }

private:
    static constexpr std::size_t texts_max = 32;
    static constexpr std::size_t text_bytes_max = 120;

    std::map<std::string, std::uint64_t, std::less<>> _counts;
};

/// What one thread counts while it measures; added up at the end.
struct tally {
    histogram wait;     ///< from the first acquire of a section to its grant
    histogram turns;    ///< the same wait in grants of the key: what a slow machine cannot change
    histogram renewal;  ///< from a renewal to its reply

    std::uint64_t sections = 0;  ///< acquired, held and released
    std::uint64_t grants = 0;
    std::uint64_t hand_offs = 0;  ///< grants of a key that another client had before
    std::uint64_t refusals = 0;   ///< attempts that did not get the lock
    std::uint64_t renewals = 0;
    std::uint64_t commands = 0;  ///< sent, to all servers

    std::uint64_t intrusions = 0;     ///< two clients were in a section of one key
    std::uint64_t fences_fallen = 0;  ///< a grant whose fence is not above the last one
    std::uint64_t locks_lost = 0;     ///< refused as not the owner, though the lease had not ended
    std::uint64_t expired_holds = 0;  ///< held for longer than the lease: the load's own doing

    error_counts errors;

    std::uint64_t violations() const { return intrusions + fences_fallen + locks_lost; }
    void merge(const tally& more);
};

}  // namespace lockkeeper::bench
