#include "protocol/reply_writer.hh"

#include <cassert>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "protocol/reply.hh"
#include "protocol/text.hh"
#include "protocol/wire.hh"

namespace lockkeeper::protocol {

namespace {

/// The shortest exact text of a double is never longer.
constexpr std::size_t double_text_max = 32;
constexpr std::size_t format_bytes = 3;

}  // namespace

void reply_writer::simple(std::string_view text) {
    line('+', {text});
}

void reply_writer::error(std::initializer_list<std::string_view> parts) {
    line('-', parts);
}

void reply_writer::integer(std::int64_t value) {
    if (value == 0) {
        return literal(":0\r\n");
    }
    if (value == 1) {
        return literal(":1\r\n");
    }
    char* at = _out->room(wire::header_bytes_max);
    *at++ = ':';
    _out->commit(wire::put_crlf(write_integer(at, value)));
}

void reply_writer::bulk(std::string_view bytes) {
    _out->commit(wire::put_bulk(_out->room(wire::bulk_bytes_max(bytes.size())), bytes));
}

void reply_writer::map(std::size_t pairs) {
    is_resp3() ? header('%', pairs) : header('*', 2 * pairs);
}

bool reply_writer::attribute(std::size_t pairs) {
    if (!is_resp3()) {
        return false;
    }
    header('|', pairs);
    return true;
}

void reply_writer::boolean(bool value) {
    if (!is_resp3()) {
        return integer(value ? 1 : 0);
    }
    value ? literal("#t\r\n") : literal("#f\r\n");
}

void reply_writer::number(double value) {
    char text[double_text_max];
    std::string_view shown;
    if (std::isnan(value)) {
        shown = "nan";  // whatever its sign and payload
    } else {
        const char* end = std::to_chars(text, text + sizeof(text), value).ptr;
        shown = std::string_view(text, end);
    }
    is_resp3() ? line(',', {shown}) : bulk(shown);
}

void reply_writer::big_number(std::string_view digits) {
    is_resp3() ? line('(', {digits}) : bulk(digits);
}

void reply_writer::verbatim(std::string_view format, std::string_view text) {
    assert(format.size() == format_bytes);
    if (!is_resp3()) {
        return bulk(text);
    }
    const std::size_t length = format.size() + 1 + text.size();
    char* at = wire::put_header(_out->room(wire::bulk_bytes_max(length)), '=', length);
    at = wire::put_bytes(at, format);
    *at++ = ':';
    _out->commit(wire::put_crlf(wire::put_bytes(at, text)));
}

void reply_writer::value(const reply& whole) {
    scalar(whole);
    if (!whole.is_aggregate()) {
        return;
    }
    // Trees of masters are of bounded depth, but a stack of our own costs no more thought.
    std::vector<std::span<const reply>> unwritten{whole.items()};
    while (!unwritten.empty()) {
        auto& siblings = unwritten.back();
        if (siblings.empty()) {
            unwritten.pop_back();
            continue;
        }
        const reply& next = siblings.front();
        siblings = siblings.subspan(1);
        scalar(next);
        if (next.is_aggregate()) {
            unwritten.push_back(next.items());
        }
    }
}

/// A value without elements, or the header of one with them.
void reply_writer::scalar(const reply& leaf) {
    switch (leaf.kind()) {
        case reply_kind::null:
            return null();
        case reply_kind::null_array:
            return null_array();
        case reply_kind::simple:
            return simple(leaf.text());
        case reply_kind::error:
            return error(leaf.text());
        case reply_kind::integer:
            return integer(leaf.as_integer().value_or(0));
        case reply_kind::bulk:
            return bulk(leaf.text());
        case reply_kind::boolean:
            return boolean(leaf.as_boolean().value_or(false));
        case reply_kind::number:
            return number(leaf.as_number().value_or(0));
        case reply_kind::big_number:
            return big_number(leaf.text());
        case reply_kind::verbatim:
            return verbatim(leaf.format(), leaf.text());
        case reply_kind::array:
            return array(leaf.items().size());
        case reply_kind::map:
            return map(leaf.items().size() / 2);
        case reply_kind::set:
            return set(leaf.items().size());
        case reply_kind::push:
            return push(leaf.items().size());
    }
}

void reply_writer::header(char type, std::size_t count) {
    _out->commit(wire::put_header(_out->room(wire::header_bytes_max), type, count));
}

void reply_writer::line(char type, std::initializer_list<std::string_view> parts) {
    std::size_t bytes = 1 + wire::crlf_bytes;
    for (const std::string_view part : parts) {
        bytes += part.size();
    }
    char* at = _out->room(bytes);
    *at++ = type;
    for (const std::string_view part : parts) {
        at = write_sanitised(at, part);
    }
    _out->commit(wire::put_crlf(at));
}

}  // namespace lockkeeper::protocol
