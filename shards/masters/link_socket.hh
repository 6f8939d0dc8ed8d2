#pragma once

#include <chrono>
#include <optional>
#include <seastar/core/abort_source.hh>
#include <seastar/core/future.hh>
#include <seastar/core/iostream.hh>
#include <seastar/core/shared_ptr.hh>
#include <seastar/core/temporary_buffer.hh>
#include <seastar/net/api.hh>
#include <seastar/net/inet_address.hh>
#include <seastar/net/tls.hh>
#include <string>
#include <string_view>
#include <vector>

#include "config/redis_address.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// The authorities by which certificates of masters are judged.
using tls_trust = ss::shared_ptr<ss::tls::certificate_credentials>;

/// From a PEM file, or the system's if `file` is empty. Fails with a reason in words.
ss::future<tls_trust> load_tls_trust(std::string file);

/// One TCP or TLS connection to a master: bytes in, bytes out, and an end that comes at once. Knows
/// nothing of Redis. For one use: open, read and write, cut, close. Failures are exceptions.
class link_socket {
public:
    struct options {
        config::redis_address address;
        /// Needed if the address says TLS.
        tls_trust trust{};
        /// Unacknowledged bytes older than this end the connection.
        std::chrono::milliseconds silence{};
        /// Of several addresses of a name, the one to try first: attempts take turns, so that one
        /// address that swallows everything does not hide the others.
        std::size_t first_address = 0;
    };

    explicit link_socket(options how);

    /// Looks the name up and connects. TLS is agreed upon with the first bytes.
    ss::future<> open();

    /// What came; empty at the end. One read at a time.
    ss::future<ss::temporary_buffer<char>> read();
    /// One write at a time; the bytes must stay where they are until it is done.
    ss::future<> write(std::string_view bytes);

    /// Whatever is under way fails or ends now, whichever state the peer is in.
    void cut() noexcept;

    /// After open, read and write have ended.
    ss::future<> close();

private:
    ss::future<std::vector<ss::net::inet_address>> look_up();
    void settle(ss::connected_socket& socket) const;
    void check_cut() const;

    options _how;
    ss::abort_source _cut;
    /// Keeps the descriptor at hand: a TLS session would say goodbye first, for as long as ten
    /// seconds.
    ss::socket _raw;
    ss::connected_socket _socket;
    std::optional<ss::data_source> _in;
    std::optional<ss::data_sink> _out;
};

}  // namespace lockkeeper::shards
