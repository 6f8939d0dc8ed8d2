#pragma once

#include <stdexcept>
#include <string>

namespace lockkeeper::sim {

/// A promise was broken: P1 to P5 or I1 to I11, as docs/testing.md lists them.
class violation : public std::runtime_error {
public:
    violation(const char* which, const std::string& what)
        : std::runtime_error(std::string(which) + ": " + what), _which(which) {}

    const char* which() const { return _which; }

private:
    const char* _which;
};

/// `which` names the promise.
inline void demand(bool holds, const char* which, const char* what) {
    if (!holds) [[unlikely]] {
        throw violation(which, what);
    }
}

}  // namespace lockkeeper::sim
