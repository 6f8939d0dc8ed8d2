#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "protocol/request.hh"

namespace lockkeeper::proxy {

class client;
struct command_spec;

/// Tells the log (logger `audit`) who did what to others: breaks locks, ends connections, flushes,
/// reloads. To be called before the command runs, for commands that flags mark as possible ones; it
/// looks closer itself. Never what a password could be in.
void audit(const client& who, const command_spec& spec, const protocol::request& args);

/// Somebody who did something in another way than by a command, and what it was.
struct audited {
    std::string_view user;
    uint64_t client = 0;  ///< 0: no connection of a client
    std::string_view address;
};
void audit(const audited& who, std::string_view command,
           const std::vector<std::string_view>& arguments);

}  // namespace lockkeeper::proxy
