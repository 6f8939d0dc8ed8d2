#include "bench/load/json_line.hh"

#include <array>
#include <cmath>
#include <cstdio>

namespace lockkeeper::bench {

json_line& json_line::open(std::string_view name, char bracket) {
    begin(name);
    _text += bracket;
    _closing += bracket == '{' ? '}' : ']';
    return *this;
}

json_line& json_line::close() {
    _text += _closing.back();
    _closing.pop_back();
    return *this;
}

json_line& json_line::add(std::string_view name, std::string_view value) {
    begin(name);
    quote(value);
    return *this;
}

json_line& json_line::add(std::string_view name, bool value) {
    begin(name);
    _text += value ? "true" : "false";
    return *this;
}

json_line& json_line::add(std::string_view name, double value) {
    begin(name);
    if (!std::isfinite(value)) {
        _text += "null";
        return *this;
    }
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%.6g", value);
    _text += digits.data();
    return *this;
}

/// What stands before every value: a comma unless it is the first one, and its name in an object.
void json_line::begin(std::string_view name) {
    if (_closing.empty()) {
        return;
    }
    if (_text.back() != '{' && _text.back() != '[') {
        _text += ',';
    }
    if (_closing.back() == '}') {
        quote(name);
        _text += ':';
    }
}

/// Bytes above ASCII pass as they are: names and error texts are UTF-8, or whatever the server
/// sent, and a reader that minds can be told to replace them.
void json_line::quote(std::string_view text) {
    _text += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            _text += '\\';
            _text += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            std::array<char, 8> escaped{};
            std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(c));
            _text += escaped.data();
        } else {
            _text += c;
        }
    }
    _text += '"';
}

}  // namespace lockkeeper::bench
