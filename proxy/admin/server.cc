#include "proxy/admin/server.hh"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <seastar/core/coroutine.hh>
#include <seastar/core/prometheus.hh>
#include <seastar/core/smp.hh>
#include <seastar/core/with_scheduling_group.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/http/handlers.hh>
#include <seastar/net/inet_address.hh>
#include <seastar/util/log.hh>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/text.hh"
#include "proxy/admin/api.hh"
#include "proxy/admin/assets.hh"

namespace lockkeeper::proxy::admin {

namespace {

ss::logger log("http");

using ss::http::reply;
using ss::http::request;

/// Nobody sends us a body.
constexpr size_t content_max = 4096;

struct answer {
    reply::status_type status = reply::status_type::ok;
    std::string_view type = "text/plain; charset=utf-8";
    std::string content{};
};

using work = std::function<ss::future<answer>(const request&)>;

enum class audience : uint8_t {
    anybody,  ///< who can connect
    people,   ///< and does not come by way of another site
};

/// Turns a function into what Seastar calls a handler, with headers that let a browser do nothing
/// but show our own page.
class endpoint final : public ss::httpd::handler_base {
public:
    endpoint(audience whose, const std::string& listening_on, work what)
        : _whose(whose), _listening_on(listening_on), _what(std::move(what)) {}

    ss::future<std::unique_ptr<reply>> handle(const ss::sstring&, std::unique_ptr<request> asked,
                                              std::unique_ptr<reply> out) override {
        answer given;
        const auto host = asked->get_header("Host");
        if (_whose == audience::people && !is_own_host(host, _listening_on)) {
            given = {.status = reply::status_type::forbidden,
                     .content = "this is not the name of this host; use its address\n"};
        } else {
            given = co_await _what(*asked);
        }
        out->_status = given.status;
        out->_content = ss::sstring(given.content.data(), given.content.size());
        out->add_header("Content-Security-Policy",
                        "default-src 'none'; script-src 'self'; style-src 'self'; "
                        "connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
                        "form-action 'none'; frame-ancestors 'none'");
        out->add_header("X-Content-Type-Options", "nosniff");
        out->add_header("Referrer-Policy", "no-referrer");
        out->add_header("Cross-Origin-Resource-Policy", "same-origin");
        out->add_header("Cache-Control", "no-store");
        out->set_mime_type(ss::sstring(given.type.data(), given.type.size()));
        out->done();
        co_return std::move(out);
    }

private:
    audience _whose;
    const std::string& _listening_on;
    work _what;
};

work serving(std::string_view type, std::string_view content) {
    return [type, content](const request&) {
        return ss::make_ready_future<answer>(answer{.type = type, .content = std::string(content)});
    };
}

ss::future<answer> as_json(ss::future<std::string> text) {
    co_return answer{.type = "application/json", .content = co_await std::move(text)};
}

answer bad_request(std::string_view why) {
    return {.status = reply::status_type::bad_request, .content = fmt::format("{}\n", why)};
}

std::string parameter(const request& asked, const char* name) {
    const auto value = asked.get_query_param(name);
    return {value.data(), value.size()};
}

/// All cores answer, or nobody does: whoever asks gives up by himself then, and knows.
ss::future<answer> health() {
    co_await ss::smp::invoke_on_all([] {});
    co_return answer{.content = "ok\n"};
}

answer show(const std::vector<std::string>& objections) {
    if (objections.empty()) {
        return {.content = "ready\n"};
    }
    answer not_ready{.status = reply::status_type::service_unavailable};
    for (const auto& why : objections) {
        not_ready.content += why + "\n";
    }
    return not_ready;
}

struct named_lock {
    uint32_t database;
    std::string key;
};

std::optional<named_lock> lock_of(services& all, const request& asked) {
    auto key = parameter(asked, "key");
    const auto database = protocol::parse_integer(
        asked.query_parameters.contains("database") ? parameter(asked, "database") : "0");
    if (key.empty() || key.size() > all.settings.limits.key_bytes || !database || *database < 0 ||
        *database >= int64_t{shards::lock_table_options{}.databases}) {
        return std::nullopt;
    }
    return named_lock{static_cast<uint32_t>(*database), std::move(key)};
}

ss::future<answer> show_lock(services& all, const request& asked) {
    auto which = lock_of(all, asked);
    if (!which) {
        return ss::make_ready_future<answer>(
            bad_request("needs key=NAME, and database=NUMBER if it is not in 0"));
    }
    return as_json(one_lock(all, which->database, std::move(which->key)));
}

ss::future<answer> break_lock(services& all, lock_breaker& breaker, const request& asked) {
    auto which = lock_of(all, asked);
    const auto fence = protocol::parse_integer(parameter(asked, "fence"));
    if (!which || !fence || *fence < 0) {
        co_return bad_request("needs key=NAME and fence=NUMBER, and database=NUMBER if not in 0");
    }
    const auto header = [&asked](const char* name) { return std::string(asked.get_header(name)); };
    lock_breaker::wish wish{.host = header("Host"),
                            .origin = header("Origin"),
                            .site = header("Sec-Fetch-Site"),
                            .mark = header("X-Lockkeeper"),
                            .authorization = header("Authorization"),
                            .peer = fmt::format("{}", asked.get_client_address()),
                            .database = which->database,
                            .key = std::move(which->key),
                            .fence = static_cast<uint64_t>(*fence)};
    // What it has masters and other proxies do may last longer than this server and its group.
    const auto [status, text] = co_await ss::with_scheduling_group(
        ss::default_scheduling_group(),
        [&breaker, &wish] { return breaker.break_lock(std::move(wish)); });
    co_return answer{.status = static_cast<reply::status_type>(status), .content = text + "\n"};
}

ss::future<answer> show_search(services& all, const request& asked) {
    auto wanted = parameter(asked, "match");
    if (wanted.empty() || wanted.size() > all.settings.limits.key_bytes) {
        return ss::make_ready_future<answer>(
            bad_request("needs match=TEXT, a part of a name or a pattern"));
    }
    return as_json(search(all, std::move(wanted)));
}

/// Without the port, and without the brackets of IPv6.
std::string_view name_of_host(std::string_view host) {
    if (host.starts_with('[')) {
        return host.substr(1, host.find(']') - 1);
    }
    return host.substr(0, host.find(':'));
}

bool is_address(std::string_view text) {
    return ss::net::inet_address::parse_numerical(ss::sstring(text.data(), text.size()))
        .has_value();
}

bool is_loopback(std::string_view address) {
    return address.starts_with("127.") || address == "::1" || address == "localhost";
}

}  // namespace

bool is_own_host(std::string_view host, std::string_view listening_on) {
    if (host.empty() || !is_loopback(listening_on)) {
        return true;
    }
    const std::string_view name = name_of_host(host);
    return is_address(name) || protocol::equals_ignoring_case(name, "localhost") ||
           name.ends_with(".localhost");
}

server::server(services& all, const readiness& state) : _all(all), _state(state), _breaker(all) {}

void server::add_routes() {
    const auto add = [this](const char* path, audience whose, work what) {
        _http->_routes.put(ss::httpd::GET, path,
                           new endpoint(whose, _all.settings.http.address, std::move(what)));
    };
    using enum audience;
    add("/healthz", anybody, [](const request&) { return health(); });
    add("/readyz", anybody, [this](const request&) {
        return ss::make_ready_future<answer>(show(_state.objections(_all, shards::read_clock())));
    });
    add("/", people, serving("text/html; charset=utf-8", page_html()));
    add("/page.css", people, serving("text/css; charset=utf-8", page_css()));
    add("/page.js", people, serving("text/javascript; charset=utf-8", page_js()));
    add("/api/live", people, [this](const request&) { return as_json(live(_all, _state)); });
    add("/api/notes", people, [this](const request&) { return as_json(notes(_all)); });
    add("/api/lock", people, [this](const request& asked) { return show_lock(_all, asked); });
    add("/api/search", people, [this](const request& asked) { return show_search(_all, asked); });
    if (_all.settings.http.break_locks) {
        _http->_routes.put(
            ss::httpd::POST, "/api/break",
            new endpoint(people, _all.settings.http.address, [this](const request& asked) {
                return break_lock(_all, _breaker, asked);
            }));
    }
}

ss::future<> server::start() {
    const auto& where = _all.settings.http;
    _group = co_await ss::create_scheduling_group("admin", 100);
    _http.emplace("admin");
    _http->set_content_length_limit(content_max);
    ss::prometheus::config metrics;
    metrics.prefix = "lockkeeper";
    co_await ss::prometheus::add_prometheus_routes(*_http, metrics);
    add_routes();
    ss::listen_options options;
    options.reuse_address = true;
    options.set_fixed_cpu(ss::this_shard_id());
    const ss::socket_address address(ss::net::inet_address(where.address), where.port);
    co_await ss::with_scheduling_group(
        *_group, [this, address, options] { return _http->listen(address, options); });
    co_await _metrics.start(std::ref(_all.locks), std::ref(_all.everyone), std::ref(_all.users),
                            std::ref(_all.links));
    log.info("http://{}{}{}:{} shows metrics, health and a live page",
             where.address.find(':') != std::string::npos ? "[" : "", where.address,
             where.address.find(':') != std::string::npos ? "]" : "", where.port);
    if (!is_loopback(where.address)) {
        log.warn("http.address is {}: whoever can connect there sees the names of all locks{}",
                 where.address,
                 where.break_locks ? ", and passwords of admins go there in clear text" : "");
    }
}

ss::future<> server::show_users() {
    return _metrics.local_is_initialized() ? _metrics.invoke_on_all(&core_metrics::show_users)
                                           : ss::make_ready_future<>();
}

ss::future<> server::stop() {
    if (_http) {
        co_await _http->stop();
        _http.reset();
    }
    co_await _metrics.stop();
    if (_group) {
        co_await ss::destroy_scheduling_group(*std::exchange(_group, std::nullopt));
    }
}

}  // namespace lockkeeper::proxy::admin
