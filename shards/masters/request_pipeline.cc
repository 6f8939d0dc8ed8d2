#include "shards/masters/request_pipeline.hh"

#include <cassert>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/manual_clock.hh>
#include <utility>

namespace lockkeeper::shards {

template <typename Clock>
request_pipeline<Clock>::request_pipeline(pipeline_limits limits, master_statistics& counted)
    : _limits(limits), _counted(counted) {}

template <typename Clock>
bool request_pipeline<Clock>::has_room(std::size_t bytes) const {
    return _in_flight.size() < _limits.requests && bytes <= _limits.bytes &&
           _bytes <= _limits.bytes - bytes;
}

template <typename Clock>
ss::future<master_result> request_pipeline<Clock>::expect(expectation what) {
    assert(what.replies > 0);
    _in_flight.emplace_back(
        pending{.due = what.replies,
                .bytes = what.bytes,
                .since = Clock::now(),
                .got = {.replies = {}, .generation = what.generation, .sent = what.sent}});
    pending& request = _in_flight.back();
    _bytes += what.bytes;
    ++_counted.requests;
    if (what.timeout) {
        request.deadline.set_callback([this, &request] { time_out(request); });
        request.deadline.arm(Clock::now() + *what.timeout);
    }
    return request.done.get_future();
}

template <typename Clock>
bool request_pipeline<Clock>::take(protocol::reply reply, instant now) {
    if (_in_flight.empty()) {
        return false;
    }
    pending& request = _in_flight.front();
    if (!request.answered) {
        if (request.got.replies.empty()) {
            request.got.replies.reserve(request.due);
        }
        request.got.replies.push_back(std::move(reply));
    }
    if (--request.due > 0) {
        return true;
    }
    _counted.round_trips.record(now - request.got.sent);
    if (request.answered) {
        ++_counted.late_replies;
    } else {
        ++_counted.replies;
        request.deadline.cancel();
        request.got.received = now;
        request.done.set_value(std::move(request.got));
    }
    _bytes -= request.bytes;
    _in_flight.pop_front();
    return true;
}

template <typename Clock>
void request_pipeline<Clock>::time_out(pending& request) {
    request.answered = true;
    request.got.replies = {};
    ++_counted.timeouts;
    request.done.set_value(std::unexpected(master_error::timed_out));
}

template <typename Clock>
void request_pipeline<Clock>::fail_all(master_error why) {
    while (!_in_flight.empty()) {
        pending& request = _in_flight.front();
        if (!request.answered) {
            ++_counted.lost;
            request.deadline.cancel();
            request.done.set_value(std::unexpected(why));
        }
        _in_flight.pop_front();
    }
    _bytes = 0;
}

template <typename Clock>
std::optional<typename Clock::time_point> request_pipeline<Clock>::owed_since() const {
    return _in_flight.empty() ? std::nullopt : std::optional(_in_flight.front().since);
}

template class request_pipeline<ss::lowres_clock>;
template class request_pipeline<ss::manual_clock>;

}  // namespace lockkeeper::shards
