// A gateway without a free file descriptor: its own connections say so, in a process that has none left, and a call that meets it is refused as overloaded.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { GatewayError } from "../../../src/core/errors.ts";
import type { UpstreamClient } from "../../../src/wire/upstream.ts";
import { projectFolder } from "../../harness/processes/gateway-program.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import { routedGateway, routeOf } from "../../harness/routed.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { HELLO } from "../chat-calls.ts";

const isMissing = process.platform === "win32" || Bun.which("sh") === null;
if (isMissing) console.log("skipped: there is no shell here that limits the open files of a process");

/** Opens all files that it may, sends a request to a server that is there, closes one, and sends it again. */
const PROGRAM = `
import { closeSync, openSync } from "node:fs";
import { Cancellation } from ${JSON.stringify(join(projectFolder, "src/core/concurrency/cancellation.ts"))};
import { createSocketUpstream } from ${JSON.stringify(join(projectFolder, "src/wire/http/upstream-socket.ts"))};
const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("hello") });
let shortages = 0;
const upstream = createSocketUpstream({ onShortage: () => shortages++ });
const send = async () => {
  const limits = { connectTimeoutMs: 60_000, firstByteTimeoutMs: 60_000, betweenBytesTimeoutMs: 60_000 };
  try {
    const call = { ...limits, signal: new Cancellation(), partition: "p" };
    const { body } = await upstream.send({ url: "http://127.0.0.1:" + server.port + "/", headers: {}, body: "{}" }, call);
    return await body.text(1000);
  } catch (thrown) {
    return [thrown.code ?? String(thrown), thrown.headers?.["retry-after"]];
  }
};
const open = [];
try {
  for (;;) open.push(openSync(process.execPath, "r"));
} catch {}
const without = await send();
for (const file of open) closeSync(file);
console.log(JSON.stringify({ without, shortages, later: await send() }));
process.exit(0);
`;

test.skipIf(isMissing)(
  "[d7.8] a connection for which the process has no file descriptor left is its own fault, and not the provider's",
  async () => {
    const bun = [process.execPath, "--no-install", "-e", PROGRAM];
    const child = Bun.spawn(["sh", "-c", 'ulimit -n 200; exec "$@"', "sh", ...bun], { stdout: "pipe", stderr: "pipe" });
    const [text, faults] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    expect({ faults, said: JSON.parse(text || "null") as unknown }).toEqual({
      faults: "",
      said: { without: ["gateway_overloaded", "1"], shortages: 1, later: "hello" },
    });
  },
);

test("[d7.5] [d7.8] a call that meets it is refused as overloaded, no other target is asked, and no breaker opens", async () => {
  const asked: string[] = [];
  const answering = cannedUpstream({ body: JSON.stringify(openaiAnswer("Hello")) });
  let isShort = true;
  const upstream: UpstreamClient = {
    send(request, call) {
      asked.push(new URL(request.url).host);
      return isShort
        ? Promise.reject(new GatewayError("gateway_overloaded", "None left.", { headers: { "retry-after": "1" } }))
        : answering.send(request, call);
    },
  };
  const breaker = { failures: 1, ratio: 0, windowMs: 60_000, openMs: 60_000 };
  const gateway = routedGateway([routeOf("r", ["up0:m", "up1:m"], { breaker })], {}, { upstream });
  const refused = await gateway.chat({ route: "r", messages: HELLO });
  const { error } = (await refused.json()) as { readonly error: { readonly code: string } };
  expect([refused.status, error.code, refused.headers.get("retry-after")]).toEqual([503, "gateway_overloaded", "1"]);
  isShort = false;
  expect((await gateway.chat({ route: "r", messages: HELLO })).status).toBe(200);
  expect(asked).toEqual(["up0.test", "up0.test"]);
});
