#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/control.hh"

/// What the machine and the servers say about the load, before and after it.
namespace lockkeeper::bench {

/// CPU time of a process so far, all of its threads; nothing if it is not there.
std::optional<std::chrono::nanoseconds> cpu_time_of(pid_t pid);

/// CPU time of this process so far.
std::chrono::nanoseconds own_cpu_time();

/// CPU time that everything on this machine has used so far.
std::chrono::nanoseconds machine_cpu_time();

/// The name that /proc has for a process.
std::string name_of_process(pid_t pid);

/// Calls by command, from the text of INFO commandstats ("cmdstat_set:calls=5,usec=...").
std::map<std::string, std::uint64_t> parse_command_calls(std::string_view info);

/// The number behind `name:` in an INFO text.
std::optional<std::uint64_t> parse_info_number(std::string_view info, std::string_view name);

/// Commands that a server has counted so far, without INFO itself, which is how we look. By name
/// where the server tells; otherwise all of them under "all".
std::optional<std::map<std::string, std::uint64_t>> commands_seen_by(control& server);

}  // namespace lockkeeper::bench
