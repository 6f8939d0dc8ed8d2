#include "proxy/process.hh"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <span>
#include <system_error>

namespace lockkeeper::proxy {

namespace {

template <size_t N>
std::array<uint8_t, N> draw() {
    std::array<uint8_t, N> bytes{};
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    return bytes;
}

uint64_t number(std::span<const uint8_t> bytes) {
    uint64_t value = 0;
    for (const uint8_t byte : bytes) {
        value = value << 8 | byte;
    }
    return value;
}

}  // namespace

const std::string& run_id() {
    static const std::string id = [] {
        const auto bytes = draw<20>();
        return fmt::format("{:02x}", fmt::join(bytes, ""));
    }();
    return id;
}

seastar::lowres_clock::time_point start_of_process() {
    static const auto start = seastar::lowres_clock::now();
    return start;
}

shards::hash_seed draw_hash_seed() {
    const auto bytes = draw<16>();
    const std::span all(bytes);
    return {.low = number(all.first(8)), .high = number(all.last(8))};
}

}  // namespace lockkeeper::proxy
