#include "protocol/look_ahead.hh"

#include <optional>

namespace lockkeeper::protocol {

namespace {

/// Takes `<mark>D\r\n` or `<mark>DD\r\n` off the front.
std::optional<std::size_t> take_number(std::string_view& rest, char mark) {
    if (rest.size() < 5 || rest[0] != mark || rest[1] < '0' || rest[1] > '9') {
        return std::nullopt;
    }
    auto number = static_cast<std::size_t>(rest[1] - '0');
    std::size_t taken = 2;
    if (rest[2] >= '0' && rest[2] <= '9') {
        number = 10 * number + static_cast<std::size_t>(rest[2] - '0');
        taken = 3;
    }
    if (rest[taken] != '\r' || rest[taken + 1] != '\n') {
        return std::nullopt;
    }
    rest.remove_prefix(taken + 2);
    return number;
}

/// Takes one command off the front.
bool take_command(std::string_view& rest, std::string_view& first_argument) {
    const auto count = take_number(rest, '*');
    if (!count) {
        return false;
    }
    for (std::size_t i = 0; i < *count; ++i) {
        const auto length = take_number(rest, '$');
        if (!length || rest.size() < *length + 2) {
            return false;
        }
        if (i == 1) {
            first_argument = rest.substr(0, *length);
        }
        rest.remove_prefix(*length + 2);
    }
    return true;
}

}  // namespace

std::size_t look_ahead(std::string_view unread, std::span<std::string_view> found) {
    std::size_t count = 0;
    while (count < found.size()) {
        std::string_view argument;
        if (!take_command(unread, argument)) {
            break;
        }
        found[count++] = argument;
    }
    return count;
}

}  // namespace lockkeeper::protocol
