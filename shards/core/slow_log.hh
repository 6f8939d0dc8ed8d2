#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "shards/core/clock.hh"

namespace lockkeeper::shards {

/// Somebody waited for long, or held for long.
struct slow_event {
    enum class kind : uint8_t { wait, hold };

    kind what = kind::wait;
    uint64_t number = 0;  ///< of this log, from 0
    instant when{};       ///< of its end
    std::chrono::nanoseconds took{};
    uint32_t database = 0;
    std::string key{};
    std::string owner{};
    uint64_t client = 0;
    std::string_view end{};  ///< granted, timed_out, ...; released, expired, ...
    /// Of a wait: who had the lock at its end, or until then. Of a hold: the first in line.
    std::string other{};
    uint64_t other_client = 0;
    std::chrono::nanoseconds other_took{};  ///< held, or waited so far
    size_t in_line = 0;                     ///< behind it, or for it
};

struct slow_log_options {
    /// What takes this long is written down.
    std::chrono::nanoseconds wait = std::chrono::seconds(1);
    std::chrono::nanoseconds hold = std::chrono::seconds(10);
    /// So many; the oldest go.
    size_t entries = 128;
};

/// The last long waits and holds of one core. Nothing of it is touched while nothing is slow.
class slow_log {
public:
    explicit slow_log(size_t entries) : _kept(entries) {}

    void add(slow_event event) {
        ++(event.what == slow_event::kind::wait ? _waits : _holds);
        if (_kept == 0) {
            return;
        }
        event.number = _next++;
        _events.push_back(std::move(event));
        if (_events.size() > _kept) {
            _events.pop_front();
        }
    }
    void clear() { _events.clear(); }

    const std::deque<slow_event>& events() const { return _events; }  ///< the oldest first
    uint64_t waits() const { return _waits; }
    uint64_t holds() const { return _holds; }

private:
    size_t _kept;
    std::deque<slow_event> _events;
    uint64_t _next = 0;
    uint64_t _waits = 0;
    uint64_t _holds = 0;
};

}  // namespace lockkeeper::shards
