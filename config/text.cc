#include "config/text.hh"

#include <fmt/format.h>

#include <algorithm>

namespace lockkeeper::config {

namespace {

bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

}  // namespace

std::string quoted(std::string_view text) {
    const bool escape = std::ranges::any_of(text, is_control);
    std::string shown(1, escape ? '"' : '\'');
    for (const char c : text) {
        if (is_control(c)) {
            shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else if (escape) {
            shown.append(c == '"' || c == '\\' ? 1 : 0, '\\') += c;
        } else {
            shown.append(c == '\'' ? 2 : 1, c);
        }
    }
    return shown += shown.front();
}

}  // namespace lockkeeper::config
