#include "bench/load/retry.hh"

#include <algorithm>

#include "bench/load/duration_text.hh"

namespace lockkeeper::bench {

namespace {

using std::chrono::nanoseconds;

nanoseconds between(nanoseconds shortest, nanoseconds longest, random_source& random) {
    const auto span = static_cast<std::uint64_t>((longest - shortest).count()) + 1;
    return shortest + nanoseconds(random.below(span));
}

}  // namespace

nanoseconds retry_strategy::pause(std::uint32_t refusals, random_source& random) const {
    switch (what) {
        case kind::fixed:
            return shortest;
        case kind::random:
            return between(shortest, longest, random);
        case kind::exponential:
            break;
    }
    nanoseconds whole = shortest;
    for (std::uint32_t i = 1; i < refusals && whole < longest; ++i) {
        whole *= 2;
    }
    whole = std::min(whole, longest);
    return between(whole / 2, whole, random);
}

std::optional<retry_strategy> parse_retry(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view name = text.substr(0, colon);
    const std::string_view range = text.substr(colon + 1);
    if (name == "fixed") {
        const auto interval = parse_duration(range);
        return interval ? std::optional(
                              retry_strategy{retry_strategy::kind::fixed, *interval, *interval})
                        : std::nullopt;
    }
    if (name != "random" && name != "exponential") {
        return std::nullopt;
    }
    const std::size_t dash = range.find('-');
    if (dash == std::string_view::npos) {
        return std::nullopt;
    }
    const auto shortest = parse_duration(range.substr(0, dash));
    const auto longest = parse_duration(range.substr(dash + 1));
    const bool is_random = name == "random";
    // Nothing doubled is nothing: such a client would never pause.
    if (!shortest || !longest || *shortest > *longest ||
        (!is_random && *shortest == nanoseconds(0))) {
        return std::nullopt;
    }
    return retry_strategy{
        is_random ? retry_strategy::kind::random : retry_strategy::kind::exponential, *shortest,
        *longest};
}

std::string to_text(const retry_strategy& strategy) {
    switch (strategy.what) {
        case retry_strategy::kind::fixed:
            return "fixed:" + to_text(strategy.shortest);
        case retry_strategy::kind::random:
            return "random:" + to_text(strategy.shortest) + "-" + to_text(strategy.longest);
        case retry_strategy::kind::exponential:
            return "exponential:" + to_text(strategy.shortest) + "-" + to_text(strategy.longest);
    }
    return {};
}

}  // namespace lockkeeper::bench
