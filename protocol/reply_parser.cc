#include "protocol/reply_parser.hh"

#include <algorithm>
#include <charconv>
#include <utility>

#include "protocol/text.hh"

namespace lockkeeper::protocol {

namespace {

constexpr std::string_view known_types = "+-:$*_#,(!=%~|>";
constexpr std::size_t crlf_bytes = 2;

/// Most aggregates are this small. Larger ones grow as their elements really come.
constexpr std::size_t reserved_items_max = 4;

/// The kind of the aggregate that `type` begins; an attribute is shaped as a map.
reply_kind aggregate_kind(char type) {
    switch (type) {
        case '%':
        case '|':
            return reply_kind::map;
        case '~':
            return reply_kind::set;
        case '>':
            return reply_kind::push;
        default:
            return reply_kind::array;
    }
}

bool is_big_number(std::string_view text) {
    text.remove_prefix(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The three words a double may consist of are for std::from_chars; what else it reads (hex,
/// infinity spelled out, nan with a payload) is not RESP.
bool is_double(std::string_view text) {
    const std::string_view unsigned_text = text.substr(text.starts_with('-') ? 1 : 0);
    return unsigned_text == "inf" || unsigned_text == "nan" ||
           text.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
}

}  // namespace

reply_result reply_parser::parse(std::string_view unread) {
    _consumed = 0;
    step last = _error.empty() ? step::unfinished : step::broken;
    while (last == step::unfinished) {
        last = advance(unread.substr(_consumed));
    }
    switch (last) {
        case step::value:
            start_over();
            return {reply_outcome::reply, _consumed};
        case step::need_more:
            return {reply_outcome::need_more, _consumed};
        default:
            return {reply_outcome::broken, _consumed};
    }
}

reply_parser::step reply_parser::advance(std::string_view rest) {
    if (_in_bulk) {
        return read_bulk(rest);
    }
    return read_line(rest);
}

reply_parser::step reply_parser::read_line(std::string_view rest) {
    if (rest.empty()) {
        return step::need_more;
    }
    const char type = rest.front();
    if (known_types.find(type) == std::string_view::npos) {
        return fail("unknown type of reply");
    }
    // A line is too long or not, however much of it came at once.
    const std::string_view window = rest.substr(0, 1 + line_bytes_max(type) + 1);
    const std::size_t end = window.find('\r', std::max<std::size_t>(_seen, 1));
    if (end == std::string_view::npos) {
        _seen = window.size();
        return window.size() == 1 + line_bytes_max(type) + 1 ? fail("line too long")
                                                             : step::need_more;
    }
    _seen = end;
    if (end + 1 == rest.size()) {
        return step::need_more;
    }
    const std::string_view text = rest.substr(1, end - 1);
    if (rest[end + 1] != '\n' || text.find('\n') != std::string_view::npos) {
        return fail("line not ended by CRLF");
    }
    _seen = 0;
    _consumed += end + crlf_bytes;
    _bytes += end + crlf_bytes;
    if (_bytes > _limits.reply_bytes_max) {
        return fail("reply too long");
    }
    if (++_values > _limits.reply_values_max) {
        return fail("too many values in one reply");
    }
    return read_leaf(type, text);
}

reply_parser::step reply_parser::read_leaf(char type, std::string_view text) {
    switch (type) {
        case '+':
            return deliver(reply::simple(std::string(text)));
        case '-':
            return deliver(reply::error(std::string(text)));
        case ':': {
            const auto value = parse_integer(text);
            return value ? deliver(reply::integer(*value)) : fail("bad integer");
        }
        case '_':
            return text.empty() ? deliver(reply::null()) : fail("bad null");
        case '#':
            return text == "t" || text == "f" ? deliver(reply::boolean(text == "t"))
                                              : fail("bad boolean");
        case ',':
            return read_number(text);
        case '(':
            return is_big_number(text) ? deliver(reply::big_number(std::string(text)))
                                       : fail("bad big number");
        default:
            return read_length(type, text);
    }
}

reply_parser::step reply_parser::read_number(std::string_view text) {
    if (text.starts_with('+') && !text.starts_with("+-")) {
        text.remove_prefix(1);
    }
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc{} || stopped != end || !is_double(text)) {
        return fail("bad double");
    }
    return deliver(reply::number(value));
}

reply_parser::step reply_parser::read_length(char type, std::string_view text) {
    if (text == "?") {
        return fail("streamed types are not supported");
    }
    const auto length = parse_integer(text);
    if (length && *length == -1 && type == '$') {
        return deliver(reply::null());
    }
    if (length && *length == -1 && type == '*') {
        return deliver(reply::null_array());
    }
    if (!length || *length < 0) {
        return fail("bad length");
    }
    const auto count = static_cast<std::size_t>(*length);
    const bool is_bulk = type == '$' || type == '!' || type == '=';
    return is_bulk ? begin_bulk(type, count) : begin_aggregate(type, count);
}

reply_parser::step reply_parser::begin_bulk(char type, std::size_t length) {
    if (length > _limits.reply_bulk_bytes_max) {
        return fail("bulk too long");
    }
    _bytes += length + crlf_bytes;
    if (_bytes > _limits.reply_bytes_max) {
        return fail("reply too long");
    }
    _in_bulk = true;
    _bulk_type = type;
    _bulk_due = length;
    _bulk.clear();
    return step::unfinished;
}

reply_parser::step reply_parser::read_bulk(std::string_view rest) {
    const std::string_view piece = rest.substr(0, _bulk_due);
    _bulk.append(piece);
    _bulk_due -= piece.size();
    _consumed += piece.size();
    rest.remove_prefix(piece.size());
    if (_bulk_due != 0 || rest.size() < crlf_bytes) {
        return step::need_more;
    }
    if (!rest.starts_with("\r\n")) {
        return fail("bulk not ended by CRLF");
    }
    _consumed += crlf_bytes;
    _in_bulk = false;
    switch (_bulk_type) {
        case '!':
            return deliver(reply::error(std::exchange(_bulk, {})));
        case '=':
            return _bulk.size() >= 4 && _bulk[3] == ':'
                       ? deliver(reply::verbatim(std::exchange(_bulk, {})))
                       : fail("bad verbatim string");
        default:
            return deliver(reply::bulk(std::exchange(_bulk, {})));
    }
}

reply_parser::step reply_parser::begin_aggregate(char type, std::size_t count) {
    if (type == '>' && !_stack.empty()) {
        return fail("push within a reply");
    }
    const bool is_pairs = type == '%' || type == '|';
    if (count > _limits.reply_elements_max / (is_pairs ? 2 : 1)) {
        return fail("too many elements");
    }
    if (_stack.size() >= _limits.reply_depth_max) {
        return fail("nested too deep");
    }
    const bool is_attribute = type == '|';
    const std::size_t elements = is_pairs ? 2 * count : count;
    if (elements == 0) {
        return is_attribute ? step::unfinished
                            : deliver(reply::aggregate(aggregate_kind(type), {}));
    }
    _stack.push_back(
        {.kind = aggregate_kind(type), .is_attribute = is_attribute, .due = elements, .items = {}});
    _stack.back().items.reserve(std::min(elements, reserved_items_max));
    return step::unfinished;
}

/// Puts a value where it belongs; as the last element it completes its aggregate, and that perhaps
/// the next one.
reply_parser::step reply_parser::deliver(reply&& value) {
    while (!_stack.empty()) {
        frame& top = _stack.back();
        if (!top.is_attribute) {
            top.items.push_back(std::move(value));
        }
        if (--top.due != 0) {
            return step::unfinished;
        }
        if (top.is_attribute) {
            _stack.pop_back();
            return step::unfinished;
        }
        value = reply::aggregate(top.kind, std::move(top.items));
        _stack.pop_back();
    }
    _done = std::move(value);
    return step::value;
}

reply_parser::step reply_parser::fail(const char* why) {
    _error = why;
    return step::broken;
}

std::size_t reply_parser::line_bytes_max(char type) const {
    switch (type) {
        case '+':
        case '-':
            return _limits.reply_line_bytes_max;
        case ',':
            return _limits.reply_double_bytes_max;
        case '(':
            return _limits.reply_big_number_bytes_max;
        default:
            return integer_text_max;
    }
}

void reply_parser::start_over() {
    _values = 0;
    _bytes = 0;
}

}  // namespace lockkeeper::protocol
