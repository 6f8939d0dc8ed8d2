#include "proxy/commands/subcommands.hh"

#include <fmt/format.h>

#include "protocol/reply_writer.hh"

namespace lockkeeper::proxy {

void reply_help(protocol::reply_writer& reply, std::string_view command,
                std::initializer_list<std::string_view> lines) {
    reply.array(lines.size() + 3);
    reply.simple(
        fmt::format("{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", command));
    for (const std::string_view line : lines) {
        reply.simple(line);
    }
    reply.simple("HELP");
    reply.simple("    Print this help.");
}

}  // namespace lockkeeper::proxy
