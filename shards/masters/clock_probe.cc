#include "shards/masters/clock_probe.hh"

#include <seastar/core/coroutine.hh>
#include <seastar/core/manual_clock.hh>
#include <seastar/util/log.hh>
#include <utility>

#include "shards/background.hh"
#include "shards/masters/handshake.hh"

namespace lockkeeper::shards {

namespace {

ss::logger log("clocks");

}  // namespace

template <typename Clock>
basic_clock_probe<Clock>::basic_clock_probe(std::vector<master*> masters, options how,
                                            handler on_sample)
    : _how(how), _on_sample(std::move(on_sample)), _timer([this] { ask_all(); }) {
    for (master* who : masters) {
        _masters.push_back({.who = who});
    }
}

template <typename Clock>
ss::future<> basic_clock_probe<Clock>::start() {
    _timer.arm_periodic(_how.interval);
    return ss::make_ready_future<>();
}

template <typename Clock>
void basic_clock_probe<Clock>::request_stop() {
    _timer.cancel();
}

template <typename Clock>
ss::future<> basic_clock_probe<Clock>::stop() {
    request_stop();
    if (!_stopped) {
        _stopped.emplace(_gate.close());
    }
    return _stopped->get_future();
}

template <typename Clock>
void basic_clock_probe<Clock>::ask_all() {
    for (std::size_t i = 0; i != _masters.size(); ++i) {
        if (_masters[i].who->is_connected() && !_masters[i].waiting) {
            background(_gate, log, "asking a master for its time", [this, i] { return ask(i); });
        }
    }
}

template <typename Clock>
ss::future<> basic_clock_probe<Clock>::ask(std::size_t index) {
    master& who = *_masters[index].who;
    const link_generation on = who.generation();
    _masters[index].waiting = true;
    const auto sample = co_await look_at_clock(who, {.timeout = _how.timeout, .only_on = on});
    _masters[index].waiting = false;
    if (!sample) {
        log.debug("master {}: no sample of its clock: {}", who.index(), sample.error());
    } else if (who.is_connected() && who.generation() == on && !_gate.is_closed()) {
        _on_sample(who, on, *sample);
    }
}

template class basic_clock_probe<ss::lowres_clock>;
template class basic_clock_probe<ss::manual_clock>;

}  // namespace lockkeeper::shards
