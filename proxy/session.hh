#pragma once

#include <boost/intrusive/list.hpp>
#include <optional>
#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/iostream.hh>
#include <seastar/core/semaphore.hh>
#include <seastar/net/api.hh>
#include <string>

#include "protocol/request_parser.hh"
#include "proxy/client.hh"
#include "proxy/command.hh"
#include "proxy/link_origin.hh"
#include "proxy/router.hh"
#include "proxy/unread_replies.hh"

namespace lockkeeper::proxy {

class link;

/// One client connection, on one core, from accept to close. It owns the socket, the bytes not yet
/// understood and the replies not yet written.
///
/// Commands are taken a batch at a time, as much as one read brought. Those about keys of this core
/// run at once; those for other cores travel in one message for each core, those for the upstream
/// in one write; one that takes its time holds up the ones behind it, as in Redis. All replies of a
/// batch leave in one write, in order; while a client does not read them, nothing more is read from
/// it.
class session final : public client,
                      public boost::intrusive::list_base_hook<
                          boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    session(ss::connected_socket socket, ss::socket_address peer, uint64_t number,
            services& shared);
    /// For a client of another proxy, over a channel of a link; `who` is what that proxy says of
    /// it: its address and its name.
    session(ss::connected_socket channel, link_origin from, std::string_view who, uint64_t number,
            services& shared);

    /// Serves the client until either side ends the connection. Never fails.
    ss::future<> serve();

    /// No more commands; replies under way are still written.
    void request_stop();

    void cut() override;
    void when_heard(std::function<void()> call) override;
    void took_with_last_words(std::string_view key) override {
        _taken_last.push_back({database, std::string(key), shards::start_of_time});
    }
    void give_up(std::string_view why) override;

    /// Ends the connection if a limit on time says so.
    void end_if_overdue(ss::lowres_clock::time_point now);

private:
    /// Why the synchronous part of a batch stopped.
    enum class pause : uint8_t {
        need_bytes,  ///< everything complete has been executed
        need_time,   ///< `_slow` waits
        need_room,   ///< enough replies for one write
        closing,
    };

    /// Where in `output` a reply belongs that somebody else gives.
    struct gap {
        size_t at;
        size_t from;  ///< a core, or the upstream
        size_t index;
        bool muted;  ///< CLIENT REPLY OFF or SKIP
    };
    /// A command that the next one has to wait for.
    struct slow_command {
        enum class way : uint8_t {
            in_time,  ///< takes its time
            in_turn,  ///< what came before it must be done first: then run it
            both,     ///< here, and then upstream
        };
        const command_spec* spec;  ///< null: one that only the upstream knows
        owned_request request;
        way how;
    };

    ss::future<> serve_commands();
    ss::future<ss::temporary_buffer<char>> read();
    void note_last_order();
    ss::future<> leave_locks();
    ss::future<bool> may_not_have_read();
    ss::future<> serve_batch(std::string_view& unread, ss::temporary_buffer<char>& bytes);
    ss::future<> serve_rest(std::string_view& unread, pause why);
    static ss::future<> let_the_next_go();
    void acknowledge_with_replies();
    pause execute_ready(std::string_view& unread);
    size_t fetch_keys(std::string_view unread) const;
    void execute(const protocol::request& request);
    bool refuse(const command_spec& spec, const protocol::request& request);
    bool is_allowed(const command_spec* spec, const protocol::request& request);
    void mute(size_t mark);
    void run_or_refuse(const command_spec* spec, const protocol::request& request);
    void run(const command_spec* spec, const protocol::request& request);
    void run_here(const command_spec& spec, const protocol::request& request);
    void run_keys(const command_spec& spec, const protocol::request& request);
    shards::instant batch_time();
    void run_upstream(const protocol::request& request);
    /// Where the upstream's replies stand among those of the cores.
    static size_t upstream_slot();
    void queue(const command_spec* spec, const protocol::request& request);
    void run_slowly(const command_spec* spec, const protocol::request& request,
                    slow_command::way how);
    ss::future<> finish_slow();
    ss::future<bool> finish_at_home(const slow_command& command);
    ss::future<> add_up_at_homes(const slow_command& command);
    ss::future<> run_in_both(const command_spec& spec, owned_request request);
    ss::future<std::vector<protocol::reply>> ask_upstream(std::vector<owned_request> commands);
    ss::future<> finish_pending();
    ss::future<> gather();
    ss::future<std::string> run_at_home(core_replies::sent_home what);
    void tell_homes_of_more(bool is_followed);
    ss::future<> serve_link();
    ss::future<> write_replies();
    /// `_writing` is ours; gives it back.
    ss::future<> write_in_turn();
    void wake_writer() override;
    void login_changed() override { _parser.set_authenticated(logged_in); }
    ss::future<> watch_for_hang_up();
    void warn_of(std::string_view what);

    ss::connected_socket _socket;
    ss::data_source _in;
    ss::data_sink _out;
    protocol::request_parser _parser;
    std::string _unread;                 ///< the beginning of a command whose rest has not come yet
    std::vector<core_batch> _for_cores;  ///< by core; empty until one is needed
    std::vector<owned_request> _for_upstream;
    std::vector<gap> _gaps;
    std::optional<slow_command> _slow;
    std::optional<shards::instant> _batch_time;
    /// A read that began while a command still waited.
    std::optional<ss::future<>> _reading_ahead;
    ss::temporary_buffer<char> _read_ahead;
    std::function<void()> _heard;
    /// A lock that the last batch has taken, if it was granted since then: if the client leaves
    /// without another word and without having read the answer, it does not know that it has it.
    struct lock_taken {
        uint32_t database;
        std::string key;
        shards::instant since;
    };
    std::vector<lock_taken> _taken_last;
    /// Of the answers to that batch, when the connection ended.
    std::optional<delivery> _delivered;
    ss::semaphore _writing{1};
    bool _waking = false;
    link* _link = nullptr;  ///< while it is one
    /// Of a client of another proxy.
    ss::lw_shared_ptr<const bool> _link_is_over;
    bool _ended_here = false;  ///< and not by the client
    ss::gate _gate;
};

}  // namespace lockkeeper::proxy
