#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/request.hh"

namespace lockkeeper::proxy {

/// A request that outlives the bytes it was read from: queued in a transaction, sent to another
/// core, or kept over a wait. One block of bytes, whatever the number of arguments.
class owned_request {
public:
    explicit owned_request(const protocol::request& request) {
        size_t total = 0;
        for (const std::string_view argument : request) {
            total += argument.size();
        }
        _bytes.reserve(total);
        _ends.reserve(request.size());
        for (const std::string_view argument : request) {
            _bytes += argument;
            _ends.push_back(_bytes.size());
        }
    }

    size_t size() const { return _ends.size(); }
    std::string_view operator[](size_t i) const {
        const size_t begin = i == 0 ? 0 : _ends[i - 1];
        return std::string_view(_bytes).substr(begin, _ends[i] - begin);
    }

    /// Views of the arguments, good as long as this object stays where it is.
    std::vector<std::string_view> views() const {
        std::vector<std::string_view> all;
        all.reserve(size());
        for (size_t i = 0; i < size(); ++i) {
            all.push_back((*this)[i]);
        }
        return all;
    }

private:
    std::string _bytes;
    std::vector<size_t> _ends;
};

}  // namespace lockkeeper::proxy
