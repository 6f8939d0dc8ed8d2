#include "proxy/app.hh"
#include "proxy/command_line.hh"
#include "proxy/fleet_check.hh"

int main(int argc, char** argv) {
    using namespace lockkeeper::proxy;

    auto wish = read_command_line(argc, argv);
    if (!wish.serve) {
        return wish.exit_code;
    }
    if (wish.check_fleet) {
        return check_fleet(std::move(*wish.serve), argc, argv);
    }
    return run(std::move(*wish.serve), argc, argv);
}
