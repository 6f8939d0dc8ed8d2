"""A TCP load balancer as operators put before several proxies: each new connection goes to the next one in turn."""

import asyncio
import threading


class Balancer:
    def __init__(self, ports):
        self.ports = ports
        self.turn = 0
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self.connect, "127.0.0.1", 0, backlog=1000))
        self.port = self.server.sockets[0].getsockname()[1]
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    async def connect(self, reader, writer):
        for _ in self.ports:  # one that does not accept is passed over
            self.turn += 1
            try:
                there = await asyncio.open_connection("127.0.0.1", self.ports[self.turn % len(self.ports)])
                break
            except OSError:
                continue
        else:
            writer.transport.abort()
            return
        await asyncio.gather(self.carry(reader, there[1]), self.carry(there[0], writer))

    async def carry(self, reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.server.close()
