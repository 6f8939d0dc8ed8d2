#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "config/config.hh"
#include "proxy/admin/json.hh"

/// How the lines of the log look. Loggers write whole lines to the standard streams; from
/// take_over_log() on these lines come through here on their way.
namespace lockkeeper::proxy {

/// Once, before there are cores. Lines leave as they are until somebody wants another format.
void take_over_log();

/// From now on, on all cores.
void set_log_format(config::log_format format);

/// A text for the log, and the same in members that programs read: these are for JSON only. The
/// members are those of the object that `more` has written. For the logger `audit` only.
std::string with_members(std::string_view text, admin::json more);

/// A line as loggers write it, `LEVEL date time [shard CORE:GROUP] logger - text`, as an object.
/// What is no such line becomes the message of one: nothing that is logged ends the line or the
/// object.
std::string to_json_line(std::string_view line, std::chrono::system_clock::time_point now);

}  // namespace lockkeeper::proxy
