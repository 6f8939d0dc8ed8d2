#include "protocol/reply.hh"

#include <algorithm>
#include <bit>

namespace lockkeeper::protocol {

namespace {

/// "txt" of "txt:" in front of the text of a verbatim string.
constexpr std::size_t format_bytes = 3;

}  // namespace

reply reply::number(double value) {
    return {reply_kind::number, std::bit_cast<std::int64_t>(value)};
}

reply reply::aggregate(reply_kind kind, std::vector<reply> items) {
    reply whole(kind);
    whole._items = std::move(items);
    return whole;
}

std::optional<std::int64_t> reply::as_integer() const {
    return _kind == reply_kind::integer ? std::optional(_number) : std::nullopt;
}

std::optional<bool> reply::as_boolean() const {
    return _kind == reply_kind::boolean ? std::optional(_number != 0) : std::nullopt;
}

std::optional<double> reply::as_number() const {
    return _kind == reply_kind::number ? std::optional(std::bit_cast<double>(_number))
                                       : std::nullopt;
}

std::string_view reply::text() const {
    const std::string_view whole = _text;
    return _kind == reply_kind::verbatim ? whole.substr(std::min(whole.size(), format_bytes + 1))
                                         : whole;
}

std::string_view reply::format() const {
    return _kind == reply_kind::verbatim ? std::string_view(_text).substr(0, format_bytes)
                                         : std::string_view();
}

std::string_view reply::error_code() const {
    return is_error() ? std::string_view(_text).substr(0, _text.find(' ')) : std::string_view();
}

std::span<const reply> reply::items() const {
    return _items;
}

bool operator==(const reply& a, const reply& b) {
    return a._kind == b._kind && a._number == b._number && a._text == b._text &&
           a._items == b._items;
}

}  // namespace lockkeeper::protocol
