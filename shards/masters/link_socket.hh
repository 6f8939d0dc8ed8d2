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

#include "config/config.hh"
#include "config/redis_address.hh"

namespace lockkeeper::shards {

namespace ss = seastar;

/// The authorities by which certificates of masters and proxies are judged, and the certificate
/// that we show them, if we have one.
using tls_trust = ss::shared_ptr<ss::tls::certificate_credentials>;

/// A PEM file, and the option that names it.
struct tls_file {
    std::string path{};
    std::string option{};
};
struct tls_files {
    tls_file authorities{};  ///< none: the system's
    tls_file certificate{};  ///< none: we are nobody
    tls_file key{};
};
tls_files tls_files_of(const config::master_options& options);

/// Fails with a reason in words.
ss::future<tls_trust> load_tls_trust(tls_files from);

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
