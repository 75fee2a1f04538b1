// `dragoman health` as a container engine runs it: against a gateway, one that drains, and what is no gateway.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer, type Server, type Socket } from "node:net";
import { cleanEnvironment, type GatewayProcess, runCli, startGateway } from "../harness/processes/gateway-process.ts";

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

async function silentServer(): Promise<{ readonly url: string; close(): void }> {
  const open = new Set<Socket>();
  const server: Server = createServer((socket) => void open.add(socket));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as { readonly port: number }).port}`,
    close() {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

describe("dragoman health", () => {
  test("says that a gateway accepts calls, and ends with 0", async () => {
    expect(await runCli(["health", "--url", gateway.url])).toMatchObject({ stdout: "ready\n", code: 0 });
    expect(await runCli(["health", "--live", "--url", gateway.url])).toMatchObject({ stdout: "live\n", code: 0 });
  });

  test("finds the gateway of its environment, past any proxy", async () => {
    const environment = { PORT: new URL(gateway.url).port, DRAGOMAN_HOST: "0.0.0.0", HTTP_PROXY: "http://127.0.0.1:1" };
    expect(await runCli(["health"], cleanEnvironment(environment))).toMatchObject({ stdout: "ready\n", code: 0 });
  });

  test("ends with 1 and says why, where nothing listens, nothing answers, or another server does", async () => {
    const silent = await silentServer();
    const other = Bun.serve({ port: 0, fetch: () => new Response("busy", { status: 503 }) });
    const [nobody, never, elsewhere] = await Promise.all(
      ["http://127.0.0.1:1", silent.url, other.url.href].map((url) => runCli(["health", "--url", url])),
    );
    silent.close();
    await other.stop(true);
    expect(nobody).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("http://127.0.0.1:1/readyz cannot be read"),
    });
    expect(never).toMatchObject({ code: 1, stderr: expect.stringContaining("cannot be read") });
    expect(elsewhere).toMatchObject({ code: 1, stderr: expect.stringContaining("answered 503: busy") });
  });
});
