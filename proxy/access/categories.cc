#include "proxy/access/categories.hh"

#include "protocol/text.hh"

namespace lockkeeper::proxy::access {

namespace {

constexpr named_category table[] = {
    {"keyspace", about_keyspace},
    {"read", about_read},
    {"write", about_write},
    {"set", about_set},
    {"sortedset", about_sortedset},
    {"list", about_list},
    {"hash", about_hash},
    {"string", about_string},
    {"bitmap", about_bitmap},
    {"hyperloglog", about_hyperloglog},
    {"geo", about_geo},
    {"stream", about_stream},
    {"pubsub", about_pubsub},
    {"admin", about_admin},
    {"fast", about_fast},
    {"slow", about_slow},
    {"blocking", about_blocking},
    {"dangerous", about_dangerous},
    {"connection", about_connection},
    {"transaction", about_transaction},
    {"scripting", about_scripting},
    {"lock", about_lock},
};

}  // namespace

std::span<const named_category> categories() {
    return table;
}

uint32_t find_category(std::string_view name) {
    for (const named_category& known : table) {
        if (protocol::equals_ignoring_case(known.name, name)) {
            return known.bit;
        }
    }
    return 0;
}

}  // namespace lockkeeper::proxy::access
