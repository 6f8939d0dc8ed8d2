#include "protocol/text.hh"
#include "proxy/command.hh"
#include "shards/lock_service.hh"

/// Reentrant locks as Redis' hashes: reading them.
namespace lockkeeper::proxy {

namespace {

void hget(const key_call& call) {
    const auto value = call.table().hash_get(call.key(1), call.args[2], call.now);
    if (!value) {
        return reply_lock_error(call.reply, value.error());
    }
    *value ? call.reply.bulk(**value) : call.reply.null();
}

void hexists(const key_call& call) {
    const auto value = call.table().hash_get(call.key(1), call.args[2], call.now);
    value ? call.reply.integer(*value ? 1 : 0) : reply_lock_error(call.reply, value.error());
}

void hlen(const key_call& call) {
    const auto length = call.table().hash_length(call.key(1), call.now);
    length ? call.reply.integer(static_cast<int64_t>(*length))
           : reply_lock_error(call.reply, length.error());
}

void hgetall(const key_call& call) {
    const auto fields = call.table().hash_fields(call.key(1), call.now);
    if (!fields) {
        return reply_lock_error(call.reply, fields.error());
    }
    call.reply.map(fields->size());
    for (const auto& field : *fields) {
        call.reply.bulk(field.name);
        call.reply.bulk(field.value);
    }
}

void hkeys(const key_call& call) {
    const auto fields = call.table().hash_fields(call.key(1), call.now);
    if (!fields) {
        return reply_lock_error(call.reply, fields.error());
    }
    call.reply.array(fields->size());
    for (const auto& field : *fields) {
        call.reply.bulk(field.name);
    }
}

/// Sorted sets that scripts make of a semaphore's holders are hashes here, and this is how the
/// holders leave.
void zrem(const key_call& call) {
    int64_t removed = 0;
    for (size_t i = 2; i < call.args.size(); ++i) {
        const auto gone = call.table().hash_remove(call.key(1), call.args[i], call.now);
        if (!gone) {
            return reply_lock_error(call.reply, gone.error());
        }
        removed += *gone ? 1 : 0;
    }
    call.reply.integer(removed);
}

constexpr uint16_t reads = flag_readonly | flag_fast;
constexpr key_positions first{1, 1, 1};

constexpr command_spec table[] = {
    {.name = "hexists", .least = 3, .most = 3, .flags = reads, .keys = first, .on_keys = hexists},
    {.name = "hget", .least = 3, .most = 3, .flags = reads, .keys = first, .on_keys = hget},
    {.name = "hgetall",
     .least = 2,
     .most = 2,
     .flags = flag_readonly,
     .keys = first,
     .on_keys = hgetall},
    {.name = "hkeys",
     .least = 2,
     .most = 2,
     .flags = flag_readonly,
     .keys = first,
     .on_keys = hkeys},
    {.name = "hlen", .least = 2, .most = 2, .flags = reads, .keys = first, .on_keys = hlen},
    {.name = "zrem",
     .least = 3,
     .most = -1,
     .flags = flag_write | flag_fast,
     .keys = first,
     .on_keys = zrem},
};

}  // namespace

std::span<const command_spec> hash_commands() {
    return table;
}

}  // namespace lockkeeper::proxy
