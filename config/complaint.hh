#pragma once

#include <functional>
#include <string>

namespace YAML {
class Node;
struct Mark;
}  // namespace YAML

namespace lockkeeper::config {

/// Says what is wrong with a place of the file.
using complaint = std::function<void(const YAML::Mark&, std::string)>;

}  // namespace lockkeeper::config
