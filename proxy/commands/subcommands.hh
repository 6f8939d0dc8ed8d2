#pragma once

#include <initializer_list>
#include <seastar/core/future.hh>
#include <string>
#include <string_view>

/// Commands and subcommands that stand in other files than their line of the table.
namespace lockkeeper::protocol {
class reply_writer;
struct request;
}  // namespace lockkeeper::protocol

namespace lockkeeper::proxy {

class client;
class owned_request;

/// The client's line of CLIENT LIST.
std::string describe_client(const client& who);

/// COMMAND and its subcommands.
void describe_commands(client& who, const protocol::request& args);

seastar::future<> client_tracking(client& who, const owned_request& args);
void client_caching(client& who, const owned_request& args);
void client_getredir(client& who);
void client_trackinginfo(client& who);

/// The reply to HELP: what the lines say, one below the other, in the form that Redis gives it.
void reply_help(protocol::reply_writer& reply, std::string_view command,
                std::initializer_list<std::string_view> lines);

}  // namespace lockkeeper::proxy
