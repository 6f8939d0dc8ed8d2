#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "shards/core/clock.hh"
#include "shards/core/lock_types.hh"

namespace lockkeeper::shards {

/// Which other proxy had the lease of a key when we last looked. Nothing rests on it but speed: a
/// proxy that is not the home any more says so, and then the hint is dropped. It lasts as long as
/// the lease did, as far as that was known.
class home_hints {
public:
    explicit home_hints(size_t most = 100'000) : _most(most) {}

    void note(const lock_key& key, std::string_view proxy, instant until, instant now);
    /// The proxy's id.
    std::optional<std::string> find(const lock_key& key, instant now);
    void drop(const lock_key& key) { _hints.erase(name_of(key)); }
    /// That proxy was asked and is not the home. A master may name it all the same: it has asked
    /// for the key and lost, or has just given it back.
    void doubt(const lock_key& key, std::string_view proxy, instant now);
    /// Whose name alone does not count, if somebody looks now.
    std::optional<std::string> doubted(const lock_key& key, instant now) const;
    size_t size() const { return _hints.size(); }

private:
    struct hint {
        std::string proxy;
        instant until;
        bool is_doubt = false;
    };

    static std::string name_of(const lock_key& key);

    size_t _most;
    std::unordered_map<std::string, hint> _hints;
};

}  // namespace lockkeeper::shards
