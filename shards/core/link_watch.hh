#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "shards/core/clock.hh"
#include "shards/core/planted.hh"

namespace lockkeeper::shards {

/// How two proxies that share a link know that the other one is there. The same at both.
struct link_rules {
    using milliseconds = std::chrono::milliseconds;

    milliseconds between_signs{1'000};
    /// Somebody who says nothing for this long is gone or stands still; leases are longer.
    milliseconds silence{3'000};
    milliseconds watch_period{500};

    /// The side that was called sees the end of a link; the caller has seen it at most this much
    /// later: at the second look that finds it silent, and looks may be late.
    constexpr milliseconds seen_within() const { return silence + 3 * watch_period; }
    /// How long a lock that lives by a connection goes on when it was the link that broke: its
    /// client's own proxy has to see that, and to tell.
    constexpr milliseconds grace() const { return seen_within() + watch_period; }
};

/// One end of a link: when to give a sign of life, and when the other end counts as gone.
///
/// The caller gives signs with numbers, and the other side says each number back. What counts for
/// the caller is when it gave the sign, as with leases: an answer that was long on its way proves
/// nothing of the time since. So the caller never takes a link for alive much longer than the other
/// side did.
class link_watch {
public:
    link_watch(const link_rules& rules, instant now) : _rules(rules), _alive(now), _said(now) {}

    /// The side that was called has heard something.
    void heard(instant now) { _alive = now; }
    /// The number of the caller's next sign of life, if it is time for one.
    std::optional<uint64_t> sign(instant now) {
        if (now - _said < _rules.between_signs) {
            return std::nullopt;
        }
        _said = now;
        _signs[++_number % _signs.size()] = now;
        return _number;
    }
    /// The other side has said that number back.
    void echoed(uint64_t number) {
        if (number > _echoed && number <= _number && _number - number < _signs.size()) {
            _echoed = number;
            _alive = _signs[number % _signs.size()];
        }
    }

    /// Every watch_period: whether the other end is gone.
    bool is_gone(instant now) {
        const bool is_overdue = now - _alive >= _rules.silence && !planted(fault::silence_ignored);
        // Once more, after everything has been read that there is: it may be us who stood still.
        const bool was_overdue = _was_overdue;
        _was_overdue = is_overdue;
        return is_overdue && was_overdue;
    }

private:
    link_rules _rules;
    instant _alive;
    instant _said;
    std::array<instant, 8> _signs{};
    uint64_t _number = 0;
    uint64_t _echoed = 0;
    bool _was_overdue = false;
};

}  // namespace lockkeeper::shards
