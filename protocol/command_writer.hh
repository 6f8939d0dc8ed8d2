#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/output.hh"
#include "protocol/text.hh"
#include "protocol/wire.hh"

namespace lockkeeper::protocol {

namespace detail {

/// Upper bounds, so that one look at the room left is enough for a whole command.
inline std::size_t argument_bytes_max(std::string_view bytes) {
    return wire::bulk_bytes_max(bytes.size());
}
template <std::integral Number>
std::size_t argument_bytes_max(Number) {
    return wire::bulk_bytes_max(integer_text_max);
}

inline char* put_argument(char* at, std::string_view bytes) {
    return wire::put_bulk(at, bytes);
}
char* put_number(char* at, std::int64_t number);
char* put_number(char* at, std::uint64_t number);
template <std::integral Number>
char* put_argument(char* at, Number number) {
    if constexpr (std::signed_integral<Number>) {
        return put_number(at, static_cast<std::int64_t>(number));
    } else {
        return put_number(at, static_cast<std::uint64_t>(number));
    }
}

/// Not bool or char: neither is a number to Redis, and to take one for it would be a slip.
template <typename T>
concept argument = (std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>) ||
                   std::convertible_to<T, std::string_view>;

}  // namespace detail

/// Appends one command for a master, an array of bulks, without temporary strings:
///
///     write_command(out, "SET", key, value, "NX", "PX", lease.count());
template <detail::argument... Arguments>
    requires(sizeof...(Arguments) > 0)
void write_command(output& out, const Arguments&... arguments) {
    char* at = out.room((wire::header_bytes_max + ... + detail::argument_bytes_max(arguments)));
    at = wire::put_header(at, '*', sizeof...(Arguments));
    ((at = detail::put_argument(at, arguments)), ...);
    out.commit(at);
}

/// The same for a number of arguments that is known only at run time.
void write_command(output& out, std::span<const std::string_view> arguments);

/// For commands of mixed parts: the caller says how many arguments come, then adds each.
///
///     command_writer command(out, 3 + keys.size());
///     command.add("EVALSHA").add(sha).add(keys.size());
///     for (auto key : keys) { command.add(key); }
class command_writer {
public:
    command_writer(output& out, std::size_t arguments);

    template <detail::argument Argument>
    command_writer& add(const Argument& argument) {
        char* at = _out->room(detail::argument_bytes_max(argument));
        _out->commit(detail::put_argument(at, argument));
        return *this;
    }

private:
    output* _out;
};

}  // namespace lockkeeper::protocol
