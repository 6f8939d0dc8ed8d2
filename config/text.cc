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

std::string show_text(std::string_view text) {
    const auto is_plain = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               std::string_view("._:/@<>-").contains(c);
    };
    const bool begins_plain = !text.empty() && !std::string_view("-@>:").contains(text.front());
    const bool means_nothing = text == "null" || text == "Null" || text == "NULL";
    if (begins_plain && !means_nothing && !text.ends_with(':') &&
        std::ranges::all_of(text, is_plain)) {
        return std::string(text);
    }
    return quoted(text);
}

}  // namespace lockkeeper::config
