#pragma once

#include <optional>
#include <random>
#include <seastar/core/abort_source.hh>
#include <seastar/core/condition-variable.hh>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/lowres_clock.hh>
#include <seastar/core/shared_future.hh>
#include <seastar/core/timer.hh>
#include <string>

#include "config/config.hh"
#include "protocol/reply_parser.hh"
#include "shards/masters/backoff.hh"
#include "shards/masters/link_socket.hh"
#include "shards/masters/master.hh"
#include "shards/masters/master_statistics.hh"
#include "shards/masters/request_pipeline.hh"
#include "shards/masters/send_queue.hh"

namespace lockkeeper::shards {

struct redis_master_options {
    config::redis_address address;
    config::master_options masters{};
    /// For CLIENT LIST on the master and for our log, as in "lockkeeper-a-0".
    std::string name = "lockkeeper";
    uint32_t index = 0;
    pipeline_limits limits{};
};

/// How a master fares, for people.
struct master_state {
    std::string address;  ///< without the password
    bool connected = false;
    link_generation generation{};
    instant since{};           ///< of being connected, or of not being so
    std::string last_error{};  ///< why the last connection or attempt ended; empty: none has
    std::size_t requests_in_flight = 0;
    std::size_t bytes_in_flight = 0;
    master_statistics statistics{};
};

/// A Redis master at the end of one pipelined connection that keeps itself up. One for each core
/// and master; lives and is used on one core.
///
///     run:   attempt -> live -> pause -> attempt ...       until stopped
///     live:  open the socket, then three at once until the first of them ends:
///            read     bytes -> replies -> who waits at the front of the pipeline
///            write    everything that was sent in one turn of the reactor, in one write
///            watch    pings if idle; cuts if an answer is owed for too long
///
/// Invariant: requests are expected in the pipeline in the order in which their bytes are queued,
/// and both start empty on each connection.
template <typename Clock>
class basic_redis_master final : public master {
public:
    /// `events` outlives this object.
    basic_redis_master(redis_master_options options, master_events& events);

    /// Begins to connect; does not wait for it.
    ss::future<> start();
    /// Ends the connection now. What is in flight fails; nothing more is sent.
    void request_stop();
    ss::future<> stop();

    ss::future<master_result> send(const command_batch& commands, send_options how) override;
    void reconnect(std::string why) override;
    /// Other credentials and certificates, from now on. A connection that is there stays: it logs
    /// in anew, between two requests, and is as good as before if that is refused.
    void change_credentials(const config::redis_address& address,
                            const config::master_options& masters);
    bool is_connected() const override { return _connected; }
    link_generation generation() const override { return _generation; }
    uint32_t index() const override { return _options.index; }

    master_state state() const;
    const master_statistics& statistics() const { return _counted; }

private:
    ss::future<> run();
    ss::future<> live();
    ss::future<> open();
    ss::future<> read_certificates();
    ss::future<> greet();
    void log_in_again();
    ss::future<> log_in();
    ss::future<> read_loop();
    ss::future<> read_replies();
    ss::future<> write_loop();
    ss::future<> write_requests();
    ss::future<> pause();
    void watch();
    void take(protocol::reply reply, instant now);
    void enqueue(std::string_view bytes);
    ss::future<master_result> expect(const command_batch& commands,
                                     std::optional<std::chrono::milliseconds> timeout);
    void welcome();
    void end(std::string why, master_error error = master_error::connection_lost);
    void report_failure(std::chrono::milliseconds pause);

    redis_master_options _options;
    master_events& _events;
    master_statistics _counted;
    request_pipeline<Clock> _pipeline;
    send_queue _unsent;
    instant _unsent_since{};
    ss::condition_variable _write_wanted;

    // The present connection or attempt.
    std::optional<link_socket> _socket;
    protocol::reply_parser _parser;
    bool _ended = true;
    bool _connected = false;
    const char* _stage = "";  ///< what an attempt is at
    std::string _why_ended;
    ss::timer<Clock> _attempt_timer;
    ss::timer<Clock> _watch_timer;
    typename Clock::time_point _last_heard{};
    /// When the oldest request was sent that the last look found overdue.
    std::optional<typename Clock::time_point> _overdue;

    // Over all of them.
    uint64_t _credentials = 0;   ///< grows when there are others
    uint64_t _certificates = 0;  ///< likewise
    link_generation _generation{};
    std::size_t _attempts = 0;  ///< since the last connection
    instant _since;
    std::string _last_error;
    std::string _logged_error;
    tls_trust _trust;
    backoff _backoff;
    std::minstd_rand _random;
    ss::abort_source _stop_source;
    ss::gate _gate;
    std::optional<ss::shared_future<>> _stopped;
};

using redis_master = basic_redis_master<ss::lowres_clock>;

}  // namespace lockkeeper::shards
