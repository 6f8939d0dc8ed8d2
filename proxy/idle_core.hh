#pragma once

#include <chrono>
#include <seastar/core/future.hh>
#include <seastar/core/internal/poll.hh>

/// What a core does that has nothing to do. Until --idle-poll-time-us are over it looks for work
/// again and again, which is how it has the next request sooner than by sleeping: to be woken takes
/// longer than a whole hand-off. Seastar does the looking. Two things are added to it here;
/// docs/adr/0023 has the figures.
namespace lockkeeper::proxy {

namespace ss = seastar;

/// Makes a core that has slept for a moment only look for work again before it sleeps the next
/// time.
///
/// Seastar counts the time of looking from when work was last found by looking. What ends a sleep
/// is not found by looking, so a core that slept once would sleep again at once, before each
/// request, however close they follow one another, until by chance one comes while it is awake.
/// Hence this poller, which says "I have found something" after a sleep that was shorter than the
/// time of looking: that begins anew then. After a longer sleep it says nothing, for looking would
/// have been in vain.
class short_sleeps final : public ss::pollfn {
public:
    using clock = std::chrono::steady_clock;

    explicit short_sleeps(std::chrono::nanoseconds looks_for,
                          clock::time_point (*now)() = clock::now)
        : _looks_for(looks_for), _now(now) {}

    bool poll() override {
        const bool was_short = _was_short;
        _was_short = false;
        return was_short;
    }
    bool pure_poll() override { return _was_short; }
    bool try_enter_interrupt_mode() override {
        _began = _now();
        return true;
    }
    void exit_interrupt_mode() override { _was_short = _now() - _began < _looks_for; }

private:
    std::chrono::nanoseconds _looks_for;
    clock::time_point (*_now)();
    clock::time_point _began;
    bool _was_short = false;
};

/// Whether a core that looks for work lets other threads run on its CPU meanwhile.
///
/// Where proxies, masters and clients share CPUs, the one that is looked at may need this very CPU
/// to send what is looked for. Those who have something to say take it for microseconds. A thread
/// that just computes keeps it for milliseconds; while there is such a one, nobody is let in.
class giving_way {
public:
    using clock = short_sleeps::clock;

    static constexpr std::chrono::milliseconds too_long{1};
    static constexpr std::chrono::milliseconds pause{100};

    bool is_due(clock::time_point now) const { return now >= _not_before; }
    void gave_way(clock::time_point began, clock::time_point ended) {
        if (ended - began > too_long) {
            _not_before = ended + pause;
        }
    }

private:
    clock::time_point _not_before = clock::time_point::min();
};

/// Both, for one core.
class idle_core {
public:
    explicit idle_core(std::chrono::nanoseconds looks_for);
    static ss::future<> stop();

private:
    ss::internal::poller _sleeps;
};

}  // namespace lockkeeper::proxy
