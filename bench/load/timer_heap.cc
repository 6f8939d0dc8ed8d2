#include "bench/load/timer_heap.hh"

namespace lockkeeper::bench {

timer_heap::timer_heap(std::size_t sleepers) : _places(sleepers, nowhere) {
    _heap.reserve(sleepers);
}

void timer_heap::set(std::uint32_t sleeper, moment when) {
    std::size_t place = _places[sleeper];
    if (place == nowhere) {
        place = _heap.size();
        _heap.push_back({});
    }
    put(place, {.when = when, .sleeper = sleeper});
    up(place);
    down(_places[sleeper]);
}

void timer_heap::cancel(std::uint32_t sleeper) {
    const std::size_t place = _places[sleeper];
    if (place == nowhere) {
        return;
    }
    _places[sleeper] = nowhere;
    const alarm last = _heap.back();
    _heap.pop_back();
    if (place == _heap.size()) {
        return;
    }
    put(place, last);
    up(place);
    down(_places[last.sleeper]);
}

std::optional<std::uint32_t> timer_heap::take_due(moment now) {
    if (_heap.empty() || _heap.front().when > now) {
        return std::nullopt;
    }
    const std::uint32_t sleeper = _heap.front().sleeper;
    cancel(sleeper);
    return sleeper;
}

void timer_heap::put(std::size_t place, alarm what) {
    _heap[place] = what;
    _places[what.sleeper] = static_cast<std::uint32_t>(place);
}

void timer_heap::up(std::size_t place) {
    const alarm rising = _heap[place];
    while (place != 0) {
        const std::size_t parent = (place - 1) / 2;
        if (_heap[parent].when <= rising.when) {
            break;
        }
        put(place, _heap[parent]);
        place = parent;
    }
    put(place, rising);
}

void timer_heap::down(std::size_t place) {
    const alarm sinking = _heap[place];
    while (true) {
        std::size_t child = 2 * place + 1;
        if (child >= _heap.size()) {
            break;
        }
        if (child + 1 < _heap.size() && _heap[child + 1].when < _heap[child].when) {
            ++child;
        }
        if (sinking.when <= _heap[child].when) {
            break;
        }
        put(place, _heap[child]);
        place = child;
    }
    put(place, sinking);
}

}  // namespace lockkeeper::bench
