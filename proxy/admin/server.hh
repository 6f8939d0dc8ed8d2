#pragma once

#include <optional>
#include <seastar/core/future.hh>
#include <seastar/core/scheduling.hh>
#include <seastar/core/sharded.hh>
#include <seastar/http/httpd.hh>

#include "proxy/admin/core_metrics.hh"
#include "proxy/admin/lock_breaker.hh"
#include "proxy/readiness.hh"
#include "proxy/services.hh"

namespace lockkeeper::proxy::admin {

namespace ss = seastar;

/// The port for operators: metrics, health, and the live page. Lives on core 0, in a scheduling
/// group of its own that gets little when clients want much. It only looks: there is no request
/// that changes anything, unless admins may break locks here (lock_breaker).
class server {
public:
    /// Both outlive it.
    server(services& all, const readiness& state);

    /// Throws if the address cannot be had.
    ss::future<> start();
    ss::future<> stop();

    /// There are others now.
    ss::future<> show_users();

private:
    void add_routes();

    services& _all;
    const readiness& _state;
    lock_breaker _breaker;
    ss::sharded<core_metrics> _metrics;
    std::optional<ss::scheduling_group> _group;
    std::optional<ss::httpd::http_server> _http;
};

/// Whether a request that names this host may see the page. A site on the internet can let its name
/// point to 127.0.0.1 and have a browser ask us, which then believes that we are that site; so what
/// listens on loopback answers to names of this machine only.
bool is_own_host(std::string_view host, std::string_view listening_on);

}  // namespace lockkeeper::proxy::admin
