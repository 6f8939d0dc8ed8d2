#include "proxy/expiry.hh"

#include <chrono>
#include <limits>

namespace lockkeeper::proxy {

using std::chrono::milliseconds;

int64_t wall_clock_ms() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<milliseconds>(now).count();
}

std::optional<shards::instant> to_instant(int64_t number, time_unit unit, time_origin origin,
                                          shards::instant now) {
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    constexpr int64_t least = std::numeric_limits<int64_t>::min();
    if (unit == time_unit::seconds) {
        if (number > most / 1000 || number < least / 1000) {
            return std::nullopt;
        }
        number *= 1000;
    }
    const int64_t wall = wall_clock_ms();
    if (origin == time_origin::now && number > most - wall) {
        return std::nullopt;
    }
    const int64_t from_now = origin == time_origin::now ? number
                             : number < least + wall    ? least
                                                        : number - wall;
    return now + milliseconds(from_now);
}

int64_t milliseconds_left(std::optional<shards::instant> until, shards::instant now) {
    if (!until) {
        return -1;
    }
    return std::chrono::ceil<milliseconds>(*until - now).count();
}

int64_t milliseconds_left(const shards::lifetime& life, shards::instant now) {
    return life.present ? milliseconds_left(life.until, now) : -2;
}

}  // namespace lockkeeper::proxy
