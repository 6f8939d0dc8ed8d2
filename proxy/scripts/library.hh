#pragma once

#include <seastar/core/future.hh>
#include <seastar/core/gate.hh>
#include <seastar/core/sharded.hh>
#include <string>
#include <string_view>

#include "proxy/idioms/recogniser.hh"
#include "proxy/scripts/text_memo.hh"

namespace lockkeeper::proxy::scripts {

namespace ss = seastar;

/// The scripts that clients have shown us. One on every core, and all of them agree: a client may
/// send SCRIPT LOAD over one connection and EVALSHA over another, and a call is carried out on the
/// core of its keys. Started by the app before the listeners, stopped after them.
class library : public ss::peering_sharded_service<library> {
public:
    library();
    library(const library&) = delete;
    library& operator=(const library&) = delete;
    ~library();

    ss::future<> stop() { return _gate.close(); }

    /// That of this core. A command that came from another core finds it here.
    static library& here();

    /// EVAL. A script that is recognised is told to the other cores, without waiting for them.
    idioms::recognition recognise(std::string_view text);
    /// EVALSHA. Not `loaded`: answer NOSCRIPT.
    idioms::script_cache::entry find(std::string_view hex40) { return _known.find(hex40); }
    /// Of a script that another proxy may not know; see script_cache.
    std::string_view text_of(std::string_view hex40) const { return _known.text_of(hex40); }
    /// SCRIPT EXISTS.
    bool exists(std::string_view hex40) const { return _known.exists(hex40); }

    /// SCRIPT LOAD and SCRIPT FLUSH, on all cores.
    ss::future<idioms::sha1_digest> load_everywhere(std::string text);
    ss::future<> flush_everywhere();

private:
    idioms::script_cache _known;
    text_memo _recent;
    ss::gate _gate;
};

}  // namespace lockkeeper::proxy::scripts
