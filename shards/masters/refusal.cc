#include "shards/masters/refusal.hh"

#include <string_view>

namespace lockkeeper::shards {

namespace {

struct meaning {
    std::string_view code;
    refusal why;
};

constexpr meaning meanings[] = {
    {"NOSCRIPT", refusal::no_script},
    {"EXECABORT", refusal::exec_aborted},
    {"OOM", refusal::out_of_memory},
    {"BUSY", refusal::busy},
    {"LOADING", refusal::loading},
    {"READONLY", refusal::read_only},
    {"MISCONF", refusal::not_writing},
    {"NOREPLICAS", refusal::not_writing},
    {"NOAUTH", refusal::no_auth},
    {"WRONGPASS", refusal::no_auth},
    {"NOPERM", refusal::no_permission},
    {"MOVED", refusal::moved},
    {"ASK", refusal::moved},
    {"CLUSTERDOWN", refusal::moved},
    {"CROSSSLOT", refusal::moved},
};

}  // namespace

refusal refusal_of(const protocol::reply& reply) {
    if (!reply.is_error()) {
        return refusal::none;
    }
    for (const meaning& known : meanings) {
        if (known.code == reply.error_code()) {
            return known.why;
        }
    }
    return refusal::other;
}

}  // namespace lockkeeper::shards
