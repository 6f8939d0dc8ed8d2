# Two stages: everything that building needs, then a small image with the server and its libraries.
#
#   docker build -t lockkeeper .
#   docker run --rm -p 127.0.0.1:6380:6380 --read-only --cap-drop ALL lockkeeper -c 2 -m 256M

FROM debian:12 AS build

# What the project asks of a machine; the scripts bring the rest.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates make \
    && rm -rf /var/lib/apt/lists/*

ENV LOCKKEEPER_CACHE=/opt/lockkeeper
WORKDIR /src

# Packages and Seastar take minutes and change seldom: a layer that depends on these files only.
COPY scripts/lib.sh scripts/packages.txt scripts/setup scripts/seastar scripts/seastar-precompiled.cmake scripts/
RUN scripts/setup build && scripts/seastar release

COPY . .
RUN scripts/build release lockkeeper \
    && DESTDIR=/stage cmake --install build/release --prefix /usr/local


FROM debian:12-slim

LABEL org.opencontainers.image.title="Lockkeeper" \
      org.opencontainers.image.description="A lock proxy for Redis" \
      org.opencontainers.image.licenses="Apache-2.0"

# The packages of the libraries that `readelf -d lockkeeper` names as needed, and the authorities that sign the
# certificates of masters (masters.tls_ca).
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates \
        libatomic1 \
        libboost-atomic1.81.0 \
        libboost-chrono1.81.0 \
        libboost-program-options1.81.0 \
        libboost-thread1.81.0 \
        libc-ares2 \
        libfmt9 \
        libgnutls30 \
        libhwloc15 \
        liblz4-1 \
        libprotobuf32 \
        libsctp1 \
        libstdc++6 \
        liburing2 \
        libyaml-cpp0.7 \
    && rm -rf /var/lib/apt/lists/*

COPY --from=build /stage/usr/local/ /usr/local/
# A library that is missing shall fail the build of the image, not its first start.
RUN lockkeeper --version

# Nobody in particular: no name, no home, nothing to write to. The root file system may be read-only.
USER 65532:65532

EXPOSE 6380

# bash speaks TCP by itself; no client in the image is needed for a PING. With users in the configuration it is answered
# -NOAUTH, which tells as much.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \
    CMD ["/bin/bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/6380 && printf 'PING\\r\\n' >&3 && read -r -t 2 reply <&3 && [[ $reply == +PONG* || $reply == -NOAUTH* ]]"]

# Drains: replies under way are written before the process ends.
STOPSIGNAL SIGTERM

# A container's loopback address reaches nobody, and everybody else comes from outside: without users in the
# configuration, mind where the port is published.
ENTRYPOINT ["/usr/local/bin/lockkeeper", "--address", "0.0.0.0", "--no-protected-mode"]
