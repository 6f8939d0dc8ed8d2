#include "shards/masters/link_socket.hh"

#include <fmt/format.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <seastar/core/coroutine.hh>
#include <seastar/core/seastar.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/net/dns.hh>
#include <seastar/util/file.hh>
#include <stdexcept>
#include <utility>

#include "shards/background.hh"

namespace lockkeeper::shards {

namespace {

using namespace std::chrono_literals;

/// Nothing older than TLS 1.2.
constexpr const char* tls_versions = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

/// The lookup of a name cannot be called off; whoever waits for it can go.
struct lookup {
    ss::promise<ss::net::hostent> answer{};
    bool over = false;
};

void end_lookup(lookup& waiting, ss::future<ss::net::hostent> found) {
    if (std::exchange(waiting.over, true)) {
        found.ignore_ready_future();
        return;
    }
    std::move(found).forward_to(std::move(waiting.answer));
}

ss::future<ss::sstring> read_pem(tls_file file, std::string_view what) {
    auto read = co_await ss::coroutine::as_future(ss::util::read_entire_file_contiguous(file.path));
    if (read.failed()) {
        read.ignore_ready_future();
        throw std::runtime_error(fmt::format("{} {} cannot be read", file.option, file.path));
    }
    auto text = read.get();
    // GnuTLS takes a file without any authority, and then trusts nobody.
    if (std::string_view(text).find(fmt::format("{}-----", what)) == std::string_view::npos) {
        throw std::runtime_error(
            fmt::format("{} {} has no {}", file.option, file.path,
                        what == "CERTIFICATE" ? "certificate" : "private key"));
    }
    co_return text;
}

}  // namespace

tls_files tls_files_of(const config::master_options& options) {
    return {.authorities = {options.tls_ca, "masters.tls_ca"},
            .certificate = {options.tls_certificate, "masters.tls_certificate"},
            .key = {options.tls_key, "masters.tls_key"}};
}

ss::future<tls_trust> load_tls_trust(tls_files from) {
    const tls_file& ca = from.authorities;
    ss::tls::credentials_builder builder;
    builder.set_priority_string(tls_versions);
    if (ca.path.empty()) {
        co_await builder.set_system_trust();
    } else {
        const auto authorities = co_await read_pem(ca, "CERTIFICATE");
        try {
            builder.set_x509_trust(authorities, ss::tls::x509_crt_format::PEM);
        } catch (const std::exception& problem) {
            throw std::runtime_error(fmt::format("{} {}: {}", ca.option, ca.path, problem.what()));
        }
    }
    if (!from.certificate.path.empty()) {
        const auto certificate = co_await read_pem(from.certificate, "CERTIFICATE");
        const auto key = co_await read_pem(from.key, "PRIVATE KEY");
        builder.set_x509_key(certificate, key, ss::tls::x509_crt_format::PEM);
    }
    try {
        co_return builder.build_certificate_credentials();
    } catch (const std::exception& problem) {
        throw std::runtime_error(fmt::format("{} '{}', {} '{}' and {} '{}': {}", ca.option, ca.path,
                                             from.certificate.option, from.certificate.path,
                                             from.key.option, from.key.path, problem.what()));
    }
}

link_socket::link_socket(options how) : _how(std::move(how)), _raw(ss::make_socket()) {}

ss::future<> link_socket::open() {
    const auto addresses = co_await look_up();
    auto problem = std::make_exception_ptr(std::runtime_error("the name has no address"));
    for (std::size_t i = 0; i != addresses.size(); ++i) {
        check_cut();
        const auto& address = addresses[(_how.first_address + i) % addresses.size()];
        _raw = ss::make_socket();
        auto made = co_await ss::coroutine::as_future(
            _raw.connect(ss::socket_address(address, _how.address.port)));
        if (made.failed()) {
            problem = made.get_exception();
            continue;
        }
        _socket = made.get();
        problem = nullptr;
        break;
    }
    check_cut();
    if (problem) {
        std::rethrow_exception(problem);
    }
    settle(_socket);
    if (_how.address.tls) {
        // The raw socket is cut without a word, so there is no farewell to wait for.
        ss::tls::tls_options how;
        how.wait_for_eof_on_shutdown = false;
        how.server_name = _how.address.host;
        _socket = co_await ss::tls::wrap_client(_how.trust, std::move(_socket), std::move(how));
    }
    _in = std::move(_socket.input()).detach();
    _out = std::move(_socket.output()).detach();
}

ss::future<std::vector<ss::net::inet_address>> link_socket::look_up() {
    check_cut();
    auto waiting = ss::make_lw_shared<lookup>();
    auto answer = waiting->answer.get_future();
    abandon(ss::net::dns::get_host_by_name(_how.address.host).then_wrapped([waiting](auto&& found) {
        end_lookup(*waiting, std::move(found));
    }));
    const auto give_up = _cut.subscribe([waiting]() noexcept {
        end_lookup(*waiting,
                   ss::make_exception_future<ss::net::hostent>(std::runtime_error("called off")));
    });
    auto found = co_await ss::coroutine::as_future(std::move(answer));
    if (found.failed()) {
        std::string problem;
        try {
            found.get();
        } catch (const std::exception& cause) {
            problem = cause.what();
        }
        throw std::runtime_error(
            fmt::format("the name '{}' is not known: {}", _how.address.host, problem));
    }
    co_return found.get().addr_list;
}

void link_socket::settle(ss::connected_socket& socket) const {
    socket.set_nodelay(true);
    // A peer that vanished without a word is found by our pings; these two find it when the ping
    // itself cannot be delivered, and when the process is too busy to ping.
    socket.set_keepalive(true);
    socket.set_keepalive_parameters(ss::net::tcp_keepalive_params{1s, 1s, 3});
    const auto unacknowledged_ms =
        static_cast<unsigned>(std::clamp<int64_t>(_how.silence.count(), 1, 3'600'000));
    socket.set_sockopt(IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms,
                       sizeof(unacknowledged_ms));
}

ss::future<ss::temporary_buffer<char>> link_socket::read() {
    return _in->get();
}

ss::future<> link_socket::write(std::string_view bytes) {
    // The sink wants a buffer of its own type; ours stays the owner.
    auto* at = const_cast<char*>(bytes.data());
    return _out->put(ss::temporary_buffer<char>(at, bytes.size(), ss::deleter()));
}

void link_socket::cut() noexcept {
    if (_cut.abort_requested()) {
        return;
    }
    _cut.request_abort();
    try {
        _raw.shutdown();
    } catch (...) {
        // It had ended by itself, or was never opened.
    }
}

void link_socket::check_cut() const {
    if (_cut.abort_requested()) {
        throw std::runtime_error("called off");
    }
}

ss::future<> link_socket::close() {
    cut();
    if (_out) {
        (co_await ss::coroutine::as_future(_out->close())).ignore_ready_future();
    }
    if (_in) {
        (co_await ss::coroutine::as_future(_in->close())).ignore_ready_future();
    }
}

}  // namespace lockkeeper::shards
