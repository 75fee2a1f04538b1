// Promise 5.8 over the real process and bare sockets: bodies that never end, and answers that never end, hold no more memory than the configuration gives
// them, and one tenant no more than half of it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { chanceOf, printedSeed } from "../../harness/time/chance.ts";
import { LEAST_HELD_BYTES } from "../../../src/core/concurrency/shared-bytes.ts";
import { HeldBytes } from "../../../src/engine/call/held-bytes.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { until, untilFound } from "../../harness/time/until.ts";
import { readError } from "../chat-calls.ts";

const MIB = 1024 * 1024;
/** Room for two of them from one tenant. */
const BODY_BYTES = 2 * MIB;
const MOST_BYTES = 9 * MIB;

/** A provider that sends `bytes` of an answer and then nothing, until `end` is called. */
function stallingProvider(bytes: number) {
  const waiting: (() => void)[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: () =>
      new Response(
        new ReadableStream({
          async start(controller) {
            controller.enqueue(" ".repeat(bytes));
            await new Promise<void>((resolve) => waiting.push(resolve));
            controller.enqueue(
              JSON.stringify({
                id: "1",
                choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "late" } }],
              }),
            );
            controller.close();
          },
        }),
        { headers: { "content-type": "application/json" } },
      ),
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    asked: () => waiting.length,
    end: () => waiting.splice(0).forEach((resolve) => resolve()),
    stop: () => server.stop(true),
  };
}

let gateway: GatewayProcess;
let provider: ReturnType<typeof stallingProvider>;
let silent: ReturnType<typeof stallingProvider>;
beforeAll(async () => {
  provider = stallingProvider(BODY_BYTES);
  silent = stallingProvider(0);
  gateway = await startGateway({
    config: `server: {max_held_bytes: ${MOST_BYTES}}\nproviders: {openai: {base_url: "${provider.url}", api_key: k}, groq: {base_url: "${silent.url}", api_key: k}}\n`,
  });
});
afterAll(async () => {
  await gateway.stop("SIGKILL");
  await provider.stop();
  await silent.stop();
});

/** A request of which all but the last byte is sent. */
function stalledRequest(
  framing: "content-length" | "chunked",
  asks = "POST /api/v1/chat/completions",
  token = gateway.firstToken,
  bytes = BODY_BYTES,
): Promise<Socket> {
  const { hostname, port } = new URL(gateway.url);
  const head = `${asks} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`;
  const body = " ".repeat(bytes - 1);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) }, () =>
      socket.write(
        framing === "chunked"
          ? `${head}transfer-encoding: chunked\r\n\r\n${bytes.toString(16)}\r\n${body}`
          : `${head}content-length: ${bytes}\r\n\r\n${body}`,
        () => resolve(socket),
      ),
    );
    socket.on("error", () => {});
  });
}

const long = (model: string) => ({ model, messages: [{ role: "user", content: "x".repeat(BODY_BYTES) }] });
const small = { model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] };

/** Ends when the gateway has answered a long call so. */
function untilAnswered(status: number): Promise<Response> {
  return untilFound(async () => {
    const answer = await gateway.chat(long("sandbox:echo"));
    return answer.status === status && answer;
  }, `a long call is answered with ${status}`);
}

describe("the bytes of bodies that are still arriving", () => {
  test.each(["content-length", "chunked"] as const)(
    "[d5.8] of requests are bounded for a tenant, and are given back when their senders leave: %s",
    async (framing) => {
      const stalled = await Promise.all([stalledRequest(framing), stalledRequest(framing)]);
      try {
        const refused = await untilAnswered(503);
        const error = readError(refused.status, refused.headers, await refused.text());
        expect([error.code, refused.headers.get("retry-after")]).toEqual(["gateway_overloaded", "1"]);
        expect(error.message).toContain("server.max_held_bytes");
        // what is short goes on
        expect((await gateway.chat(small)).status).toBe(200);
      } finally {
        for (const socket of stalled) socket.destroy();
      }
      await untilAnswered(200);
    },
  );

  test("[d5.8] of long requests are bounded likewise until they are answered", async () => {
    const calls = [gateway.chat(long("groq:m")), gateway.chat(long("groq:m"))];
    await until(() => silent.asked() === calls.length);
    const refused = await gateway.chat(long("sandbox:echo"));
    const error = readError(refused.status, refused.headers, await refused.text());
    expect([error.code, refused.headers.get("retry-after")]).toEqual(["gateway_overloaded", "1"]);
    expect(error.message).toStartWith("The long requests in flight would hold more than");
    silent.end();
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200]);
    await untilAnswered(200);
  });

  test.each(["content-length", "chunked"] as const)(
    "[d5.8] of requests to the admin API count with those of calls: %s",
    async (framing) => {
      const owner = await gateway.createToken("--personal", "--role", "owner");
      const stalled = await Promise.all(
        [1, 2, 3, 4].map(() => stalledRequest(framing, "PUT /api/v1/admin/tenants/default/settings", owner, MIB)),
      );
      try {
        await untilAnswered(503);
      } finally {
        for (const socket of stalled) socket.destroy();
      }
      await untilAnswered(200);
    },
  );

  test("[d5.8] of somebody who is not known yet are few", async () => {
    for (const path of ["session", "claims"]) {
      const refused = await fetch(`${gateway.url}/console/api/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-gateway-console": "1" },
        body: JSON.stringify({ token: "x".repeat(2 * LEAST_HELD_BYTES) }),
      });
      expect([path, refused.status]).toEqual([path, 413]);
    }
  });

  test("[d5.8] of answers are bounded too, and those within the bound come to their end", async () => {
    const asking = [1, 2, 3].map(() => gateway.chat({ ...small, model: "openai:gpt-4o" }));
    await until(() => provider.asked() === 3, "all calls have reached the provider");
    // three of them have no room, so the one that needs it when there is none left makes room for the others
    const refused = await Promise.race(asking);
    const error = readError(refused.status, refused.headers, await refused.text());
    expect([error.code, refused.headers.get("retry-after")]).toEqual(["gateway_overloaded", "1"]);
    provider.end();
    const statuses = await Promise.all(asking.map(async (answer) => (await answer).status));
    expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 200, 503]);
    expect(provider.asked()).toBe(0);
    await untilAnswered(200);
  });
});

describe("the account of held bytes", () => {
  test("[d5.8] is what was held and not released, of the process and of each tenant, in any order", () => {
    const chance = chanceOf(printedSeed("held bytes"));
    const account = new HeldBytes(() => "There is no room.");
    const bound = { maxHeldBytes: 100 * LEAST_HELD_BYTES };
    const held: { readonly tenant: string; readonly bytes: number }[] = [];
    const sum = (tenant?: string): number =>
      held.filter((one) => tenant === undefined || one.tenant === tenant).reduce((all, one) => all + one.bytes, 0);
    let refusals = 0;
    for (let step = 0; step < 3000; step++) {
      if (held.length > 0 && chance.perMille(400)) {
        const [gone] = held.splice(chance.below(held.length), 1);
        account.release(gone!.tenant, gone!.bytes);
        continue;
      }
      const one = { tenant: chance.pick(["a", "b", "c"]), bytes: 1 + chance.below(20 * LEAST_HELD_BYTES) };
      const fits =
        sum() + one.bytes <= bound.maxHeldBytes && sum(one.tenant) + one.bytes <= Math.floor(bound.maxHeldBytes / 2);
      const hold = (): void => account.hold(one.tenant, one.bytes, bound);
      if (fits) {
        hold();
        held.push(one);
      } else {
        expect(hold).toThrow("There is no room.");
        refusals++;
      }
    }
    expect(refusals).toBeGreaterThan(100);
  });
});
