#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "shards/core/lease_terms.hh"

namespace lockkeeper::shards {

/// One question to all masters of a key: whose is it? The first answer that names another proxy
/// ends it, for that proxy knows best; that nobody has the key needs a majority. So does a proxy
/// that has just said that it is not the home.
class home_search {
public:
    enum class verdict : uint8_t {
        open,     ///< not enough is known yet
        proxy,    ///< home() has the lease, or had it a moment ago
        no_home,  ///< free, ours, or of somebody who talks to Redis directly
        unknown,  ///< too few answers
    };

    /// `masters` of the stripe, of whom `asked` were asked.
    home_search(size_t masters, size_t asked, std::string_view own_id,
                std::optional<std::string> doubted = std::nullopt)
        : _quorum(quorum_of(masters)),
          _left(asked),
          _own_id(own_id),
          _doubted(std::move(doubted)) {}

    /// `proxy`: whom the value on a master names; nothing if there is no value, or not of a proxy.
    verdict on_answer(std::optional<std::string_view> proxy,
                      std::optional<std::chrono::nanoseconds> remaining);
    /// There is a value, and not of a proxy: a client's own token.
    verdict on_token(std::optional<std::chrono::nanoseconds> remaining);
    verdict on_no_answer();
    verdict on_time_up();

    verdict state() const { return _verdict; }
    const std::string& home() const { return _home; }
    std::optional<std::chrono::nanoseconds> remaining() const { return _remaining; }
    /// Somebody may have it by his token, be it through a proxy or not.
    bool is_by_token() const { return _tokens > 0; }
    /// He does: it is no rest of a release that is on its way.
    bool is_held_by_token() const { return _tokens >= _quorum; }

private:
    verdict judge();
    void give_up();

    size_t _quorum;
    size_t _left;
    size_t _without = 0;
    std::string _own_id;
    std::optional<std::string> _doubted;
    size_t _for_doubted = 0;
    size_t _tokens = 0;
    verdict _verdict = verdict::open;
    std::string _home;
    std::optional<std::chrono::nanoseconds> _remaining;
};

}  // namespace lockkeeper::shards
