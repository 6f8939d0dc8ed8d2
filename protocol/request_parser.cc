#include "protocol/request_parser.hh"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "protocol/inline_splitter.hh"

namespace lockkeeper::protocol {

namespace {

/// What Redis itself refuses at any time. Between these bounds and ours, an unauthenticated client
/// hears that it is unauthenticated, and everybody else that the length is invalid.
constexpr std::int64_t redis_arguments_max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t redis_bulk_bytes_max = 512 * 1024 * 1024;

/// What one outsized command may leave behind for the next, so that ordinary ones allocate nothing.
constexpr std::size_t kept_arguments = 128;
constexpr std::size_t kept_unquoted_bytes = 4096;

constexpr std::size_t crlf_bytes = 2;

constexpr const char* invalid_count = "Protocol error: invalid multibulk length";
constexpr const char* invalid_bulk_length = "Protocol error: invalid bulk length";
constexpr const char* too_big_inline = "Protocol error: too big inline request";

template <typename Word>
Word load(std::uintptr_t at) {
    Word word;
    std::memcpy(&word, reinterpret_cast<const char*>(at), sizeof(word));
    return word;
}

/// The bytes of `text` as they lie in memory, to compare several of them at once.
template <typename Word, std::size_t N>
constexpr Word pattern(const char (&text)[N]) {
    static_assert(N - 1 <= sizeof(Word));
    std::array<char, sizeof(Word)> bytes{};
    std::copy_n(text, N - 1, bytes.begin());
    return std::bit_cast<Word>(bytes);
}

bool is_crlf(std::uintptr_t at) {
    return load<std::uint16_t>(at) == pattern<std::uint16_t>("\r\n");
}

/// The digit d if `<type>d\r\n` stands at `at`, otherwise something above 9.
template <char type>
std::uint32_t one_digit(std::uintptr_t at) {
    // Xor leaves nothing but the digit, which the turn brings to the front.
    constexpr char frame[] = {type, '0', '\r', '\n', '\0'};
    return std::rotr(load<std::uint32_t>(at) ^ pattern<std::uint32_t>(frame), 8);
}

/// The number if `<type>dd\r\n` stands at `at`, without a leading zero; otherwise 0.
template <char type>
std::uint32_t two_digits(std::uintptr_t at) {
    const std::uint32_t digits = load<std::uint32_t>(at + 1) ^ pattern<std::uint32_t>("00\r\n");
    const std::uint32_t tens = digits & 0xff;
    const std::uint32_t ones = digits >> 8;
    if (load<char>(at) != type || tens - 1 >= 9 || ones >= 10) {
        return 0;
    }
    return tens * 10 + ones;
}

}  // namespace

request_parser::request_parser(const limits& bounds) : _limits(bounds) {
    set_authenticated(true);
}

void request_parser::set_authenticated(bool authenticated) {
    _authenticated = authenticated;
    std::size_t arguments = _limits.arguments_max;
    std::size_t bulk_bytes = _limits.bulk_bytes_max;
    if (!authenticated) {
        arguments = std::min(arguments, _limits.unauthenticated_arguments_max);
        bulk_bytes = std::min(bulk_bytes, _limits.unauthenticated_bulk_bytes_max);
    }
    const bool open = bulk_bytes >= plain_bulk_bytes && std::endian::native == std::endian::little;
    _plain_arguments_max = open ? std::min(arguments, plain_arguments) : 0;
}

/// The short road: a whole command of a few short arguments, as nearly all of them are. Anything
/// else, good or bad, is left to parse_any(), which alone knows about errors and missing bytes.
///
/// One glance takes in the CRLF that ends what came before and the header of the next argument.
/// Eight bytes are there to look at in any case: the shortest argument is `$0\r\n\r\n`.
///
///     * 6 \r \n $ 3 \r \n S E T \r \n $ 1 \r \n k \r \n
///         [at           ]       [at           ]
request_result request_parser::parse(std::string_view unread) {
    constexpr std::size_t glance = 8;
    if (_phase != phase::idle || unread.size() < 2 + glance) [[unlikely]] {
        return parse_any(unread);
    }
    // Numbers, not pointers: a claimed length may lead beyond the buffer before it is looked at.
    const auto begin = reinterpret_cast<std::uintptr_t>(unread.data());
    const auto last_glance = begin + unread.size() - glance;
    auto at = begin + 2;
    std::size_t count = one_digit<'*'>(begin);
    if (count > 9) [[unlikely]] {
        count = two_digits<'*'>(begin);
        at = begin + 3;
    }
    if (count - 1 >= _plain_arguments_max) [[unlikely]] {
        return parse_any(unread);
    }
    _request.args = {_plain.data(), count};
    std::string_view* argument = _plain.data();
    std::string_view* const end = argument + count;
    do {
        if (at > last_glance || !is_crlf(at)) [[unlikely]] {
            return parse_any(unread);
        }
        std::size_t length = one_digit<'$'>(at + 2);
        at += 6;
        if (length > 9) {
            length = two_digits<'$'>(at - 4);
            if (length == 0) {
                return parse_any(unread);
            }
            at += 1;
        }
        *argument = std::string_view(reinterpret_cast<const char*>(at), length);
        at += length;
    } while (++argument != end);
    if (at - (glance - crlf_bytes) > last_glance || !is_crlf(at)) [[unlikely]] {
        return parse_any(unread);
    }
    return {request_outcome::request, at - begin + crlf_bytes};
}

request_result request_parser::parse_any(std::string_view unread) {
    std::size_t consumed = 0;
    while (true) {
        const std::string_view rest = unread.substr(consumed);
        switch (advance(rest)) {
            case step::complete:
                _phase = phase::idle;
                return {request_outcome::request, consumed + _at};
            case step::nothing:
                _phase = phase::idle;
                consumed += _at;
                break;
            case step::need_more:
                return {request_outcome::need_more, consumed};
            case step::broken:
                return {request_outcome::broken, consumed};
        }
    }
}

request_parser::step request_parser::advance(std::string_view rest) {
    if (_phase == phase::idle) {
        forget();
        if (rest.empty()) {
            _wanted = 1;
            return step::need_more;
        }
        _phase = rest.front() == '*' ? phase::count_line : phase::inline_line;
    }
    switch (_phase) {
        case phase::count_line:
            return read_count(rest);
        case phase::bulk_line:
        case phase::bulk_body:
            return read_bulks(rest);
        case phase::inline_line:
            return read_inline(rest);
        case phase::idle:
        case phase::broken:
            break;
    }
    return step::broken;
}

request_parser::step request_parser::read_inline(std::string_view rest) {
    const step found = find_line_end(rest, '\n', _limits.inline_bytes_max, too_big_inline);
    if (found != step::complete) {
        return found;
    }
    std::string_view line = rest.substr(0, _line_end);
    _at = _line_end + 1;
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    switch (split_inline(line, _limits.arguments_max, _unquoted, _views)) {
        case split_outcome::unbalanced_quotes:
            return fail("Protocol error: unbalanced quotes in request");
        case split_outcome::too_many_words:
            return fail(too_big_inline);
        case split_outcome::words:
            break;
    }
    _request.args = _views;
    return _views.empty() ? step::nothing : step::complete;
}

request_parser::step request_parser::read_count(std::string_view rest) {
    const step found = find_line_end(rest, '\r', _limits.header_bytes_max,
                                     "Protocol error: too big mbulk count string");
    if (found != step::complete) {
        return found;
    }
    const auto count = parse_integer(rest.substr(1, _line_end - 1));
    if (!count || *count > redis_arguments_max || rest[_line_end + 1] != '\n') {
        return fail(invalid_count);
    }
    _at = _line_end + crlf_bytes;
    _seen = _at;
    if (*count <= 0) {
        return step::nothing;
    }
    _arguments_due = static_cast<std::size_t>(*count);
    if (!_authenticated && _arguments_due > _limits.unauthenticated_arguments_max) {
        return fail("Protocol error: unauthenticated multibulk length");
    }
    if (_arguments_due > _limits.arguments_max) {
        return fail(invalid_count);
    }
    _phase = phase::bulk_line;
    return read_bulks(rest);
}

request_parser::step request_parser::read_bulks(std::string_view rest) {
    while (_arguments_due != 0) {
        if (_phase == phase::bulk_line) {
            const step length = read_bulk_length(rest);
            if (length != step::complete) {
                return length;
            }
            _phase = phase::bulk_body;
        }
        const std::size_t end = _at + _bulk_length + crlf_bytes;
        if (rest.size() < end) {
            _wanted = end - rest.size();
            return step::need_more;
        }
        // Redis skips these two bytes whatever they are. A client that counts wrongly would have
        // its data read as commands, so here the stream ends.
        if (rest.substr(end - crlf_bytes, crlf_bytes) != "\r\n") {
            return fail("Protocol error: expected CRLF after bulk");
        }
        _slices.push_back({.offset = _at, .length = _bulk_length});
        _at = end;
        _seen = end;
        --_arguments_due;
        _phase = phase::bulk_line;
    }
    _views.clear();
    _views.reserve(_slices.size());
    for (const slice& s : _slices) {
        _views.push_back(rest.substr(s.offset, s.length));
    }
    _request.args = _views;
    return step::complete;
}

request_parser::step request_parser::read_bulk_length(std::string_view rest) {
    const step found = find_line_end(rest, '\r', _limits.header_bytes_max,
                                     "Protocol error: too big bulk count string");
    if (found != step::complete) {
        return found;
    }
    if (rest[_at] != '$') {
        return fail("Protocol error: expected '$', got '" + sanitised(rest.substr(_at, 1)) + "'");
    }
    const auto length = parse_integer(rest.substr(_at + 1, _line_end - _at - 1));
    if (!length || *length < 0 || *length > redis_bulk_bytes_max || rest[_line_end + 1] != '\n') {
        return fail(invalid_bulk_length);
    }
    _bulk_length = static_cast<std::size_t>(*length);
    if (!_authenticated && _bulk_length > _limits.unauthenticated_bulk_bytes_max) {
        return fail("Protocol error: unauthenticated bulk length");
    }
    if (_bulk_length > _limits.bulk_bytes_max) {
        return fail(invalid_bulk_length);
    }
    _at = _line_end + crlf_bytes;
    return step::complete;
}

/// Looks for the end of the line that begins at _at. Whether a line is too big depends on the line
/// alone, not on how much of it came at once; a CR counts as found only together with the byte
/// after it.
request_parser::step request_parser::find_line_end(std::string_view rest, char terminator,
                                                   std::size_t bytes_max, const char* too_big) {
    const std::string_view window = rest.substr(0, _at + bytes_max + 1);
    const std::size_t end = window.find(terminator, _seen);
    if (end == std::string_view::npos) {
        _seen = window.size();
        if (window.size() - _at > bytes_max) {
            return fail(too_big);
        }
        _wanted = 1;
        return step::need_more;
    }
    _seen = end;
    _line_end = end;
    if (terminator == '\r' && end + 1 == rest.size()) {
        _wanted = 1;
        return step::need_more;
    }
    return step::complete;
}

request_parser::step request_parser::fail(std::string text) {
    _error = std::move(text);
    _phase = phase::broken;
    return step::broken;
}

void request_parser::forget() {
    _at = 0;
    _seen = 0;
    _slices.clear();
    if (_slices.capacity() > kept_arguments) {
        _slices.shrink_to_fit();
    }
    _views.clear();
    if (_views.capacity() > kept_arguments) {
        _views.shrink_to_fit();
    }
    _unquoted.clear();
    if (_unquoted.capacity() > kept_unquoted_bytes) {
        _unquoted.shrink_to_fit();
    }
}

}  // namespace lockkeeper::protocol
