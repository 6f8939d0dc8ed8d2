#pragma once

#include <functional>
#include <optional>
#include <seastar/core/future.hh>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/output.hh"
#include "protocol/reply_writer.hh"
#include "proxy/command.hh"
#include "proxy/owned_request.hh"
#include "shards/core/poll_pauses.hh"
#include "shards/lease_keeper.hh"
#include "shards/lock_order.hh"
#include "shards/lock_service.hh"

namespace lockkeeper::proxy {

struct services;

/// Commands of one client for one other core, in order.
struct core_batch {
    struct item {
        const command_spec* spec;
        uint32_t database;
        protocol::version spoken;
        owned_request request;
        uint64_t client = 0;
        /// What it lacked when it was tried. If it has an answer it has been carried out, and the
        /// answer is true as soon as the masters hold what it has moved.
        std::vector<shards::wanted_lease> wanted{};
        std::optional<std::string> answer{};
        shards::order_route route = shards::order_route::here;
        std::vector<std::string> keys{};  ///< unless the route is `here`
        bool is_followed = false;         ///< its client had said more already
    };
    std::vector<item> items;
};

/// Their replies, one after the other; reply i ends at ends[i].
struct core_replies {
    protocol::output bytes;
    std::vector<size_t> ends;
    /// A command that another proxy is to carry out: nothing has happened, and nothing is written.
    struct sent_home {
        size_t index;
        std::string home;
        core_batch::item item;
    };
    std::vector<sent_home> homes{};
    /// Who was refused, and not for the first time.
    std::vector<shards::polled_try> polled{};

    std::string_view operator[](size_t i) const {
        const size_t begin = i == 0 ? 0 : ends[i - 1];
        return bytes.view().substr(begin, ends[i] - begin);
    }
};

using shards::turn;

/// Carries out a batch on the core that owns its keys: one message there, one back.
ss::future<core_replies> run_on(services& all, ss::shard_id core, core_batch batch,
                                turn whose = turn::wait_for_it);

/// The cores that own the keys, ascending, each once.
std::vector<ss::shard_id> cores_of(const services& all, const std::vector<std::string_view>& keys);

/// The core that owns all of the keys, or nothing if they are of several. No keys: this core.
std::optional<ss::shard_id> one_core_of(const services& all,
                                        const std::vector<std::string_view>& keys);

/// Has the turns of these cores while `work` runs: nobody else's commands come between its steps
/// there. Taken in ascending order, so that two of them never wait for each other. A client that
/// has them already goes on at once.
ss::future<> with_turns(client& who, std::vector<ss::shard_id> cores,
                        std::function<ss::future<>()> work);

}  // namespace lockkeeper::proxy
