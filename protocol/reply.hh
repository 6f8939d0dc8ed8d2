#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockkeeper::protocol {

enum class reply_kind : std::uint8_t {
    null,
    null_array,  ///< RESP2 only: an aborted EXEC, a BLPOP that timed out
    simple,
    error,  ///< an error line, or a bulk error of RESP3
    integer,
    bulk,
    boolean,
    number,
    big_number,
    verbatim,
    array,
    map,  ///< its items are key, value, key, value
    set,
    push,
};

/// What a master answered: one value, or a tree of them. It owns its bytes. The peer chooses the
/// kind, so every question is safe on every kind: asked for what it is not, a reply says "nothing"
/// and never throws.
class reply {
public:
    reply() = default;  ///< null

    static reply null() { return {}; }
    static reply null_array() { return reply(reply_kind::null_array); }
    static reply simple(std::string text) { return {reply_kind::simple, std::move(text)}; }
    static reply error(std::string text) { return {reply_kind::error, std::move(text)}; }
    static reply integer(std::int64_t value) { return {reply_kind::integer, value}; }
    static reply bulk(std::string bytes) { return {reply_kind::bulk, std::move(bytes)}; }
    static reply boolean(bool value) { return {reply_kind::boolean, std::int64_t{value}}; }
    static reply number(double value);
    static reply big_number(std::string digits) {
        return {reply_kind::big_number, std::move(digits)};
    }
    /// `tagged` is the format's three letters, a colon, and the text: "txt:hello".
    static reply verbatim(std::string tagged) { return {reply_kind::verbatim, std::move(tagged)}; }
    /// `kind` is array, map, set or push; the items of a map are an even number.
    static reply aggregate(reply_kind kind, std::vector<reply> items);

    reply_kind kind() const { return _kind; }
    bool is_null() const { return _kind == reply_kind::null || _kind == reply_kind::null_array; }
    bool is_error() const { return _kind == reply_kind::error; }
    bool is_aggregate() const { return _kind >= reply_kind::array; }
    bool is_ok() const { return _kind == reply_kind::simple && text() == "OK"; }

    std::optional<std::int64_t> as_integer() const;
    std::optional<bool> as_boolean() const;
    std::optional<double> as_number() const;

    /// The text of a simple string, error, bulk, big number or verbatim string; otherwise empty.
    std::string_view text() const;
    /// The three letters of a verbatim string; otherwise empty.
    std::string_view format() const;
    /// The code an error begins with, "NOSCRIPT" of "NOSCRIPT No matching script."; otherwise
    /// empty.
    std::string_view error_code() const;
    /// The elements of an aggregate; otherwise empty.
    std::span<const reply> items() const;

    friend bool operator==(const reply&, const reply&);

private:
    explicit reply(reply_kind kind) : _kind(kind) {}
    reply(reply_kind kind, std::int64_t value) : _kind(kind), _number(value) {}
    reply(reply_kind kind, std::string text) : _kind(kind), _text(std::move(text)) {}

    // Not a variant: replies are moved far more often than they are kept, and three plain members
    // move without a branch. Those that the kind does not use are empty.
    reply_kind _kind = reply_kind::null;
    std::int64_t _number = 0;  ///< the bits of a double, if it is one
    std::string _text;
    std::vector<reply> _items;
};

}  // namespace lockkeeper::protocol
