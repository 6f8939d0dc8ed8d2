#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lock_oracle.hh"

namespace lockkeeper::sim {

/// Who believes to hold what, judged only by what they were told. A client believes in its grant
/// until the end that it was told, unless it released it, heard that it was lost, or asked for it
/// to end with its connection. What an administrator ends is the administrator's to answer for.
///
/// - P1: nobody believes in an exclusive lock together with anybody else, and nobody in more
///   permits than there are.
/// - P2: each grant of a key has a greater fence than all before it.
class lock_beliefs {
public:
    explicit lock_beliefs(size_t keys) : _keys(keys) {}

    struct told {
        std::string_view owner;
        uint64_t connection = 0;
        lock_mode mode = lock_mode::exclusive;
        uint32_t permits = 1;
        uint32_t of = 1;
        uint64_t fence = 0;
        instant until = shards::end_of_time;
        int64_t holds = 1;
        bool is_fresh = true;  ///< not a second hold, nor told a second time
        /// Ends with its connection, and that much later.
        std::optional<milliseconds> after{};
        bool is_renewed = false;  ///< by a policy, of which the client does not know
    };
    void granted(size_t key, const told& what, instant now);
    /// A grant that nobody was told of counts for fences all the same.
    void withdrawn(size_t key, uint64_t fence);
    void released(size_t key, std::string_view owner, int64_t left);
    /// So many holds, and nothing else is new.
    void counted(size_t key, std::string_view owner, int64_t holds) { released(key, owner, holds); }
    void extended(size_t key, std::string_view owner, instant until);
    void lost(size_t key, std::string_view owner, uint64_t fence);
    void disconnected(uint64_t connection, instant now);
    /// By somebody else.
    void forced_to_end(size_t key, instant when = shards::start_of_time);

private:
    struct belief {
        std::string owner;
        uint64_t connection = 0;
        lock_mode mode = lock_mode::exclusive;
        uint32_t permits = 1;
        uint64_t fence = 0;
        instant until{};
        int64_t holds = 1;
        std::optional<milliseconds> after{};
        bool is_renewed = false;
        instant not_before = shards::start_of_time;  ///< whatever becomes of its connection
    };
    struct state {
        std::vector<belief> all;
        uint64_t last_fence = 0;
    };

    static belief* find(state& of, std::string_view owner);
    static void check_exclusion(const state& of, const told& what, instant now);

    std::vector<state> _keys;
};

}  // namespace lockkeeper::sim
