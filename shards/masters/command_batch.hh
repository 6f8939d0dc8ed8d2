#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/command_writer.hh"
#include "protocol/output.hh"

namespace lockkeeper::shards {

/// Whole commands that go to a master together, and how many replies they bring: one each. Both are
/// counted here and nowhere else, because a miscount would give every later reply to the wrong
/// question. It is written once and may be sent to every master of a group.
class command_batch {
public:
    template <protocol::detail::argument... Arguments>
        requires(sizeof...(Arguments) > 0)
    command_batch& add(const Arguments&... arguments) {
        protocol::write_command(append(1), arguments...);
        return *this;
    }

    /// For a number of arguments that is known only at run time.
    command_batch& add_arguments(std::span<const std::string_view> arguments) {
        protocol::write_command(append(1), arguments);
        return *this;
    }

    /// For writers of their own: exactly `commands` whole commands must be written there.
    protocol::output& append(uint32_t commands) {
        _replies += commands;
        return _bytes;
    }

    /// A command that is answered by pushes instead of a reply: SUBSCRIBE and its kin in RESP3.
    command_batch& add_pushed(std::span<const std::string_view> arguments) {
        protocol::write_command(append(0), arguments);
        return *this;
    }

    std::string_view bytes() const { return _bytes.view(); }
    uint32_t replies() const { return _replies; }
    bool empty() const { return _bytes.empty(); }

    void clear() {
        _bytes.clear();
        _replies = 0;
    }

private:
    protocol::output _bytes;
    uint32_t _replies = 0;
};

}  // namespace lockkeeper::shards
