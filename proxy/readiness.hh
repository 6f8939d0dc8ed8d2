#pragma once

#include <string>
#include <vector>

#include "shards/core/clock.hh"

namespace lockkeeper::proxy {

struct services;

/// Whether clients should be sent here, and if not, why: what /readyz tells. Lives on core 0, which
/// speaks for all. The app says when clients are served; the rest is looked up.
class readiness {
public:
    /// Clients are accepted from now on.
    void open() { _stage = stage::serving; }
    /// They are not any more.
    void close() { _stage = stage::stopping; }

    /// Nothing: ready.
    std::vector<std::string> objections(services& all, shards::instant now) const;

private:
    enum class stage { starting, serving, stopping };
    stage _stage = stage::starting;
};

}  // namespace lockkeeper::proxy
