#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockkeeper::proxy::admin {

/// Writes JSON, from the outside in: begin_object(), member(), ..., end(). Commas come by
/// themselves. Names of locks and owners are bytes of strangers: whatever they hold, what comes out
/// is valid JSON in valid UTF-8.
class json {
public:
    json& begin_object() { return begin('{', '}'); }
    json& begin_array() { return begin('[', ']'); }
    json& end();

    /// A member's name; its value follows.
    json& name(std::string_view called);

    json& text(std::string_view value);
    json& number(std::integral auto value) {
        comma();
        _out += std::to_string(value);
        return *this;
    }
    json& boolean(bool value) {
        comma();
        _out += value ? "true" : "false";
        return *this;
    }

    json& member(std::string_view called, std::string_view value) {
        return name(called).text(value);
    }
    json& member(std::string_view called, const char* value) { return name(called).text(value); }
    json& member(std::string_view called, bool value) { return name(called).boolean(value); }
    template <std::integral Number>
        requires(!std::same_as<Number, bool>)
    json& member(std::string_view called, Number value) {
        return name(called).number(value);
    }
    /// In microseconds, which the page reckons in.
    json& member(std::string_view called, std::chrono::nanoseconds time) {
        return name(called).number(
            std::chrono::duration_cast<std::chrono::microseconds>(time).count());
    }

    std::string take() { return std::move(_out); }

private:
    json& begin(char open, char close);
    void comma();
    void quote(std::string_view bytes);

    std::string _out;
    std::string _open;  ///< what is to be closed
    bool _first = true;
};

/// Bytes as a part of an address: what is not a letter, a digit or one of -._~ becomes %XX.
std::string percent_encoded(std::string_view bytes);

}  // namespace lockkeeper::proxy::admin
