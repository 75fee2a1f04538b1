// The contract of upstream clients on both drivers, and what only the one over fetch has.
import { describe, expect, test } from "bun:test";
import { heapStats } from "bun:jsc";
import { join } from "node:path";
import { UpstreamFault } from "../../src/wire/upstream.ts";
import { assertFetchConcurrency, createFetchUpstream, requiredEnvironment } from "../../src/wire/upstream-fetch.ts";
import { createSocketUpstream } from "../../src/wire/upstream-socket.ts";
import { CHUNKED_HEAD, LAST_CHUNK, answering, chunk, plain, rawServer } from "./raw-server.ts";
import { post, send } from "./upstream-calls.ts";
import { upstreamClientSuite } from "./upstream-client.suite.ts";

/** bun test does not take the variable over from the environment, so this runs in a process of its own. */
async function hangingCalls(requestsAtOnce: string): Promise<{ readonly exitCode: number; readonly output: string }> {
  const program = Bun.spawn([process.execPath, join(import.meta.dir, "hanging-calls.ts")], {
    env: { ...process.env, [requiredEnvironment]: requestsAtOnce },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, exitCode] = await Promise.all([program.stdout.text(), program.stderr.text(), program.exited]);
  return { exitCode, output: out + err };
}

upstreamClientSuite("fetch", createFetchUpstream, async () => {
  expect(await hangingCalls("65535")).toEqual({ exitCode: 0, output: "no call was held up\n" });
});

upstreamClientSuite("sockets", createSocketUpstream);

describe("fetch upstream", () => {
  test("a proxy is used where one is configured, and never because the environment names one", async () => {
    await using proxy = await answering(plain("through the proxy"));
    await using server = await answering(plain("direct"));
    expect(await post(createFetchUpstream({ proxy: `http://127.0.0.1:${proxy.port}` }), server.url)).toBe(
      "through the proxy",
    );
    expect(proxy.requests[0]?.head).toStartWith(`POST ${server.url} HTTP/1.1\r\n`);
    const before = process.env["HTTP_PROXY"];
    process.env["HTTP_PROXY"] = `http://127.0.0.1:${proxy.port}`;
    try {
      // Shows that fetch itself would take it.
      expect(await (await fetch(server.url)).text()).toBe("through the proxy");
      expect(await post(createFetchUpstream(), server.url)).toBe("direct");
    } finally {
      if (before === undefined) delete process.env["HTTP_PROXY"];
      else process.env["HTTP_PROXY"] = before;
    }
  });

  test("[d2.9] behind a proxy too no connection serves two partitions, and one that is framed wrongly is not used again", async () => {
    await using proxy = await rawServer(
      (socket, { connection, number }) =>
        void socket.write(
          number === 9 ? "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n" : plain(String(connection)),
        ),
    );
    const client = createFetchUpstream({ proxy: `http://127.0.0.1:${proxy.port}` });
    const on = async (partition: string): Promise<string> => post(client, "http://provider.example/v1", { partition });
    const seen: string[] = [];
    for (let round = 0; round < 4; round++) for (const partition of ["a", "b"]) seen.push(await on(partition));
    expect(seen).toEqual(["1", "2", "1", "2", "1", "2", "1", "2"]);
    expect([await on("a"), await on("a"), await on("b")]).toEqual(["", "3", "2"]);
  });

  test("a request that fetch itself refuses is an error of ours, no fault of the provider", async () => {
    const call = {
      connectTimeoutMs: 500,
      firstByteTimeoutMs: 500,
      betweenBytesTimeoutMs: 500,
      signal: new AbortController().signal,
      partition: "p",
    };
    const outcome = await createFetchUpstream()
      .send({ url: "http://127.0.0.1:1/", headers: { "x-broken": "a\r\nb" }, body: "{}" }, call)
      .catch((thrown: unknown) => thrown);
    expect(outcome).toBeInstanceOf(TypeError);
    expect(outcome).not.toBeInstanceOf(UpstreamFault);
  });

  test("no objects of ended calls stay behind", async () => {
    const client = createFetchUpstream();
    await using server = await rawServer((socket, request) => {
      if (request.number % 4 === 0) socket.write(plain("{}"));
      else if (request.number % 4 === 1) socket.write(CHUNKED_HEAD + chunk("hello") + LAST_CHUNK);
      else if (request.number % 4 === 2) socket.end(CHUNKED_HEAD + chunk("hello"));
      else socket.write(CHUNKED_HEAD + chunk("hello"));
    });
    // One signal for all: what a call left on it would keep the call.
    const { signal } = new AbortController();
    const count = (): number => {
      Bun.gc(true);
      const { objectTypeCounts } = heapStats();
      return (
        (objectTypeCounts["Exchange"] ?? 0) +
        (objectTypeCounts["AbortController"] ?? 0) +
        (objectTypeCounts["Response"] ?? 0)
      );
    };
    const before = count();
    for (let index = 0; index < 400; index++) {
      const { body } = await send(client, server.url, { signal });
      if (index % 2 === 0) await body.read().catch(() => undefined);
      body.cancel();
    }
    await Bun.sleep(100);
    expect(count() - before).toBeLessThan(20);
  });

  test("without the variable they would: that is why the process does not start without it", async () => {
    const { exitCode, output } = await hangingCalls("256");
    expect(exitCode).not.toBe(0);
    expect(output).toContain("the call was held up");
  }, 20_000);

  test("the process does not start with fetch's bound of 256 requests", () => {
    expect(requiredEnvironment).toBe("BUN_CONFIG_MAX_HTTP_REQUESTS");
    for (const value of ["257", "2000", "65535"]) expect(() => assertFetchConcurrency(value)).not.toThrow();
    for (const value of [undefined, "", "0", "1", "256", "65536", "100000", "-300", "300.5", "3e2", "many", " 300"])
      expect(() => assertFetchConcurrency(value)).toThrow(requiredEnvironment);
  });
});
