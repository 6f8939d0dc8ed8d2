#pragma once

#include <seastar/core/future.hh>
#include <seastar/core/shared_ptr.hh>
#include <seastar/net/tls.hh>
#include <string>

#include "config/config.hh"

namespace lockkeeper::proxy {

namespace ss = seastar;

using tls_identity = ss::shared_ptr<ss::tls::server_credentials>;

/// What we show to clients that connect by TLS, and whom we trust of them. The files are watched:
/// connections from then on use the new ones. New files that make no sense change nothing but the
/// log. Fails with a reason in words.
ss::future<tls_identity> load_tls_identity(config::tls_options how);

/// A failed handshake in words for the log.
std::string explain_handshake(const std::exception_ptr& problem);

}  // namespace lockkeeper::proxy
