#include <sys/prctl.h>

#include "proxy/app.hh"
#include "proxy/command_line.hh"
#include "proxy/fleet_check.hh"

int main(int argc, char** argv) {
    using namespace lockkeeper::proxy;

#ifdef LOCKKEEPER_KEEPS_MEMORY_PRIVATE
    // Passwords and owner tokens: in no core dump, and not for other processes of the same user.
    prctl(PR_SET_DUMPABLE, 0);
#endif
    auto wish = read_command_line(argc, argv);
    if (!wish.serve) {
        return wish.exit_code;
    }
    if (wish.check_fleet) {
        return check_fleet(std::move(*wish.serve), argc, argv);
    }
    return run(std::move(*wish.serve), argc, argv);
}
