#pragma once

#include <chrono>
#include <optional>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/shared_future.hh>
#include <seastar/core/timer.hh>
#include <seastar/util/noncopyable_function.hh>
#include <vector>

#include "shards/masters/clock_sample.hh"
#include "shards/masters/master.hh"

namespace lockkeeper::shards {

/// Asks masters for their time, once per interval, and passes the samples on: a wall clock that
/// steps ends leases early or late. One probe for each group and core. Masters do not wait for each
/// other; one that has not answered the last question is not asked another.
template <typename Clock>
class basic_clock_probe {
public:
    /// Called on this core for each sample that was taken on the master's present connection. Must
    /// not throw.
    using handler =
        ss::noncopyable_function<void(master& of, link_generation on, const clock_sample& sample)>;

    struct options {
        std::chrono::milliseconds interval{1'000};
        /// An answer that takes longer says too little about the time.
        std::chrono::milliseconds timeout{500};
    };

    /// The masters outlive the probe.
    basic_clock_probe(std::vector<master*> masters, options how, handler on_sample);

    ss::future<> start();
    void request_stop();
    ss::future<> stop();

private:
    struct asked {
        master* who;
        bool waiting = false;
    };

    void ask_all();
    ss::future<> ask(std::size_t index);

    std::vector<asked> _masters;
    options _how;
    handler _on_sample;
    ss::timer<Clock> _timer;
    ss::gate _gate;
    std::optional<ss::shared_future<>> _stopped;
};

using clock_probe = basic_clock_probe<ss::lowres_clock>;

}  // namespace lockkeeper::shards
