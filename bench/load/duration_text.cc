#include "bench/load/duration_text.hh"

#include <charconv>
#include <cstdint>

namespace lockkeeper::bench {

namespace {

using std::chrono::nanoseconds;

struct unit {
    std::string_view name;
    nanoseconds length;
};

constexpr unit units[] = {
    {"m", std::chrono::minutes(1)},
    {"s", std::chrono::seconds(1)},
    {"ms", std::chrono::milliseconds(1)},
    {"us", std::chrono::microseconds(1)},
    {"ns", nanoseconds(1)},
};

constexpr nanoseconds longest = std::chrono::hours(24);

}  // namespace

std::optional<nanoseconds> parse_duration(std::string_view text) {
    std::uint64_t count = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, count);
    if (failure != std::errc{}) {
        return std::nullopt;
    }
    const std::string_view name(rest, static_cast<std::size_t>(end - rest));
    if (count == 0 && name.empty()) {
        return nanoseconds(0);
    }
    for (const unit& one : units) {
        if (name == one.name) {
            const auto most = static_cast<std::uint64_t>(longest / one.length);
            return count <= most ? std::optional(one.length * static_cast<std::int64_t>(count))
                                 : std::nullopt;
        }
    }
    return std::nullopt;
}

std::string to_text(nanoseconds duration) {
    if (duration == nanoseconds(0)) {
        return "0";
    }
    for (const unit& one : units) {
        if (duration % one.length == nanoseconds(0)) {
            return std::to_string(duration / one.length) + std::string(one.name);
        }
    }
    return {};
}

}  // namespace lockkeeper::bench
