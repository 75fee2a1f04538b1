// The console's server side in the real process: sessions over sockets, across workers and restarts, and the calls that are
// made with them.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConsoleBrowser, consoleBrowser } from "../harness/console/browser.ts";
import { type GatewayProcess, runCli, startGateway } from "../harness/processes/gateway-process.ts";
import { until } from "../harness/time/until.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-console-"));
const start = (): Promise<GatewayProcess> =>
  startGateway({ dataFolder: join(folder, "data"), environment: { DRAGOMAN_WORKERS: "2" } });
/** Each request on a connection of its own, which any of the workers may get. */
const open = (gateway: GatewayProcess): ConsoleBrowser =>
  consoleBrowser({
    origin: gateway.url,
    send: (request) =>
      fetch(request, { keepalive: false, headers: { ...Object.fromEntries(request.headers), connection: "close" } }),
  });
const ASK = { model: "sandbox:echo", messages: [{ role: "user", content: "Hello, console!" }] };

let gateway: GatewayProcess;
let token: string;
beforeAll(async () => {
  gateway = await start();
  token = await gateway.createToken("--personal", "--role", "owner");
});
afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("a session of the console", () => {
  test("[d14.2] is known to every worker, survives a restart, and ends everywhere", async () => {
    const browser = open(gateway);
    expect((await browser.login(token)).status).toBe(200);
    const all = async (status: number): Promise<void> => {
      const asked = await Promise.all(Array.from({ length: 20 }, () => browser.ask("GET", "/console/api/v1/key")));
      expect(new Set(asked.map((one) => one.status))).toEqual(new Set([status]));
    };
    await all(200);
    const cookies = [...browser.cookies];
    await gateway.stop();
    gateway = await start();
    // the port is another one, and with it the name of the cookie
    const later = open(gateway);
    later.cookies.set(`dragoman_session_${new URL(gateway.url).port}`, cookies[0]![1]);
    const again = async (status: number): Promise<void> => {
      const asked = await Promise.all(Array.from({ length: 20 }, () => later.ask("GET", "/console/api/v1/key")));
      expect(new Set(asked.map((one) => one.status))).toEqual(new Set([status]));
    };
    await again(200);
    const secret = [...later.cookies];
    expect((await later.ask("DELETE", "/console/api/session")).status).toBe(204);
    for (const [name, value] of secret) later.cookies.set(name, value);
    await again(401);
  });

  test("[d14.1] calls models as its user, plain and streamed, without a token", async () => {
    const browser = open(gateway);
    await browser.login(token);
    const plain = await browser.ask("POST", "/console/api/v1/chat/completions", ASK);
    expect([plain.status, plain.body.choices[0].message.content]).toEqual([200, "Hello, console!"]);
    expect(plain.headers.get("cache-control")).toBe("no-store");
    const streamed = await browser.ask("POST", "/console/api/v1/chat/completions", { ...ASK, stream: true });
    expect([streamed.status, streamed.text]).toEqual([200, expect.stringContaining("data: [DONE]")]);
    expect((await browser.ask("GET", "/console/api/v1/models")).body.data.length).toBeGreaterThan(0);
    await until(() => gateway.lines().filter((line) => line["status"] === 200 && line["user"] === "owner").length >= 2);
    const foreign = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
    const refused = await browser.ask("POST", "/console/api/v1/chat/completions", ASK, foreign);
    expect([refused.status, refused.body.error.code]).toEqual([403, "console_refused"]);
    expect((await browser.ask("POST", "/api/v1/chat/completions", ASK)).status).toBe(401);
  });

  test("[d14.2] ends within a second after its token is revoked on the command line", async () => {
    const browser = open(gateway);
    const own = await gateway.createToken("--personal", "--role", "owner");
    expect((await browser.login(own)).status).toBe(200);
    const [, id] = /dgm_ut_(\w{12})/.exec(own)!;
    expect((await runCli(["token", "revoke", id!, "--data", gateway.dataFolder])).code).toBe(0);
    await until(async () => (await browser.ask("GET", "/console/api/v1/key")).status === 401);
  });
});

test("a gateway that other machines reach serves no console unless the configuration says so", async () => {
  const opened = await startGateway({ flags: ["--host", "0.0.0.0"] });
  try {
    const port = new URL(opened.url).port;
    const response = await fetch(`http://127.0.0.1:${port}/console/`);
    expect([response.status, await response.text()]).toEqual([404, expect.stringContaining("console.enabled")]);
  } finally {
    await opened.stop();
  }
});
