#include "proxy/access/catalogue.hh"

#include <algorithm>
#include <cassert>

namespace lockkeeper::proxy::access {

namespace {

// SET reads its key too when it is asked for the old value; see permission.cc.
constexpr catalogued table[] = {
    {"acl", about_slow},
    {"acl|cat", about_slow},
    {"acl|deluser", about_admin | about_slow | about_dangerous},
    {"acl|dryrun", about_admin | about_slow | about_dangerous},
    {"acl|genpass", about_slow},
    {"acl|getuser", about_admin | about_slow | about_dangerous},
    {"acl|help", about_slow},
    {"acl|list", about_admin | about_slow | about_dangerous},
    {"acl|load", about_admin | about_slow | about_dangerous},
    {"acl|log", about_admin | about_slow | about_dangerous},
    {"acl|save", about_admin | about_slow | about_dangerous},
    {"acl|setuser", about_admin | about_slow | about_dangerous},
    {"acl|users", about_admin | about_slow | about_dangerous},
    {"acl|whoami", about_slow},
    {"auth", about_fast | about_connection},
    {"blpop", about_write | about_list | about_slow | about_blocking, key_need::both},
    {"brpop", about_write | about_list | about_slow | about_blocking, key_need::both},
    {"client", about_slow},
    {"client|caching", about_slow | about_connection},
    {"client|capa", about_slow | about_connection},
    {"client|getname", about_slow | about_connection},
    {"client|getredir", about_slow | about_connection},
    {"client|help", about_slow | about_connection},
    {"client|id", about_slow | about_connection},
    {"client|info", about_slow | about_connection},
    {"client|kill", about_admin | about_slow | about_dangerous | about_connection},
    {"client|list", about_admin | about_slow | about_dangerous | about_connection},
    {"client|no-evict", about_admin | about_slow | about_dangerous | about_connection},
    {"client|no-touch", about_slow | about_connection},
    {"client|pause", about_admin | about_slow | about_dangerous | about_connection},
    {"client|reply", about_slow | about_connection},
    {"client|setinfo", about_slow | about_connection},
    {"client|setname", about_slow | about_connection},
    {"client|tracking", about_slow | about_connection},
    {"client|trackinginfo", about_slow | about_connection},
    {"client|unblock", about_admin | about_slow | about_dangerous | about_connection},
    {"client|unpause", about_admin | about_slow | about_dangerous | about_connection},
    {"cluster", about_slow},
    {"cluster|addslots", about_admin | about_slow | about_dangerous},
    {"cluster|addslotsrange", about_admin | about_slow | about_dangerous},
    {"cluster|bumpepoch", about_admin | about_slow | about_dangerous},
    {"cluster|count-failure-reports", about_admin | about_slow | about_dangerous},
    {"cluster|countkeysinslot", about_slow},
    {"cluster|delslots", about_admin | about_slow | about_dangerous},
    {"cluster|delslotsrange", about_admin | about_slow | about_dangerous},
    {"cluster|failover", about_admin | about_slow | about_dangerous},
    {"cluster|flushslots", about_admin | about_slow | about_dangerous},
    {"cluster|forget", about_admin | about_slow | about_dangerous},
    {"cluster|getkeysinslot", about_slow},
    {"cluster|help", about_slow},
    {"cluster|info", about_slow},
    {"cluster|keyslot", about_slow},
    {"cluster|links", about_slow},
    {"cluster|meet", about_admin | about_slow | about_dangerous},
    {"cluster|myid", about_slow},
    {"cluster|nodes", about_slow},
    {"cluster|replicas", about_admin | about_slow | about_dangerous},
    {"cluster|replicate", about_admin | about_slow | about_dangerous},
    {"cluster|reset", about_admin | about_slow | about_dangerous},
    {"cluster|saveconfig", about_admin | about_slow | about_dangerous},
    {"cluster|set-config-epoch", about_admin | about_slow | about_dangerous},
    {"cluster|setslot", about_admin | about_slow | about_dangerous},
    {"cluster|shards", about_slow},
    {"cluster|slaves", about_admin | about_slow | about_dangerous},
    {"cluster|slots", about_slow},
    {"command", about_slow | about_connection},
    {"command|count", about_slow | about_connection},
    {"command|docs", about_slow | about_connection},
    {"command|getkeys", about_slow | about_connection},
    {"command|getkeysandflags", about_slow | about_connection},
    {"command|help", about_slow | about_connection},
    {"command|info", about_slow | about_connection},
    {"command|list", about_slow | about_connection},
    {"config", about_slow},
    {"config|get", about_admin | about_slow | about_dangerous},
    {"config|help", about_slow},
    {"config|resetstat", about_admin | about_slow | about_dangerous},
    {"config|rewrite", about_admin | about_slow | about_dangerous},
    {"config|set", about_admin | about_slow | about_dangerous},
    {"dbsize", about_keyspace | about_read | about_fast},
    {"decr", about_write | about_string | about_fast, key_need::both},
    {"decrby", about_write | about_string | about_fast, key_need::both},
    {"del", about_keyspace | about_write | about_slow, key_need::write},
    {"delex", about_write | about_string | about_fast, key_need::write},
    {"delifeq", about_write | about_string | about_fast, key_need::write},
    {"digest", about_read | about_string | about_fast, key_need::read},
    {"discard", about_fast | about_transaction},
    {"echo", about_fast | about_connection},
    {"eval", about_slow | about_scripting, key_need::both},
    {"eval_ro", about_slow | about_scripting, key_need::read},
    {"evalsha", about_slow | about_scripting, key_need::both},
    {"evalsha_ro", about_slow | about_scripting, key_need::read},
    {"exec", about_slow | about_transaction},
    {"exists", about_keyspace | about_read | about_fast},
    {"expire", about_keyspace | about_write | about_fast, key_need::write},
    {"expireat", about_keyspace | about_write | about_fast, key_need::write},
    {"expiretime", about_keyspace | about_read | about_fast, key_need::read},
    {"flushall", about_keyspace | about_write | about_slow | about_dangerous},
    {"flushdb", about_keyspace | about_write | about_slow | about_dangerous},
    {"get", about_read | about_string | about_fast, key_need::read},
    {"getdel", about_write | about_string | about_fast, key_need::both},
    {"hello", about_fast | about_connection},
    {"hexists", about_read | about_hash | about_fast},
    {"hget", about_read | about_hash | about_fast, key_need::read},
    {"hgetall", about_read | about_hash | about_slow, key_need::read},
    {"hkeys", about_read | about_hash | about_slow, key_need::read},
    {"hlen", about_read | about_hash | about_fast},
    {"incr", about_write | about_string | about_fast, key_need::both},
    {"incrby", about_write | about_string | about_fast, key_need::both},
    {"info", about_slow | about_dangerous},
    {"keys", about_keyspace | about_read | about_slow | about_dangerous},
    {"lk.acquire", about_write | about_slow | about_blocking | about_lock, key_need::write},
    {"lk.acquireall", about_write | about_slow | about_blocking | about_lock, key_need::write},
    {"lk.break", about_write | about_admin | about_slow | about_dangerous | about_lock,
     key_need::write},
    {"lk.extend", about_write | about_fast | about_lock, key_need::write},
    {"lk.fence", about_read | about_fast | about_lock, key_need::read},
    {"lk.holders", about_read | about_slow | about_lock, key_need::read},
    {"lk.list", about_read | about_slow | about_dangerous | about_lock},
    {"lk.release", about_write | about_fast | about_lock, key_need::write},
    {"lk.releaseall", about_write | about_slow | about_lock, key_need::write},
    {"lk.reload", about_admin | about_slow | about_dangerous | about_lock},
    {"lk.stripes", about_admin | about_slow | about_dangerous | about_lock},
    {"lk.top", about_read | about_slow | about_dangerous | about_lock},
    {"lk.waiters", about_read | about_slow | about_lock, key_need::read},
    {"llen", about_read | about_list | about_fast},
    {"lolwut", about_read | about_fast},
    {"lpop", about_write | about_list | about_fast, key_need::both},
    {"lpush", about_write | about_list | about_fast, key_need::write},
    {"multi", about_fast | about_transaction},
    {"persist", about_keyspace | about_write | about_fast, key_need::write},
    {"pexpire", about_keyspace | about_write | about_fast, key_need::write},
    {"pexpireat", about_keyspace | about_write | about_fast, key_need::write},
    {"pexpiretime", about_keyspace | about_read | about_fast, key_need::read},
    {"ping", about_fast | about_connection},
    {"psetex", about_write | about_string | about_slow, key_need::write},
    {"psubscribe", about_pubsub | about_slow},
    {"pttl", about_keyspace | about_read | about_fast, key_need::read},
    {"publish", about_pubsub | about_fast},
    {"pubsub", about_slow},
    {"pubsub|channels", about_pubsub | about_slow},
    {"pubsub|help", about_slow},
    {"pubsub|numpat", about_pubsub | about_slow},
    {"pubsub|numsub", about_pubsub | about_slow},
    {"pubsub|shardchannels", about_pubsub | about_slow},
    {"pubsub|shardnumsub", about_pubsub | about_slow},
    {"punsubscribe", about_pubsub | about_slow},
    {"quit", about_fast | about_connection},
    {"readonly", about_fast | about_connection},
    {"readwrite", about_fast | about_connection},
    {"reset", about_fast | about_connection},
    {"role", about_admin | about_fast | about_dangerous},
    {"rpop", about_write | about_list | about_fast, key_need::both},
    {"rpush", about_write | about_list | about_fast, key_need::write},
    {"scan", about_keyspace | about_read | about_slow},
    {"script", about_slow},
    {"script|debug", about_slow | about_scripting},
    {"script|exists", about_slow | about_scripting},
    {"script|flush", about_slow | about_scripting},
    {"script|help", about_slow | about_scripting},
    {"script|kill", about_slow | about_scripting},
    {"script|load", about_slow | about_scripting},
    {"select", about_fast | about_connection},
    {"set", about_write | about_string | about_slow, key_need::write},
    {"setex", about_write | about_string | about_slow, key_need::write},
    {"setnx", about_write | about_string | about_fast, key_need::write},
    {"slowlog", about_slow},
    {"slowlog|get", about_admin | about_slow | about_dangerous},
    {"slowlog|help", about_slow},
    {"slowlog|len", about_admin | about_slow | about_dangerous},
    {"slowlog|reset", about_admin | about_slow | about_dangerous},
    {"spublish", about_pubsub | about_fast},
    {"ssubscribe", about_pubsub | about_slow},
    {"strlen", about_read | about_string | about_fast},
    {"subscribe", about_pubsub | about_slow},
    {"sunsubscribe", about_pubsub | about_slow},
    {"time", about_fast},
    {"touch", about_keyspace | about_read | about_fast},
    {"ttl", about_keyspace | about_read | about_fast, key_need::read},
    {"type", about_keyspace | about_read | about_fast},
    {"unlink", about_keyspace | about_write | about_fast, key_need::write},
    {"unsubscribe", about_pubsub | about_slow},
    {"unwatch", about_fast | about_transaction},
    {"wait", about_slow | about_connection},
    {"waitaof", about_slow | about_connection},
    {"watch", about_fast | about_transaction},
    {"zrem", about_write | about_sortedset | about_fast, key_need::write},
};

}  // namespace

catalogue::catalogue() {
    for (const catalogued& command : table) {
        add(command);
    }
}

void catalogue::add(const catalogued& command) {
    if (_by_name.emplace(command.name, _all.size()).second) {
        assert(_all.size() < capacity);
        _all.push_back(command);
    }
}

std::optional<size_t> catalogue::find(std::string_view name) const {
    const auto found = _by_name.find(name);
    return found == _by_name.end() ? std::nullopt : std::optional(found->second);
}

std::vector<size_t> catalogue::subcommands(std::string_view command) const {
    std::vector<size_t> numbers;
    for (size_t i = 0; i < _all.size(); ++i) {
        const std::string_view name = _all[i].name;
        if (name.size() > command.size() && name.starts_with(command) &&
            name[command.size()] == '|') {
            numbers.push_back(i);
        }
    }
    return numbers;
}

}  // namespace lockkeeper::proxy::access
