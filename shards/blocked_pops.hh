#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <seastar/core/future.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/timer.hh>
#include <string>
#include <vector>

#include "shards/core/key_hash.hh"
#include "shards/core/lock_table.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// What a blocked pop ended with.
struct pop_result {
    enum class end : uint8_t {
        popped,  ///< `key` and `value` are set
        timed_out,
        cancelled,  ///< the client left, or somebody unblocked it
    };
    end how = end::timed_out;
    std::string key{};
    std::string value{};
};

struct pop_request {
    uint64_t client = 0;  ///< who waits; one wait a client at a time
    uint32_t database = 0;
    std::vector<std::string> keys;  ///< all of them of this core, in the order to look at
    list_end from = list_end::front;
    std::optional<std::chrono::milliseconds> timeout{};  ///< none: for ever
};

/// Clients that wait for an element of a signal list, first come, first served. Belongs to the lock
/// service of the core that owns the keys.
class blocked_pops {
public:
    explicit blocked_pops(const key_hasher& hasher) : _hasher(hasher) {}
    blocked_pops(const blocked_pops&) = delete;
    blocked_pops& operator=(const blocked_pops&) = delete;

    /// Stands in the queues of all keys. The caller has found the lists empty in the same turn of
    /// the reactor.
    ss::future<pop_result> wait(pop_request request);

    /// Ends the wait of a client, if there is one.
    bool cancel(uint64_t client);
    void cancel_all();

    /// Elements were pushed: serves who waits for them, in order.
    void serve(lock_table& table, uint32_t database, std::string_view key, instant now);

    size_t size() const { return _waiters.size(); }

private:
    struct waiter {
        pop_request request;
        ss::promise<pop_result> done;
        ss::timer<ss::lowres_clock> deadline;
    };
    using place = std::pair<uint32_t, std::string>;

    void finish(uint64_t client, pop_result result);

    const key_hasher& _hasher;
    std::map<uint64_t, std::unique_ptr<waiter>> _waiters;
    std::map<place, std::list<uint64_t>, std::less<>> _queues;
};

}  // namespace lockkeeper::shards
