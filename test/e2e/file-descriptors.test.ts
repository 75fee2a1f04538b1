// A gateway without a free file descriptor: the real process under a low limit of open files, all of which idle clients hold.
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { startGateway } from "../harness/gateway-process.ts";
import { gatewayCommand } from "../harness/gateway-program.ts";
import { until } from "../harness/until.ts";
import { openaiAnswer, startUpstream } from "../harness/upstream.ts";
import { rawCall } from "./raw-client.ts";

const isMissing = !existsSync("/proc/self/fd");
if (isMissing) console.log("skipped: this system does not tell which files a process has open");

const MOST_OPEN = 256;
/** Files that a process opens and closes again all the time. */
const SPARE = 3;

test.skipIf(isMissing)(
  "[d7.5] [d7.8] a call for which the gateway has no file descriptor left is refused as overloaded, with a warning of what is needed, and no provider is blamed",
  async () => {
    const providers = ["first", "second"].map((name) => startUpstream(() => Response.json(openaiAnswer(name))));
    const [first, second] = providers;
    const gateway = await startGateway({
      command: ["sh", "-c", `ulimit -n ${MOST_OPEN}; exec "$@"`, "sh", ...gatewayCommand],
      config: `
server: { max_concurrent_calls: 700 }
providers:
  first: { type: custom, base_url: "${first!.url}/v1", api_key: key, models: [m] }
  second: { type: custom, base_url: "${second!.url}/v1", api_key: key, models: [m] }
routes:
  chat: { targets: [{ model: "first:m", order: 1 }, { model: "second:m", order: 2 }], breaker: { failures: 1, open_ms: 60000 } }
`,
    });
    const body = { route: "chat", messages: [{ role: "user", content: "Hello" }] };
    const open = (): number => readdirSync(`/proc/${gateway.pid}/fd`).length;
    const idle: Socket[] = [];
    const filled = Promise.withResolvers<void>();
    try {
      // the ledger opens its file for the first call
      expect((await gateway.chat({ ...body, model: "sandbox:echo", route: undefined })).status).toBe(200);
      const call = rawCall({ url: gateway.url, token: gateway.firstToken!, body, after: filled.promise });
      await new Promise<void>((resolve) => call.socket.once("connect", () => resolve()));
      const { hostname, port } = new URL(gateway.url);
      for (let count = 0; count < MOST_OPEN; count++)
        idle.push(connect({ host: hostname, port: Number(port) }).on("error", () => {}));
      await until(
        () => open() >= MOST_OPEN - SPARE,
        () => `all ${MOST_OPEN} files are open: ${open()}`,
      );
      filled.resolve();
      await call.ended();
      expect(call.text()).toStartWith("HTTP/1.1 503 ");
      expect(call.text().toLowerCase()).toContain("\r\nretry-after: 1\r\n");
      expect(call.text()).toContain('"code":"gateway_overloaded"');
      expect(providers.map(({ seen }) => seen.length)).toEqual([0, 0]);
      for (const socket of idle) socket.destroy();
      await until(
        () => open() < MOST_OPEN / 2,
        () => `the idle clients are gone: ${open()}`,
      );
      const needed = (): readonly unknown[] =>
        gateway.lines().flatMap((line) => (line["level"] === "warn" && "needed" in line ? [line["needed"]] : []));
      await until(() => needed().length > 0, "the log warns");
      expect(needed()).toEqual([2400]);
      const answer = await gateway.chat(body);
      expect([answer.status, await answer.json()]).toMatchObject([
        200,
        { choices: [{ message: { content: "first" } }] },
      ]);
    } finally {
      for (const socket of idle) socket.destroy();
      expect(await gateway.stop()).toBe(0);
      for (const provider of providers) await provider.stop();
    }
  },
);
