#include "shards/masters/script_calls.hh"

#include <fmt/format.h>

#include <seastar/core/coroutine.hh>

#include "protocol/text.hh"

namespace lockkeeper::shards {

namespace {

constexpr size_t sha_bytes = 40;
constexpr size_t shown_bytes_max = 200;

}  // namespace

ss::future<std::expected<std::vector<std::string>, std::string>> load_scripts(
    // The caller waits and keeps the master for as long.
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters)
    master& who, std::vector<std::string> texts, send_options how) {
    command_batch commands;
    for (const std::string& text : texts) {
        commands.add("SCRIPT", "LOAD", text);
    }
    const auto loaded = co_await who.send(commands, how);
    if (!loaded) {
        co_return std::unexpected(std::string(to_text(loaded.error())));
    }
    std::vector<std::string> shas;
    for (const protocol::reply& answer : loaded->replies) {
        if (answer.is_error() || answer.text().size() != sha_bytes) {
            co_return std::unexpected(
                fmt::format("it does not load a script: '{}'",
                            protocol::sanitised(answer.text(), shown_bytes_max)));
        }
        shas.emplace_back(answer.text());
    }
    co_return shas;
}

void add_script_call(command_batch& commands, std::string_view sha,
                     std::span<const std::string_view> keys,
                     std::span<const std::string_view> arguments) {
    protocol::command_writer command(commands.append(1), 3 + keys.size() + arguments.size());
    command.add("EVALSHA").add(sha).add(keys.size());
    for (const std::string_view key : keys) {
        command.add(key);
    }
    for (const std::string_view argument : arguments) {
        command.add(argument);
    }
}

}  // namespace lockkeeper::shards
