#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <seastar/core/abort_source.hh>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/sharded.hh>
#include <string>
#include <utility>
#include <vector>

#include "proxy/clients.hh"
#include "proxy/pubsub.hh"
#include "shards/announcement.hh"
#include "shards/lock_service.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

/// Passes on what locks announce. There is one on every core.
///
/// Redis tells everybody who listens that a lock has come free, and all but one of them try in
/// vain. Here one is told: the one whose turn it is. It has a moment to take the lock. If the lock
/// is still free then, two more are told, then four, until all have been: a listener that does not
/// come, whatever the reason, never leaves the others asleep. Other messages are for all.
///
/// Turns go round: by the time of the subscription, and whoever is told goes to the end. Those who
/// listen to the very channel come first, and of those who listen to a pattern the ones at an
/// address from which somebody has asked for this lock.
///
/// A fair lock of Redisson names the one whose turn it is, and nobody else may take it. If he has
/// died nobody listens on his channel, be it now or as soon as the end of his connection is known:
/// then he leaves the queue and the next one is told. Redis would let all the others wait until his
/// time is over.
///
/// A round of this belongs to the core of the lock. The lock's next release ends it and begins a
/// new one.
class wake_ups : public ss::peering_sharded_service<wake_ups>, public shards::announcer {
public:
    wake_ups(ss::sharded<shards::lock_service>& locks, ss::sharded<pubsub>& messages,
             ss::sharded<clients>& everyone)
        : _locks(locks), _messages(messages), _everyone(everyone) {}
    virtual ~wake_ups() = default;

    void announce(shards::announcement what) override;
    /// The same for what another proxy of the fleet announces: its own listeners it has told.
    void hear(shards::announcement what);
    /// Others who may have listeners are told so, from now on.
    void pass_on_with(std::function<void(const shards::announcement&)> tell) {
        _pass_on = std::move(tell);
    }

    ss::future<> stop();

private:
    /// Which lock, and on which channel.
    using subject = std::pair<shards::freed_lock, std::string>;
    struct round;

    void begin(shards::announcement what);
    ss::future<> run(shards::announcement what, std::vector<uint64_t> asked);
    ss::future<> call_head(shards::announcement what);
    ss::future<bool> is_answered(shards::announcement what, uint64_t number);
    ss::future<bool> is_heard(shards::announcement what);
    ss::future<bool> is_listened_to(shards::announcement what);
    bool is_newest_call(const std::pair<uint32_t, std::string>& queue, uint64_t number) const;
    /// Does something on the core of this queue, when no script has borrowed it.
    template <typename Work>
    auto at_queue(const shards::queue_head& which, Work work)
        -> ss::future<std::invoke_result_t<Work, shards::lock_service&>>;
    /// Takes the first one out of the queue, if he still is. Who is next, if anybody.
    ss::future<std::optional<std::string>> drop_head(shards::queue_head gone);
    /// Clients that asked for this lock in vain, by id.
    std::vector<uint64_t> who_asked(const shards::freed_lock& lock);
    ss::future<> wake_by_and_by(round& now);
    ss::future<wake_candidates> find(round& now, size_t most);
    ss::future<wake_candidates> ask_all_cores(const round& now, size_t most);
    ss::future<> look_where_they_are(round& now);
    ss::future<size_t> tell(round& now, const std::vector<subscription>& found);
    bool is_newest(const round& now) const;
    bool is_free(const shards::freed_lock& lock);

    std::function<void(const shards::announcement&)> _pass_on;
    ss::sharded<shards::lock_service>& _locks;
    ss::sharded<pubsub>& _messages;
    ss::sharded<clients>& _everyone;
    /// The number of the newest round of each subject, while it runs.
    std::map<subject, uint64_t> _newest;
    uint64_t _rounds = 0;
    /// The same for queues of fair locks whose first one was called.
    std::map<std::pair<uint32_t, std::string>, uint64_t> _newest_call;
    uint64_t _calls = 0;
    ss::abort_source _stopping;
    ss::gate _gate;
};

}  // namespace lockkeeper::proxy
