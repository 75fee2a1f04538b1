// The life of the real process: its first output, a port in use, tokens and configuration that change while it serves,
// and its end.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { chanceOf, printedSeed } from "../harness/time/chance.ts";
import { cleanEnvironment, type GatewayProcess, runCli, startGateway } from "../harness/processes/gateway-process.ts";
import { gatewayCommand, projectFolder } from "../harness/processes/gateway-program.ts";
import { type Run, runToEnd } from "../harness/processes/processes.ts";
import { readStream } from "../harness/sse.ts";
import { eventStream, openaiAnswer, openaiChunk, startUpstream } from "../harness/servers/upstream.ts";
import { rawCall } from "./raw-client.ts";
import { until } from "../harness/time/until.ts";

const ECHO = { model: "sandbox:echo", messages: [{ role: "user", content: "hello" }] } as const;
const TOKEN = /dgm_pt_\w+/g;

const statusOf = async (answer: Promise<Response>): Promise<number> => {
  const response = await answer;
  await response.body?.cancel();
  return response.status;
};
const codeOf = async (answer: Promise<Response>): Promise<string> =>
  ((await (await answer).json()) as { error: { code: string } }).error.code;

const bash = (command: string, cwd: string = tmpdir()): Promise<Run> =>
  runToEnd(["bash", "-c", command], { cwd, env: cleanEnvironment() });

describe("the first output", () => {
  test("[d2.8] of the first start contains a token, once, and a curl command that works as it is pasted, plain and streamed; a second start has neither and says how to create another", async () => {
    const dataFolder = join(mkdtempSync(join(tmpdir(), "dragoman-process-")), "data");
    const first = await startGateway({ dataFolder });
    const words = first.output();
    expect(new Set(words.match(TOKEN))).toEqual(new Set([first.firstToken!]));
    expect(words.match(/shown this once/g)).toHaveLength(1);
    const curl = /^curl .*$/m.exec(words)![0];

    const plain = await bash(`${curl} -sS`);
    expect(plain.code).toBe(0);
    expect(JSON.parse(plain.stdout)).toMatchObject({
      model: "sandbox:echo",
      choices: [{ message: { content: "Hello, Dragoman!" }, finish_reason: "stop" }],
    });
    const streamed = await bash(`${curl.replace("-d '{", `-d '{"stream": true, `)} -sS -N`);
    const read = readStream(streamed.stdout);
    expect([streamed.code, read.content, read.done, read.error]).toEqual([0, "Hello, Dragoman!", true, null]);

    expect(await first.stop()).toBe(0);
    const { firstToken } = first;
    const second = await startGateway({ dataFolder });
    expect(second.firstToken).toBeNull();
    expect(second.output()).not.toMatch(TOKEN);
    const cure = /^Another access token: (.*) --name <name>$/m.exec(second.output())![1]!;
    const made = await bash(`${cure} --name another --json`, second.folder);
    expect(made.code).toBe(0);
    const { token } = JSON.parse(made.stdout) as { token: string };
    await until(async () => (await statusOf(second.chat(ECHO, { token }))) === 200);
    expect(await statusOf(second.chat(ECHO, { token: firstToken! }))).toBe(200);
    expect(await second.stop()).toBe(0);
    rmSync(dirname(dataFolder), { recursive: true, force: true });
  });

  test("[d2.8] of the first start with the file to start from has a curl command that works as it is pasted, and no notice of what that start makes itself", async () => {
    const config = readFileSync(join(projectFolder, "examples/dragoman.yaml"), "utf8");
    const gateway = await startGateway({ config });
    const pasted = await bash(`${/^curl .*$/m.exec(gateway.output())![0]} -sS`);
    expect(JSON.parse(pasted.stdout)).toMatchObject({ choices: [{ message: { content: "Hello, Dragoman!" } }] });
    expect(await gateway.stop()).toBe(0);
    expect(gateway.output()).not.toContain("the database has no such");
    rmSync(gateway.folder, { recursive: true, force: true });
  });

  test("of the help says where settings come from and what a first start does", async () => {
    const [all, serve] = await Promise.all([runCli(["--help"]), runCli(["serve", "--help"])]);
    expect(all.stdout).toContain("Run dragoman <command> --help for its options");
    for (const words of ["prints an access token", "A flag overrides the environment", "dragoman check <config>"])
      expect(serve.stdout).toContain(words);
  });

  test("about a port in use is one line with the cure, with exit code 1, and the token that is shown once is not used up", async () => {
    const running = await startGateway();
    const { port } = new URL(running.url);
    const folder = mkdtempSync(join(tmpdir(), "dragoman-process-"));
    const refused = await runCli(["serve", "--port", port, "--data", folder], undefined, folder);
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(refused.stderr.trim().split("\n")).toHaveLength(1);
    expect(refused.stderr).toContain(`port ${port} on 127.0.0.1 is in use`);
    expect(refused.stderr).toContain("--port");
    const later = await startGateway({ dataFolder: folder });
    expect(later.firstToken).toMatch(/^dgm_pt_/);
    expect(await statusOf(later.chat(ECHO))).toBe(200);
    expect(await Promise.all([running.stop(), later.stop()])).toEqual([0, 0]);
    rmSync(folder, { recursive: true, force: true });
  });
});

describe("the end", () => {
  /** A provider that says a word every 20 ms, and answers plain calls after 600 ms. */
  const slowProvider = () =>
    startUpstream(async ({ body }) => {
      if (body["stream"] !== true) {
        await Bun.sleep(600);
        return Response.json(openaiAnswer("whole"));
      }
      const encoder = new TextEncoder();
      let words = 0;
      return new Response(
        new ReadableStream<Uint8Array>({
          async pull(controller) {
            await Bun.sleep(20);
            if (words++ < 40)
              return controller.enqueue(
                encoder.encode(`data: ${JSON.stringify(openaiChunk({ content: `w${words} ` }))}\n\n`),
              );
            controller.enqueue(encoder.encode(eventStream(openaiChunk({}, "stop"))));
            controller.close();
          },
        }),
        { headers: { "content-type": "text/event-stream" } },
      );
    });
  const config = (url: string): string => `providers:\n  mine: {type: custom, base_url: "${url}/v1"}\n`;

  test("by SIGTERM in the middle of 50 streams and 10 plain calls loses none of them, and has exit code 0", async () => {
    const upstream = slowProvider();
    const gateway = await startGateway({ config: config(upstream.url) });
    const token = gateway.firstToken!;
    const ask = { model: "mine:m", messages: ECHO.messages };
    const streams = Array.from({ length: 50 }, () =>
      rawCall({ url: gateway.url, token, body: { ...ask, stream: true } }),
    );
    await Promise.all(streams.map((stream) => stream.saw('"w1 "')));
    const plain = Array.from({ length: 10 }, async () => {
      const response = await gateway.chat(ask);
      return [
        response.status,
        ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content,
      ];
    });
    await until(() => upstream.seen.length === 60);
    const code = gateway.stop();
    await until(async () => (await statusOf(fetch(`${gateway.url}/readyz`, { keepalive: false }))) === 503);

    await Promise.all(streams.map((stream) => stream.saw("data: [DONE]\n\n")));
    for (const stream of streams) for (let word = 1; word <= 40; word++) expect(stream.text()).toContain(`"w${word} "`);
    expect(streams.filter((stream) => stream.text().includes('"error"'))).toHaveLength(0);
    expect(await Promise.all(plain)).toEqual(Array.from({ length: 10 }, () => [200, "whole"]));
    await Promise.all(streams.map((stream) => stream.ended()));
    expect(await code).toBe(0);
    expect(upstream.seen).toHaveLength(60);
    await upstream.stop();
    const calls = gateway.lines().filter((line) => line["msg"] === "call");
    expect(calls.filter((line) => line["status"] === 200)).toHaveLength(60);
  });

  test("[d8.3] [d11.1] cuts calls that do not end in time: they receive the reason before the connection closes, standard error shows their number, and the ledger that they were cut", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-cut-"));
    const upstream = startUpstream(async ({ body }) => {
      if (body["stream"] !== true || body["model"] === "silent") await Bun.sleep(60_000);
      return new Response(
        new ReadableStream<Uint8Array>({
          start: (controller) =>
            controller.enqueue(
              new TextEncoder().encode(`data: ${JSON.stringify(openaiChunk({ content: "begun " }))}\n\n`),
            ),
        }),
        { headers: { "content-type": "text/event-stream" } },
      );
    });
    const gateway = await startGateway({
      dataFolder: join(folder, "data"),
      config: `server: { drain_s: 0.2, head_hold_s: 0.05 }\n${config(upstream.url)}`,
    });
    const token = gateway.firstToken!;
    const call = (fields: object) => rawCall({ url: gateway.url, token, body: { messages: ECHO.messages, ...fields } });
    const begun = call({ model: "mine:m", stream: true });
    const silent = call({ model: "mine:silent", stream: true });
    const plain = call({ model: "mine:m" });
    await begun.saw("begun");
    // its head had to go first
    await silent.saw("keep-alive");
    await until(() => upstream.seen.length === 3);
    expect(await gateway.stop()).toBe(0);

    for (const stream of [begun, silent]) {
      await stream.ended();
      expect(stream.text()).toMatch(
        /data: \{"error":\{[^\n]*"code":"shutting_down"[^\n]*\n\n[^\n]*data: \[DONE\]\n\n/s,
      );
      // whole by its framing
      expect(stream.text()).toEndWith("0\r\n\r\n");
    }
    await plain.ended();
    expect(plain.text()).toMatch(/^HTTP\/1\.1 503 /);
    expect(plain.text()).toContain('"code":"shutting_down"');
    expect(gateway.errors()).toContain("3 calls were still in flight");
    const calls = gateway.lines().filter((line) => line["msg"] === "call");
    expect(calls.map((line) => [line["status"], line["code"], line["cancelled"] ?? false])).toEqual([
      [503, "shutting_down", false],
      [503, "shutting_down", false],
      [503, "shutting_down", false],
    ]);
    // what had reached the provider is paid for
    for (const line of calls)
      expect(line).toMatchObject({ prompt_tokens: expect.any(Number), usage_source: "estimated" });
    await upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("[d7.7] loses no call on a connection that is in use: each client is asked to close its own, and closes it", async () => {
    const gateway = await startGateway();
    const { hostname, port } = new URL(gateway.url);
    const body = JSON.stringify(ECHO);
    const request = `POST /api/v1/chat/completions HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${gateway.firstToken!}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    let answered = 0;
    const chance = chanceOf(printedSeed("pauses of clients"));
    const client = async (): Promise<string> => {
      const socket = connect({ host: hostname, port: Number(port) });
      let got = "";
      let wake = (): void => {};
      let isOver = false;
      socket.on("data", (bytes) => {
        got += bytes.toString("utf8");
        wake();
      });
      socket.on("error", () => {});
      socket.on("close", () => {
        isOver = true;
        wake();
      });
      for (;;) {
        got = "";
        socket.write(request);
        const whole = (): boolean =>
          got.includes("\r\n\r\n") &&
          got.length >=
            got.indexOf("\r\n\r\n") + 4 + Number(/content-length: (\d+)/i.exec(got)?.[1] ?? Number.POSITIVE_INFINITY);
        while (!whole() && !isOver) await new Promise<void>((resolve) => (wake = resolve));
        if (!whole()) return `lost after ${JSON.stringify(got.slice(0, 100))}`;
        answered += 1;
        if (!got.startsWith("HTTP/1.1 200 ")) return got.slice(0, 100);
        if (/^connection: close/im.test(got)) {
          socket.destroy();
          return "asked to close";
        }
        await Bun.sleep(chance.below(20));
      }
    };
    const clients = Array.from({ length: 20 }, client);
    await until(() => answered > 40);
    const code = gateway.stop();
    expect(await Promise.all(clients)).toEqual(Array.from({ length: 20 }, () => "asked to close"));
    expect(await code).toBe(0);
  });

  test("by SIGINT without calls is at once, with exit code 0", async () => {
    const gateway = await startGateway();
    const startedMs = performance.now();
    expect(await gateway.stop("SIGINT")).toBe(0);
    // without calls nothing waits for the 30 s that calls would have
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });

  test("[d8.3] [d11.1] by a second signal some time after the first cuts the remaining calls, as the end of the drain does; one right after the first counts as the same", async () => {
    const upstream = startUpstream(async ({ body }) => {
      if (body["stream"] !== true) await Bun.sleep(60_000);
      return new Response(
        new ReadableStream<Uint8Array>({
          start: (controller) =>
            controller.enqueue(
              new TextEncoder().encode(`data: ${JSON.stringify(openaiChunk({ content: "begun " }))}\n\n`),
            ),
        }),
        { headers: { "content-type": "text/event-stream" } },
      );
    });
    const gateway = await startGateway({ config: config(upstream.url) });
    const call = (fields: object) =>
      rawCall({
        url: gateway.url,
        token: gateway.firstToken!,
        body: { model: "mine:m", messages: ECHO.messages, ...fields },
      });
    const stream = call({ stream: true });
    const plain = call({});
    await stream.saw("begun");
    await until(() => upstream.seen.length === 2);
    const code = gateway.stop("SIGTERM");
    await Bun.sleep(100);
    process.kill(gateway.pid, "SIGTERM");
    await Bun.sleep(1600);
    expect(stream.text()).not.toContain("[DONE]");
    process.kill(gateway.pid, "SIGTERM");
    expect(await code).toBe(1);
    await Promise.all([stream.ended(), plain.ended()]);
    expect(stream.text()).toMatch(/data: \{"error":\{[^\n]*"code":"shutting_down"[^\n]*\n\n[^\n]*data: \[DONE\]\n\n/s);
    expect(stream.text()).toEndWith("0\r\n\r\n");
    expect(plain.text()).toMatch(/^HTTP\/1\.1 503 /);
    expect(plain.text()).toContain('"code":"shutting_down"');
    expect(gateway.errors()).toContain("2 calls were still in flight");
    expect(
      gateway
        .lines()
        .filter((line) => line["msg"] === "call")
        .map((line) => [line["status"], line["code"]]),
    ).toEqual([
      [503, "shutting_down"],
      [503, "shutting_down"],
    ]);
    await upstream.stop();
  });
});

describe("tokens", () => {
  let gateway: GatewayProcess;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.stop());
  const token = async (...args: readonly string[]): Promise<any> => {
    const done = await runCli(["token", ...args, "--data", gateway.dataFolder, "--json"]);
    if (done.code !== 0) throw new Error(done.stderr);
    return JSON.parse(done.stdout);
  };
  const knownAs = (text: string): Promise<number> =>
    statusOf(fetch(`${gateway.url}/api/v1/models`, { headers: { authorization: `Bearer ${text}` } }));
  test("[d2.6] that are created, rotated and revoked while it runs are accepted and refused; the list never has their text", async () => {
    const { id, token: text } = await token("create", "--name", "deploy");
    await until(async () => (await knownAs(text)) === 200);

    const rotated = await token("rotate", id, "--overlap-minutes", "30");
    expect(rotated).toMatchObject({ id });
    expect(rotated.token).not.toBe(text);
    await until(async () => (await knownAs(rotated.token)) === 200);
    expect(await knownAs(text)).toBe(200);

    const listed = await runCli(["token", "list", "--data", gateway.dataFolder]);
    expect(listed.stdout).toMatch(new RegExp(`${id} +deploy`));
    expect(listed.stdout).not.toMatch(TOKEN);
    expect(((await token("list")) as { id: string; state: string }[]).find((one) => one.id === id)?.state).toBe("live");

    await token("revoke", id);
    await until(async () => (await knownAs(rotated.token)) === 401);
    expect(await codeOf(gateway.chat(ECHO, { token: text }))).toBe("revoked_token");
    expect(await knownAs(gateway.firstToken!)).toBe(200);
  });

  test("that are revoked in the middle of a stream let it end", async () => {
    const { id, token: text } = await token("create", "--name", "short");
    await until(async () => (await knownAs(text)) === 200);
    const slow = gateway.chat({ ...ECHO, model: "sandbox:slow-1500", stream: true }, { token: text });
    await token("revoke", id);
    await until(async () => (await knownAs(text)) === 401);
    const read = readStream(await (await slow).text());
    expect([read.content, read.done, read.error]).toEqual(["hello", true, null]);
  });

  test("wrong commands give a one-line message and an exit code", async () => {
    for (const [args, words] of [
      [["token", "revoke", "nobody"], "nobody"],
      [["token", "create", "--name", "x", "--role", "king"], "king"],
      [["token", "create", "--name", "x", "--project", "none"], "none"],
    ] as const) {
      const done = await runCli([...args, "--data", gateway.dataFolder]);
      expect(done.code).toBeGreaterThan(0);
      expect(done.stderr.trim().split("\n")).toHaveLength(1);
      expect(done.stderr).toContain(words);
      expect(done.stderr).not.toMatch(/\bat .*:\d+/);
    }
  });

  test("[d2.8] an administrator's token may be created before the first start, which still creates and shows the project token, and works at once beside a server", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-process-"));
    const make = async (): Promise<{ readonly token: string; readonly stderr: string }> => {
      const { code, stdout, stderr } = await runCli(
        ["token", "create", "--personal", "--role", "owner", "--json"],
        cleanEnvironment(),
        folder,
      );
      expect(code).toBe(0);
      return { token: (JSON.parse(stdout) as { readonly token: string }).token, stderr };
    };
    const early = await make();
    expect(early.stderr).toContain(`data in ${join(folder, "data")}`);
    const started = await startGateway({ dataFolder: join(folder, "data") });
    const late = await make();
    expect(late.stderr).toBe("");
    for (const made of [late, early])
      expect(
        (await fetch(`${started.url}/api/v1/admin/usage`, { headers: { authorization: `Bearer ${made.token}` } }))
          .status,
      ).toBe(200);
    expect((await started.chat({ model: "sandbox:echo", messages: [{ role: "user", content: "x" }] })).status).toBe(
      200,
    );
    await started.stop();
    const again = await startGateway({ dataFolder: join(folder, "data") });
    expect(again.firstToken).toBeNull();
    await again.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("a folder without a database is an error and gets none, and so is one that cannot be created", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-process-"));
    for (const args of [
      ["token", "list"],
      ["token", "create", "--name", "x"],
      ["token", "revoke", "x"],
      ["token", "rotate", "x"],
    ]) {
      const done = await runCli([...args, "--data", join(folder, "mistyped")]);
      expect([done.code, done.stdout]).toEqual([2, ""]);
      expect(done.stderr).toContain(`There is no database in ${join(folder, "mistyped")}`);
    }
    expect(readdirSync(folder)).toEqual([]);
    writeFileSync(join(folder, "file"), "");
    const served = await runCli(["serve", "--port", "0", "--data", join(folder, "file/data")]);
    expect([served.code, served.stdout]).toEqual([2, ""]);
    expect(served.stderr).toMatch(/cannot be used: .* is a file and not a folder\. .*--data/);
    rmSync(folder, { recursive: true, force: true });
  });

  test("token commands need no configuration where the folder is named, so that no variable of it has to be set", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-process-"));
    writeFileSync(join(folder, "dragoman.yaml"), 'providers: {openai: {api_key: "${A_KEY_THAT_IS_NOT_SET}"}}\n');
    const named = await runCli(["token", "list", "--data", gateway.dataFolder], cleanEnvironment(), folder);
    expect([named.code, named.stderr]).toEqual([0, ""]);
    const unnamed = await runCli(["token", "list"], cleanEnvironment(), folder);
    expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringContaining("A_KEY_THAT_IS_NOT_SET")]);
    rmSync(folder, { recursive: true, force: true });
  });

  test("a listing whose reader stops early ends quietly", async () => {
    // the reader is gone before the first line is written
    const { code, stdout } = await bash(
      `set -o pipefail; { node ${join(projectFolder, "bin/dragoman.mjs")} params sandbox:echo 2>&3 | (exec 0<&-); } 3>&1`,
    );
    expect([code, stdout]).toEqual([0, ""]);
  });
});

describe("configuration", () => {
  const LISTED = 'providers:\n  mine: {type: custom, base_url: "http://127.0.0.1:9/v1", models: [MODEL]}\n';

  test("that changes takes effect by itself and by SIGHUP; a bad file changes nothing and is reported, with the place", async () => {
    const gateway = await startGateway({ config: LISTED.replace("MODEL", "first") });
    const file = join(dirname(gateway.dataFolder), "dragoman.yaml");
    const models = async (): Promise<readonly string[]> => {
      const response = await fetch(`${gateway.url}/api/v1/models`, {
        headers: { authorization: `Bearer ${gateway.firstToken}` },
      });
      return ((await response.json()) as { data: { id: string }[] }).data
        .map(({ id }) => id)
        .filter((id) => id.startsWith("mine:"));
    };
    const complaints = (): readonly string[] =>
      gateway
        .lines()
        .flatMap((line) => (line["level"] === "warn" && line["source"] === "file" ? [String(line["msg"])] : []));
    expect(await models()).toEqual(["mine:first"]);

    writeFileSync(file, LISTED.replace("MODEL", "second"));
    await until(async () => (await models())[0] === "mine:second");

    writeFileSync(file, "server:\n  max_body_bites: 5\n");
    await until(() => complaints().length > 0);
    expect(complaints()[0]).toMatch(/dragoman\.yaml:2:\d+.*max_body_bites.*max_body_bytes/s);
    expect(complaints()[0]).toContain("the previous configuration stays in use");
    expect(await models()).toEqual(["mine:second"]);
    expect(await statusOf(gateway.chat(ECHO))).toBe(200);

    process.kill(gateway.pid, "SIGHUP");
    await until(() => complaints().length > 1);
    expect(await models()).toEqual(["mine:second"]);

    writeFileSync(file, LISTED.replace("MODEL", "third"));
    process.kill(gateway.pid, "SIGHUP");
    await until(async () => (await models())[0] === "mine:third");
    expect(await gateway.stop()).toBe(0);
  });

  test("[d9.5] a signal to read it again, or to restart the workers, does not end a gateway that is starting", async () => {
    // a database that accepts connections and says nothing
    const asked = Promise.withResolvers<void>();
    const connections = new Set<{ end(): void }>();
    const database = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: (socket) => void connections.add(socket),
        data: () => asked.resolve(),
      },
    });
    const folder = mkdtempSync(join(tmpdir(), "dragoman-process-"));
    const child = Bun.spawn([...gatewayCommand, "serve", "--port", "0", "--data", folder], {
      cwd: folder,
      env: cleanEnvironment({
        DATABASE_URL: `postgresql://dragoman@127.0.0.1:${database.port}/dragoman`,
        DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
      }),
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    try {
      await asked.promise;
      child.kill("SIGHUP");
      child.kill("SIGUSR2");
      database.stop();
      for (const connection of connections) connection.end();
      const words = await child.stderr.text();
      expect([await child.exited, child.signalCode]).toEqual([2, null]);
      expect(words).toContain("database");
    } finally {
      child.kill("SIGKILL");
      database.stop(true);
      rmSync(folder, { recursive: true });
    }
  });

  test("that changes in the middle of a stream does not change that stream", async () => {
    const gateway = await startGateway({ config: "server: {default_timeout_s: 60}\n" });
    const file = join(dirname(gateway.dataFolder), "dragoman.yaml");
    const slow = gateway.chat({ ...ECHO, model: "sandbox:slow-1500", stream: true });
    await Bun.sleep(100);
    writeFileSync(file, "server: {default_timeout_s: 0.2, first_byte_timeout_s: 0.1}\n");
    const stalled = (): Promise<number> =>
      statusOf(gateway.chat({ ...ECHO, model: "sandbox:stall" }, { signal: AbortSignal.timeout(500) })).catch(() => 0);
    await until(async () => (await stalled()) === 504);
    expect(readStream(await (await slow).text()).content).toBe("hello");
    expect(await gateway.stop()).toBe(0);
  });
});
