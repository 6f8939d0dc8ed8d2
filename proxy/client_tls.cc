#include "proxy/client_tls.hh"

#include <fmt/format.h>

#include <seastar/core/coroutine.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/util/log.hh>
#include <stdexcept>

#include "protocol/text.hh"

namespace lockkeeper::proxy {

namespace {

ss::logger log("tls");

/// Nothing older than TLS 1.2. A client's own order of ciphers does not count: ours is GnuTLS'.
constexpr const char* versions = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE";

std::string words_of(const std::exception_ptr& problem) {
    try {
        std::rethrow_exception(problem);
    } catch (const std::exception& known) {
        return known.what();
    } catch (...) {
        return "for a reason unknown";
    }
}

/// `option` names the file for people.
ss::future<> or_say(ss::future<> loading, std::string option) {
    auto loaded = co_await ss::coroutine::as_future(std::move(loading));
    if (loaded.failed()) {
        throw std::runtime_error(
            fmt::format("{} cannot be used: {}", option, words_of(loaded.get_exception())));
    }
}

ss::tls::client_auth asked_of_clients(config::client_certificates wanted) {
    switch (wanted) {
        case config::client_certificates::none:
            return ss::tls::client_auth::NONE;
        case config::client_certificates::optional:
            return ss::tls::client_auth::REQUEST;
        case config::client_certificates::required:
            return ss::tls::client_auth::REQUIRE;
    }
    return ss::tls::client_auth::REQUIRE;
}

void tell_reload(const std::unordered_set<ss::sstring>& files, const std::exception_ptr& problem) {
    for (const auto& file : files) {
        if (problem) {
            log.warn("{} has changed and cannot be used, the old one stays: {}", file,
                     words_of(problem));
        } else {
            log.info("{} has changed: new connections use it", file);
        }
    }
}

}  // namespace

ss::future<tls_identity> load_tls_identity(config::tls_options how) {
    constexpr auto pem = ss::tls::x509_crt_format::PEM;
    ss::tls::credentials_builder builder;
    builder.set_priority_string(versions);
    builder.set_client_auth(asked_of_clients(how.client_certificates));
    co_await or_say(builder.set_x509_key_file(how.certificate, how.key, pem),
                    fmt::format("tls.certificate {} or tls.key {}", how.certificate, how.key));
    if (!how.ca.empty()) {
        co_await or_say(builder.set_x509_trust_file(how.ca, pem), fmt::format("tls.ca {}", how.ca));
    }
    // What does not fit is told at once, not by the future.
    auto built = co_await ss::coroutine::as_future(ss::futurize_invoke([&builder] {
        return builder.build_reloadable_server_credentials(ss::tls::reload_callback(tell_reload));
    }));
    if (built.failed()) {
        throw std::runtime_error(fmt::format(
            "tls.certificate {}, tls.key {}{}{} cannot be used: {}", how.certificate, how.key,
            how.ca.empty() ? "" : ", tls.ca ", how.ca, words_of(built.get_exception())));
    }
    co_return built.get();
}

std::string explain_handshake(const std::exception_ptr& problem) {
    constexpr size_t shown = 256;
    return protocol::sanitised(words_of(problem), shown);
}

}  // namespace lockkeeper::proxy
