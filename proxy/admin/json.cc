#include "proxy/admin/json.hh"

#include <fmt/format.h>

#include <cassert>
#include <iterator>

namespace lockkeeper::proxy::admin {

namespace {

/// How many bytes of UTF-8 begin here; 0 if these are none.
size_t utf8_length(std::string_view text) {
    const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) {
        return 1;
    }
    const size_t length = first >= 0xC2 && first < 0xE0   ? 2
                          : first >= 0xE0 && first < 0xF0 ? 3
                          : first >= 0xF0 && first < 0xF5 ? 4
                                                          : 0;
    if (length == 0 || text.size() < length) {
        return 0;
    }
    for (size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) {
            return 0;
        }
    }
    // Longer than needed, a surrogate, or beyond Unicode.
    const unsigned char second = byte(1);
    const bool is_wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                          (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
    return is_wrong ? 0 : length;
}

}  // namespace

json& json::begin(char open, char close) {
    comma();
    _out += open;
    _open += close;
    _first = true;
    return *this;
}

json& json::end() {
    assert(!_open.empty());
    _out += _open.back();
    _open.pop_back();
    _first = false;
    return *this;
}

void json::comma() {
    if (!_first) {
        _out += ',';
    }
    _first = false;
}

json& json::name(std::string_view called) {
    comma();
    quote(called);
    _out += ':';
    _first = true;  // no comma before its value
    return *this;
}

json& json::text(std::string_view value) {
    comma();
    quote(value);
    return *this;
}

void json::quote(std::string_view bytes) {
    _out += '"';
    while (!bytes.empty()) {
        const size_t length = utf8_length(bytes);
        const auto first = static_cast<unsigned char>(bytes.front());
        if (length == 0) {
            fmt::format_to(std::back_inserter(_out), "\\\\x{:02x}", first);
        } else if (length == 1 && (first < 0x20 || first == 0x7f)) {
            fmt::format_to(std::back_inserter(_out), "\\u{:04x}", first);
        } else if (first == '"' || first == '\\') {
            _out += '\\';
            _out += bytes.front();
        } else {
            _out += bytes.substr(0, length);
        }
        bytes.remove_prefix(length == 0 ? 1 : length);
    }
    _out += '"';
}

std::string percent_encoded(std::string_view bytes) {
    std::string out;
    for (const char each : bytes) {
        const bool is_plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
                              (each >= '0' && each <= '9') || each == '-' || each == '.' ||
                              each == '_' || each == '~';
        if (is_plain) {
            out += each;
        } else {
            fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(each));
        }
    }
    return out;
}

}  // namespace lockkeeper::proxy::admin
