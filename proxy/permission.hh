#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/request.hh"
#include "proxy/access/catalogue.hh"
#include "proxy/user_roll.hh"

namespace lockkeeper::proxy {

class client;
struct command_spec;
struct transaction;

/// Every command of the table, with its categories: those that no list names get them from their
/// flags.
const access::catalogue& command_catalogue();

/// The name that rules know a request by: "get", "client|kill"; nothing for a subcommand that does
/// not exist.
std::optional<size_t> number_of(const command_spec& spec, const protocol::request& args);

struct forbidden {
    denial::reason why;
    std::string object;
};

/// What a user's rules forbid about a request with the right number of arguments; nothing if they
/// allow all of it. `spec` is null for a command that only the upstream knows. `who` asks, and need
/// not be the user.
std::optional<forbidden> find_forbidden(const access::user& rights, client& who,
                                        const command_spec* spec, const protocol::request& args);

/// Whether the client's user may do this now. If not, that has been said and noted. Not to be asked
/// of those with a free hand: that is most of what a session saves.
bool is_permitted(client& who, const command_spec* spec, const protocol::request& args);

/// EXEC's answer to a transaction that its user may not carry out any more.
inline constexpr std::string_view rights_changed =
    "EXECABORT Transaction discarded because ACL rules changed.";

/// Whether the client's user may still do all of what it queued: its rights may have changed since.
/// For those whose transaction is somebody else's to carry out; nothing is said or noted.
bool is_still_permitted(client& who, const transaction& all);

}  // namespace lockkeeper::proxy
