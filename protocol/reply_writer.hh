#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "protocol/output.hh"

namespace lockkeeper::protocol {

class reply;

/// What HELLO agreed on. A connection starts with resp2.
enum class version : std::uint8_t { resp2 = 2, resp3 = 3 };

/// Appends replies to an output in the words of the client's protocol version. Each verb writes one
/// value, or the header of an aggregate whose elements the caller writes next. Types that RESP2
/// lacks become what Redis makes of them there.
///
/// Invariant: text of others cannot end a line. simple(), error() and big_number() turn CR and LF
/// into blanks and drop other control bytes; bulks are length-prefixed and carry any byte.
class reply_writer {
public:
    explicit reply_writer(output& out, version spoken = version::resp2)
        : _out(&out), _version(spoken) {}

    version spoken() const { return _version; }
    void set_version(version spoken) { _version = spoken; }

    void ok() { literal("+OK\r\n"); }
    void simple(std::string_view text);

    /// `text` begins with the error's code: "ERR unknown command".
    void error(std::string_view text) { error({text}); }
    /// The parts make one line, without a temporary string: error({"ERR no such lock '", key,
    /// "'"}).
    void error(std::initializer_list<std::string_view> parts);

    void integer(std::int64_t value);
    void bulk(std::string_view bytes);
    void null() { is_resp3() ? literal("_\r\n") : literal("$-1\r\n"); }
    void null_array() { is_resp3() ? literal("_\r\n") : literal("*-1\r\n"); }

    void array(std::size_t elements) { header('*', elements); }
    /// RESP2: an array of 2 * pairs elements.
    void map(std::size_t pairs);
    /// RESP2: an array.
    void set(std::size_t elements) { header(is_resp3() ? '~' : '*', elements); }
    /// Out of band, never between the elements of another reply. RESP2: an array.
    void push(std::size_t elements) { header(is_resp3() ? '>' : '*', elements); }
    /// RESP2 has no attributes: nothing is written and the answer is false, so write no pairs
    /// either.
    [[nodiscard]] bool attribute(std::size_t pairs);

    /// RESP2: the integer 1 or 0.
    void boolean(bool value);
    /// RESP2: a bulk with the same digits. The shortest text that reads back as the same double.
    void number(double value);
    /// `digits` is an optional '-' and digits. RESP2: a bulk.
    void big_number(std::string_view digits);
    /// `format` has three letters ("txt", "mkd"). RESP2: a bulk of the text alone.
    void verbatim(std::string_view format, std::string_view text);

    /// A whole reply of a master, as this client may read it.
    void value(const reply& whole);

private:
    bool is_resp3() const { return _version == version::resp3; }
    template <std::size_t N>
    void literal(const char (&text)[N]) {
        char* at = _out->room(N - 1);
        std::memcpy(at, text, N - 1);
        _out->commit(at + N - 1);
    }
    void header(char type, std::size_t count);
    void line(char type, std::initializer_list<std::string_view> parts);
    void scalar(const reply& leaf);

    output* _out;
    version _version;
};

}  // namespace lockkeeper::protocol
