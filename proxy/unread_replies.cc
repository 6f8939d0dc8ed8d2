#include "proxy/unread_replies.hh"

#include <linux/tcp.h>
#include <netinet/in.h>

#include <system_error>

namespace lockkeeper::proxy {

delivery delivery_on(const seastar::connected_socket& socket) {
    constexpr uint8_t closed = 7;  // TCP_CLOSE, which linux/tcp.h does not name
    tcp_info about{};
    try {
        socket.get_sockopt(IPPROTO_TCP, TCP_INFO, &about, sizeof about);
    } catch (const std::system_error&) {
        return delivery::failed;
    }
    if (about.tcpi_state == 0) {
        return delivery::failed;  // it is no connection of TCP
    }
    if (about.tcpi_state == closed) {
        // What was under way at a reset is not counted any more, only what ever was.
        const auto sent = about.tcpi_bytes_sent - about.tcpi_bytes_retrans;
        return about.tcpi_bytes_acked >= sent ? delivery::done : delivery::failed;
    }
    return about.tcpi_unacked == 0 && about.tcpi_notsent_bytes == 0 ? delivery::done
                                                                    : delivery::under_way;
}

}  // namespace lockkeeper::proxy
