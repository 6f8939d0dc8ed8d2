#pragma once

#include <stdexcept>
#include <string>

namespace lockkeeper::sim {

/// A promise of docs/architecture.md was broken.
class violation : public std::runtime_error {
public:
    violation(const char* which, const std::string& what)
        : std::runtime_error(std::string(which) + ": " + what) {}
};

/// `which` names the promise: P1 to P5, or an invariant.
inline void demand(bool holds, const char* which, const char* what) {
    if (!holds) [[unlikely]] {
        throw violation(which, what);
    }
}

}  // namespace lockkeeper::sim
