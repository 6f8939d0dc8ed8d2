#include "shards/core/pending_releases.hh"

#include <utility>

namespace lockkeeper::shards {

void pending_releases::add(pending_release release) {
    if (_limit == 0) {
        ++_forgotten;
        return;
    }
    if (_waiting.size() == _limit) {
        _waiting.pop_front();
        ++_forgotten;
    }
    _waiting.push_back(std::move(release));
}

std::vector<pending_release> pending_releases::take(instant now) {
    std::vector<pending_release> due;
    due.reserve(_waiting.size());
    for (auto& release : _waiting) {
        if (now < release.until) {
            due.push_back(std::move(release));
        }
    }
    _waiting.clear();
    return due;
}

}  // namespace lockkeeper::shards
