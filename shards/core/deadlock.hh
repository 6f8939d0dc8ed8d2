#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shards/core/clock.hh"

namespace lockkeeper::shards {

/// Why somebody who waits cannot go on.
enum class wait_reason : uint8_t {
    held,      ///< the other holds what it waits for; all who do have to let go
    one_of,    ///< the other is one of several holders, enough of whom have to let go: permits
    in_front,  ///< the other is directly before it in the queue
};

/// An owner that waits for another one. Owners are told apart by a hash of their names, a seeded
/// one: clients choose the names. One that waits twice is taken for a single thread of work, which
/// goes on when both waits have ended.
struct wait_edge {
    uint64_t waiter = 0;
    uint64_t holder = 0;
    wait_reason why = wait_reason::held;
    instant since{};    ///< when the wait began
    uint64_t wait = 0;  ///< which wait it is, in the caller's terms
    // Of `one_of`.
    uint64_t gives = 1;  ///< permits that the other has
    uint64_t needs = 1;  ///< permits that have to come free; the same in all edges of a wait
};

/// Owners that wait for each other in a circle. None of them will ever go on by itself.
struct deadlock {
    /// The waits round the circle: each is for the owner of the next one, and the last one for the
    /// owner of the first. The first is the newest of them, the one that closed the circle.
    std::vector<uint64_t> waits;
};

/// Looks for circles. All edges of one wait have to stand together.
///
/// Where circles have owners in common only one of them is told, that of the newest wait; what is
/// left when it is broken is found by the next look. Of waits for permits, no circle is told that
/// would open by itself when the circles behind it are broken.
///
/// Takes time in proportion to the number of edges. The same edges in the same order give the same
/// answer.
std::vector<deadlock> find_deadlocks(std::span<const wait_edge> edges);

}  // namespace lockkeeper::shards
