#include "shards/core/fence_record.hh"

#include <charconv>

#include "shards/core/fence_counter.hh"
#include "shards/core/key_hash.hh"

namespace lockkeeper::shards {

namespace {

constexpr std::string_view beginning = "lockkeeper fences up to ";

std::string hexadecimal(uint64_t value) {
    std::string text(16, '0');
    for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4) {
        *digit = "0123456789abcdef"[value & 15];
    }
    return text;
}

/// Against accidents, not against people: the seed is no secret.
std::string checksum(std::string_view number) {
    return hexadecimal(siphash<2, 4>(number, {.low = 1, .high = 2}));
}

}  // namespace

std::string show_fence_record(uint64_t ceiling) {
    const std::string number = std::to_string(ceiling);
    return std::string(beginning) + number + " checksum " + checksum(number) + "\n";
}

std::expected<uint64_t, std::string> parse_fence_record(std::string_view text) {
    if (text.empty()) {
        return std::unexpected("it is empty");
    }
    if (!text.starts_with(beginning)) {
        return std::unexpected("it is no record of fences");
    }
    const char* const first = text.data() + beginning.size();
    uint64_t ceiling = 0;
    const auto [rest, problem] = std::from_chars(first, text.data() + text.size(), ceiling);
    if (problem != std::errc{} || ceiling > fence_limit) {
        return std::unexpected("its number makes no sense");
    }
    if (text != show_fence_record(ceiling)) {
        return std::unexpected("its checksum is wrong");
    }
    return ceiling;
}

}  // namespace lockkeeper::shards
