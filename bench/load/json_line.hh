#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockkeeper::bench {

/// Writes one JSON value on one line. The caller opens and closes what it nests; within an object
/// every value has a name.
///
///     json_line json;
///     json.open_object().add("clients", 100).open_array("masters").add("a").close().close();
///     json.text()   // {"clients":100,"masters":["a"]}
class json_line {
public:
    json_line& open_object(std::string_view name = {}) { return open(name, '{'); }
    json_line& open_array(std::string_view name = {}) { return open(name, '['); }
    json_line& close();

    json_line& add(std::string_view name, std::string_view value);
    json_line& add(std::string_view name, const char* value) {
        return add(name, std::string_view(value));
    }
    json_line& add(std::string_view name, bool value);
    /// Six significant digits. What JSON has no word for (infinity, not a number) is null.
    json_line& add(std::string_view name, double value);
    template <std::integral Number>
        requires(!std::same_as<Number, bool>)
    json_line& add(std::string_view name, Number value) {
        begin(name);
        _text += std::to_string(value);
        return *this;
    }

    /// An element of an array.
    json_line& add(std::string_view value) { return add({}, value); }

    const std::string& text() const { return _text; }

private:
    json_line& open(std::string_view name, char bracket);
    void begin(std::string_view name);
    void quote(std::string_view text);

    std::string _text;
    std::string _closing;  ///< the brackets that are open, innermost last
};

}  // namespace lockkeeper::bench
