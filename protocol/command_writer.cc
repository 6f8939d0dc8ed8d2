#include "protocol/command_writer.hh"

namespace lockkeeper::protocol {

namespace detail {

namespace {

template <typename Number>
char* put_digits(char* at, Number number) {
    char digits[integer_text_max];
    const char* end = write_integer(digits, number);
    return wire::put_bulk(at, std::string_view(digits, end));
}

}  // namespace

char* put_number(char* at, std::int64_t number) {
    return put_digits(at, number);
}

char* put_number(char* at, std::uint64_t number) {
    return put_digits(at, number);
}

}  // namespace detail

void write_command(output& out, std::span<const std::string_view> arguments) {
    command_writer command(out, arguments.size());
    for (const std::string_view argument : arguments) {
        command.add(argument);
    }
}

command_writer::command_writer(output& out, std::size_t arguments) : _out(&out) {
    _out->commit(wire::put_header(_out->room(wire::header_bytes_max), '*', arguments));
}

}  // namespace lockkeeper::protocol
