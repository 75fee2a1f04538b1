// The connection to the store where its other end goes without a word, as when a machine loses its power: nothing is
// refused, and nothing is answered.
import { afterAll, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { openClient } from "../../src/admission/valkey/valkey-connection.ts";
import { openValkeyLimits } from "../../src/admission/valkey/valkey.ts";
import { systemClock } from "../../src/core/clock.ts";
import { messageOf } from "../../src/core/thrown.ts";
import { accountOf, needOf, reserved } from "../contract/limit-store.suite.ts";
import { findServer, type RedisServer, startRedis } from "../harness/servers/redis-server.ts";
import { until } from "../harness/time/until.ts";

const binary = findServer("redis-server");
if (binary === null) console.log("skipped: there is no redis-server on this machine");

/** Passes on bytes in both directions, until `lose` leaves the connections of that moment open without passing on any more. */
async function startWay(port: number) {
  const passing = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      passing.add(socket);
      socket.on("error", () => socket.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lose(): void {
      for (const socket of passing) socket.unpipe().resume();
    },
    stop(): void {
      for (const socket of passing) socket.destroy();
      server.close();
    },
  };
}

describe.skipIf(binary === null)("[d4.2] a connection whose other end has gone without a word", () => {
  let redis: RedisServer | null = null;
  afterAll(() => redis?.stop());
  const opened = async () => startWay((redis ??= await startRedis()).port);

  test("is replaced after two commands' time, also where commands have timed out before", async () => {
    const way = await opened();
    const client = await openClient({ url: way.url, clusterNodes: null }, 200);
    expect(await client.ping()).toBe("PONG");
    way.lose();
    expect(await client.ping().catch(messageOf)).toBe("Command timed out");
    await until(() =>
      client.ping().then(
        () => true,
        () => false,
      ),
    );
    client.disconnect();
    way.stop();
  });

  test("holds limits up no longer than that, and nothing is counted twice", async () => {
    const way = await opened();
    const states: string[] = [];
    const store = await openValkeyLimits({
      url: way.url,
      clusterNodes: null,
      clock: systemClock,
      folder: null,
      onState: (state) => states.push(state),
    });
    const account = accountOf({ id: "lost-way", limit: 100 });
    await until(async () => {
      const given = await store.reserve([needOf(account)]);
      if (!("need" in given)) given.settle([1]);
      return !("need" in given);
    });
    way.lose();
    expect(await store.reserve([needOf(account)])).toMatchObject({ unavailable: true });
    await until(() => states.includes("back"));
    (await reserved(store, needOf(account))).settle([1]);
    await until(async () => (await store.status(account)).used === 2);
    await store.close();
    way.stop();
  });
});
