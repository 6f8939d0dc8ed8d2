#include "config/units.hh"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <span>

namespace lockkeeper::config {

namespace {

struct unit {
    std::string_view name;
    uint64_t factor;
};

// Largest first: the way back, from a number to text, takes the first that divides it.
constexpr unit durations[] = {{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
constexpr unit sizes[] = {
    {"GiB", 1ULL << 30},
    {"MiB", 1ULL << 20},
    {"KiB", 1ULL << 10},
    {"GB", 1'000'000'000},
    {"MB", 1'000'000},
    {"KB", 1'000},
    {"B", 1},
};

struct number_and_unit {
    uint64_t number;
    std::string_view unit;
};

std::expected<number_and_unit, std::string> split(std::string_view text) {
    uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, number);
    if (problem == std::errc::result_out_of_range) {
        return std::unexpected(fmt::format("'{}' is too large", text));
    }
    if (problem != std::errc{}) {
        return std::unexpected(fmt::format("'{}' is not a whole number", text));
    }
    return number_and_unit{number, {rest, static_cast<size_t>(end - rest)}};
}

std::expected<uint64_t, std::string> parse_with(std::string_view text, std::span<const unit> units,
                                                std::string_view example) {
    const auto parts = split(text);
    if (!parts) {
        return std::unexpected(parts.error());
    }
    if (parts->number == 0 && parts->unit.empty()) {
        return 0;
    }
    for (const unit& known : units) {
        if (known.name != parts->unit) {
            continue;
        }
        // Half the range: what is computed from an option later must not overflow.
        if (parts->number >
            static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / 2 / known.factor) {
            return std::unexpected(fmt::format("'{}' is too large", text));
        }
        return parts->number * known.factor;
    }
    return std::unexpected(fmt::format("'{}' needs a unit, as in {}", text, example));
}

std::string show_with(uint64_t value, std::span<const unit> units) {
    for (const unit& known : units) {
        if (value != 0 && value % known.factor == 0) {
            return fmt::format("{}{}", value / known.factor, known.name);
        }
    }
    return "0";
}

}  // namespace

std::expected<std::chrono::milliseconds, std::string> parse_duration(std::string_view text) {
    const auto value = parse_with(text, durations, "250ms, 10s, 5m or 1h");
    if (!value) {
        return std::unexpected(value.error());
    }
    return std::chrono::milliseconds(static_cast<int64_t>(*value));
}

std::expected<uint64_t, std::string> parse_size(std::string_view text) {
    return parse_with(text, sizes, "64KiB or 1MiB");
}

std::expected<uint64_t, std::string> parse_count(std::string_view text) {
    const auto parts = split(text);
    if (!parts) {
        return std::unexpected(parts.error());
    }
    if (!parts->unit.empty()) {
        return std::unexpected(fmt::format("'{}' is not a whole number", text));
    }
    return parts->number;
}

std::string show_duration(std::chrono::milliseconds value) {
    return show_with(static_cast<uint64_t>(value.count()), durations);
}

std::string show_size(uint64_t bytes) {
    return show_with(bytes, sizes);
}

}  // namespace lockkeeper::config
