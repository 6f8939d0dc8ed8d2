#include "bench/load/reply_scanner.hh"

#include "protocol/text.hh"

namespace lockkeeper::bench {

namespace {

using outcome = scan_result::outcome;
using kind = scanned_reply::kind;

/// A lock reply nests one level; some room for what an unusual server may put around it.
constexpr unsigned depth_max = 8;
constexpr std::int64_t length_max = 1 << 20;

constexpr scan_result incomplete{outcome::incomplete, 0};
constexpr scan_result broken{outcome::broken, 0};

scan_result complete(std::size_t consumed) {
    return {outcome::complete, consumed};
}

scan_result scan(std::string_view bytes, scanned_reply& reply, unsigned depth);

scan_result scan_bulk(std::string_view bytes, std::size_t header, std::int64_t length,
                      scanned_reply& reply) {
    const std::size_t end = header + static_cast<std::size_t>(length);
    if (bytes.size() < end + 2) {
        return incomplete;
    }
    if (bytes[end] != '\r' || bytes[end + 1] != '\n') {
        return broken;
    }
    reply.what = bytes.front() == '!' ? kind::error : kind::text;
    reply.text = bytes.substr(header, static_cast<std::size_t>(length));
    return complete(end + 2);
}

scan_result scan_elements(std::string_view bytes, std::size_t header, std::int64_t count,
                          scanned_reply& reply, unsigned depth) {
    if (depth == depth_max) {
        return broken;
    }
    reply.what = kind::array;
    reply.elements = static_cast<std::uint32_t>(count);
    std::size_t at = header;
    for (std::size_t i = 0; i != reply.elements; ++i) {
        scanned_reply element;
        const scan_result one = scan(bytes.substr(at), element, depth + 1);
        if (one.what != outcome::complete) {
            return one;
        }
        at += one.consumed;
        if (i < reply.numbers.size()) {
            reply.numbers[i] = element.integer;
        }
    }
    return complete(at);
}

scan_result scan(std::string_view bytes, scanned_reply& reply, unsigned depth) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
        return bytes.size() > static_cast<std::size_t>(length_max) ? broken : incomplete;
    }
    if (end < 2 || bytes[end - 1] != '\r') {
        return broken;
    }
    const std::string_view line = bytes.substr(1, end - 2);
    const std::size_t header = end + 1;
    switch (bytes.front()) {
        case '+':
        case ',':
        case '#':
        case '(':
            reply.what = kind::text;
            reply.text = line;
            return complete(header);
        case '-':
            reply.what = kind::error;
            reply.text = line;
            return complete(header);
        case '_':
            reply.what = kind::null;
            return complete(header);
        default:
            break;
    }
    const auto number = protocol::parse_integer(line);
    if (!number) {
        return broken;
    }
    if (bytes.front() == ':') {
        reply.what = kind::integer;
        reply.integer = *number;
        return complete(header);
    }
    if (*number == -1 && (bytes.front() == '$' || bytes.front() == '*')) {
        reply.what = kind::null;
        return complete(header);
    }
    if (*number < 0 || *number > length_max) {
        return broken;
    }
    switch (bytes.front()) {
        case '$':
        case '=':
        case '!':
            return scan_bulk(bytes, header, *number, reply);
        case '*':
        case '~':
        case '>':
            return scan_elements(bytes, header, *number, reply, depth);
        case '%':
            return scan_elements(bytes, header, 2 * *number, reply, depth);
        default:
            return broken;
    }
}

}  // namespace

scan_result scan_reply(std::string_view bytes, scanned_reply& reply) {
    reply = {};
    return scan(bytes, reply, 0);
}

}  // namespace lockkeeper::bench
