#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shards/core/grant_types.hh"

namespace lockkeeper::shards {

/// Locks of one client that live by its connection and are at other proxies. To those it is
/// connected by a conversation over a link; if that ends, so do the locks, in a while. Then the
/// client must be told, since its own connection goes on.
class away_grants {
public:
    void granted(std::string_view home, uint32_t database, std::string_view key,
                 std::string_view owner, uint64_t fence);
    /// Released, or with an end of its own from now on.
    void gone(uint32_t database, std::string_view key, std::string_view owner);
    /// That proxy says that it has ended this grant. It does not say in which database.
    void lost(std::string_view home, std::string_view key, std::string_view owner, uint64_t fence);
    /// The conversation with that proxy has ended: what its client has lost.
    std::vector<lost_grant> conversation_ended(std::string_view home);
    bool empty() const { return _all.empty(); }

private:
    struct name {
        uint32_t database = 0;
        std::string key;
        std::string owner;

        friend auto operator<=>(const name&, const name&) = default;
    };
    struct record {
        std::string home;
        uint64_t fence = 0;
    };

    std::map<name, record> _all;
};

}  // namespace lockkeeper::shards
