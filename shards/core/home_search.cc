#include "shards/core/home_search.hh"

namespace lockkeeper::shards {

home_search::verdict home_search::on_answer(std::optional<std::string_view> proxy,
                                            std::optional<std::chrono::nanoseconds> remaining) {
    if (_verdict != verdict::open) {
        return _verdict;
    }
    _left -= _left > 0 ? 1 : 0;
    if (proxy && proxy == _doubted && ++_for_doubted < _quorum) {
        _remaining = remaining;
        return judge();
    }
    if (proxy && *proxy != _own_id) {
        _home = *proxy;
        _remaining = remaining;
        return _verdict = verdict::proxy;
    }
    ++_without;
    return judge();
}

home_search::verdict home_search::on_token(std::optional<std::chrono::nanoseconds> remaining) {
    if (_verdict == verdict::open) {
        ++_tokens;
        _remaining = remaining;
    }
    return on_answer(std::nullopt, remaining);
}

home_search::verdict home_search::on_no_answer() {
    if (_verdict != verdict::open) {
        return _verdict;
    }
    _left -= _left > 0 ? 1 : 0;
    return judge();
}

home_search::verdict home_search::on_time_up() {
    if (_verdict == verdict::open) {
        give_up();
    }
    return _verdict;
}

home_search::verdict home_search::judge() {
    if (_without >= _quorum) {
        _verdict = verdict::no_home;
    } else if (_without + _left < _quorum) {
        // A majority cannot say no any more; one of the others may still name a proxy.
        if (_left == 0) {
            give_up();
        }
    }
    return _verdict;
}

/// Too few have answered. A proxy that was named, even if it said no, knows more than we do.
void home_search::give_up() {
    _verdict = _for_doubted > 0 ? verdict::proxy : verdict::unknown;
    _home = _doubted.value_or("");
}

}  // namespace lockkeeper::shards
