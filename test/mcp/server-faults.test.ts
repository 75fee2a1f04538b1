// Tool servers that fail, contradict themselves or send too much: what calls see, how soon, and that the next call is
// served again.
import { afterEach, describe, expect, test } from "bun:test";
import { Cancellation } from "../../src/core/concurrency/cancellation.ts";
import type { ToolServer, ToolServerSet } from "../../src/core/configured/tool.ts";
import type { Principal } from "../../src/core/identity.ts";
import { toolServerFor } from "../../src/engine/tools/requested-tool-server.ts";
import { closeFaultyTools, failure, openFaultyTools as world, tool } from "../harness/tools/faulty-tools.ts";
import { ASKER, openToolServer, said } from "../harness/tools/tool-server.ts";
import { until } from "../harness/time/until.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await closeFaultyTools();
  for (const close of closing.splice(0)) await close();
});

describe("a tool that", () => {
  test("[d10.4] is slower than its time fails with tool_timeout, and its server is asked to stop", async () => {
    let stopped = false;
    const { call, end, connect } = world(
      {
        tools: [
          tool("slow", async ({ signal }) => {
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            stopped = true;
            return said("late");
          }),
        ],
      },
      { timeoutMs: 2000 },
    );
    await connect();
    const error = await failure(call("slow"));
    expect([error.code, error.message]).toEqual(["tool_timeout", "The tool server faulty did not answer in time."]);
    await until(() => stopped && end.sent.at(-1)?.message["method"] === "notifications/cancelled");
  });

  test("reports progress does not get more time for it", async () => {
    const { call, connect } = world(
      {
        tools: [
          tool("busy", async ({ notify, signal }) => {
            while (!signal.aborted) {
              notify("notifications/progress", { progressToken: 0, progress: 1 });
              await Bun.sleep(20);
            }
            return said("late");
          }),
        ],
      },
      { timeoutMs: 1000 },
    );
    await connect();
    // it says so for ever, so that only the time of the call ends it
    expect((await failure(call("busy"))).code).toBe("tool_timeout");
  });

  test("is cancelled ends with the caller's reason, and its server is notified", async () => {
    let [begun, stopped] = [false, false];
    const { call } = world({
      tools: [
        tool("slow", async ({ signal }) => {
          begun = true;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          stopped = true;
          return said("late");
        }),
      ],
    });
    const signal = new Cancellation();
    const gone = new Error("the client left");
    const cancelled = call("slow", {}, signal).catch((thrown: unknown) => thrown);
    await until(() => begun);
    signal.abort(gone);
    expect(await cancelled).toBe(gone);
    await until(() => stopped);
  });

  test("breaks off in the middle is reported at once, and the next call is served", async () => {
    let breaks = true;
    const { call } = world({
      tools: [
        tool("frail", async ({ notify }) => {
          notify("notifications/message", { level: "info", data: "here" });
          return breaks ? { break: true } : said("whole");
        }),
      ],
    });
    // a call that waited for the rest would end as tool_timeout
    expect((await failure(call("frail"))).code).toBe("tool_server_failed");
    breaks = false;
    expect(await call("frail")).toBe("whole");
  });

  test("[d10.4] has a response that holds no answer to its call is reported at once, and the next call is served", async () => {
    const others = [
      "[]",
      '{"jsonrpc":"2.0","id":9999,"result":{"content":[]}}',
      '{"jsonrpc":"2.0","method":"notifications/x"}',
    ];
    const responses = others.values();
    const { call } = world({
      tools: [tool("absent", () => ({ raw: responses.next().value! })), tool("echo", undefined)],
    });
    for (const other of others) {
      const { code, detail } = await failure(call("absent"));
      expect([other, code, detail]).toEqual([
        other,
        "tool_server_failed",
        expect.stringContaining("has no answer to the request"),
      ]);
    }
    expect(await call("echo", {})).toBe("{}");
  });

  test("[d10.4] answers to the number of its call as a text is answered, and no fault is logged", async () => {
    const { call, end, told } = world({
      tools: [
        tool("json", () => ({ raw: answer() })),
        tool("stream", () => ({ raw: `data: ${answer()}\n\n`, contentType: "text/event-stream" })),
      ],
    });
    const answer = (): string =>
      JSON.stringify({ jsonrpc: "2.0", id: JSON.stringify(end.sent.at(-1)!.message["id"]), result: said("here") });
    for (const name of ["json", "stream", "json"]) expect(await call(name)).toBe("here");
    expect(told).toEqual([]);
  });

  test("[d11.3] sends a result, or progress, for which nothing waits leaves none of it in the log", async () => {
    const { call, end, told } = world({
      tools: [
        tool("twice", () => ({
          raw: [answer(7777), progress, unknown, answer(end.sent.at(-1)!.message["id"])].map(asEvent).join(""),
          contentType: "text/event-stream",
        })),
      ],
    });
    const result = said("the salary of Ada");
    const answer = (id: unknown) => ({ jsonrpc: "2.0", id, result });
    const params = { progressToken: 7777, progress: 1, message: "reading the salary of Ada" };
    const progress = { jsonrpc: "2.0", method: "notifications/progress", params };
    const unknown = { jsonrpc: "2.0", salary: "the salary of Ada" };
    const asEvent = (message: object): string => `data: ${JSON.stringify(message)}\n\n`;
    expect(await call("twice")).toBe("the salary of Ada");
    await until(() => told.some((line) => line.includes("an unknown token")));
    expect(told.join("\n")).toContain("an unknown message ID");
    expect(told.join("\n")).not.toContain("Ada");
  });

  test("answers a hundred megabytes is cut off soon after the bound, not read to its end", async () => {
    const { call, end } = world({
      tools: [tool("giant", () => ({ flood: 100 * 1024 * 1024 })), tool("echo", undefined)],
    });
    const error = await failure(call("giant"));
    expect([error.code, error.detail]).toEqual(["tool_server_failed", expect.stringContaining("larger than")]);
    await Bun.sleep(100);
    expect(end.floodedBytes).toBeLessThan(16 * 1024 * 1024);
    expect(await call("echo", { a: 1 })).toBe('{"a":1}');
  });

  test("sends one message that is larger than its result may be, or more than is read in one call, is cut off", async () => {
    const { call } = world({
      tools: [
        tool("shouts", ({ notify }) => {
          notify("notifications/message", { level: "info", data: "x".repeat(1024 * 1024) });
          return said("done");
        }),
        tool("chatters", async ({ notify, signal }) => {
          for (let count = 0; count < 500 && !signal.aborted; count++) {
            notify("notifications/message", { level: "info", data: "x".repeat(30_000) });
            if (count % 20 === 0) await Bun.sleep(1);
          }
          return said("done");
        }),
        tool("echo", undefined),
      ],
    });
    // a call that was read on would end as tool_timeout
    for (const name of ["shouts", "chatters"])
      expect([name, (await failure(call(name))).code]).toEqual([name, "tool_server_failed"]);
    expect(await call("echo", {})).toBe("{}");
  });

  test("answers with invalid JSON, no message, or no result fails, and others are served", async () => {
    const { call } = world({
      tools: [
        tool("text", () => ({ raw: "<html>", contentType: "text/html" })),
        tool("broken", () => ({ raw: '{"jsonrpc":' })),
        tool("foreign", () => ({ raw: '{"hello":1}' })),
        tool("odd", () => ({ content: "none" })),
        tool("error", () => ({ raw: "boom at http://inside.example/?key=secret", status: 500 })),
        tool("echo", undefined),
      ],
    });
    for (const name of ["text", "broken", "foreign", "odd", "error"]) {
      const error = await failure(call(name));
      expect([name, error.code, error.message]).toEqual([name, "tool_server_failed", "The tool server faulty failed."]);
    }
    expect(await call("echo", {})).toBe("{}");
  });

  test("is refused by its server gives a result that says so", async () => {
    const { call } = world();
    expect(await call("nobody")).toContain("error: ");
  });

  test("asks for elicitation, sampling or roots is refused, and can go on", async () => {
    const { call, end } = world({
      tools: [
        tool("asks", async ({ ask, args }) =>
          said(JSON.stringify(((await ask(args["method"] as string, {})) as { error?: unknown }).error ?? "granted")),
        ),
      ],
    });
    for (const method of ["elicitation/create", "sampling/createMessage", "roots/list"])
      expect(await call("asks", { method })).toContain("Method not found");
    expect(end.sent[1]?.message["params"] ?? end.sent[0]?.message["params"]).toMatchObject({ capabilities: {} });
  });
});

describe("a server that", () => {
  test("has forgotten the session is called over a new one, once, and nothing runs twice", async () => {
    let runs = 0;
    const { call, end, told, servers } = world({ tools: [tool("count", () => said(String(++runs)))] });
    let changes = 0;
    servers.onListChanged(() => (changes += 1));
    expect(await call("count")).toBe("1");
    end.forget();
    expect(await call("count")).toBe("2");
    expect(told.join()).toContain("does not know the session any more");
    // it may have other tools now
    expect(changes).toBe(1);
  });

  test("is down fails with a message that names no host, and serves again when it is back", async () => {
    const { call, end, server } = world();
    expect(await call("echo", {})).toBe("{}");
    await end.stop();
    const error = await failure(call("echo"));
    expect([error.code, error.message]).toEqual(["tool_server_failed", "The tool server faulty failed."]);
    const again = openToolServer({ port: end.port });
    closing.push(() => again.stop());
    expect(await call("echo", { at: server.label })).toBe('{"at":"faulty"}');
  });

  test("[d2.12] redirects to a metadata address is not followed there", async () => {
    const { call } = world({
      respond: () =>
        new Response(null, { status: 307, headers: { location: "http://169.254.169.254/latest/meta-data/" } }),
    });
    const error = await failure(call("echo"));
    expect([error.code, error.detail]).toEqual(["tool_server_failed", expect.stringContaining("redirect (307)")]);
  });

  test("[d2.12] stands at a private address that is not the operator's is not called", async () => {
    const { call, end } = world({}, {}, { guarded: true });
    const error = await failure(call("echo"));
    expect([error.code, end.sent.length]).toEqual(["address_not_allowed", 0]);
    expect(error.message).toMatch(/^The host of `url` .*`providers\.allow_private_addresses: true`/);
    const allowed = world({}, {}, { guarded: true }, { allowPrivateAddresses: () => true });
    expect(await allowed.call("echo", {})).toBe("{}");
  });

  test("has a name that cannot be looked up fails like one that is down", async () => {
    const { call } = world({}, {}, { guarded: true, url: "http://tools.invalid/mcp" });
    const error = await failure(call("echo"));
    expect([error.code, error.message, error.detail]).toEqual([
      "tool_server_failed",
      "The tool server faulty failed.",
      expect.stringContaining("tools.invalid"),
    ]);
  });

  test("needs a token gets one, and another when it refuses that", async () => {
    const { end, servers, server } = world({ secret: "s3cret: +%" });
    const oauth = {
      tokenUrl: end.url.replace("/mcp", "/token"),
      clientId: "gateway",
      clientSecret: "s3cret: +%",
      clientAuth: "post",
      scope: null,
      audience: null,
    } as const;
    const known = { ...server, key: "with a token", transport: { ...server.transport, oauth } } as ToolServer;
    const call = (): Promise<unknown> => servers.call(known, "echo", {}, new Cancellation(), ASKER);
    await call();
    await call();
    expect(end.tokensIssued).toBe(1);
    end.refuseTokens();
    await call();
    expect(end.tokensIssued).toBe(2);
    const inHeader = {
      ...server,
      key: "in the header",
      transport: { ...server.transport, oauth: { ...oauth, clientAuth: "basic" } },
    } as ToolServer;
    expect((await servers.call(inHeader, "echo", {}, new Cancellation(), ASKER)).isError).toBe(false);
    const wrong = {
      ...server,
      key: "with a wrong one",
      transport: { ...server.transport, oauth: { ...oauth, clientSecret: "wrong-secret" } },
    } as ToolServer;
    const error = await failure(servers.call(wrong, "echo", {}, new Cancellation(), ASKER));
    expect([error.code, error.message, error.detail?.includes("wrong-secret")]).toEqual([
      "tool_server_failed",
      "The tool server faulty failed.",
      false,
    ]);
  });

  test("[d2.12] has its tokens from a private address that is not the operator's is not called, and neither is that address", async () => {
    const { end, servers, server } = world(
      { secret: "s3cret" },
      {},
      { guarded: true, url: "http://93.184.215.14:9/mcp" },
    );
    const oauth = {
      tokenUrl: end.url.replace("/mcp", "/token"),
      clientId: "gateway",
      clientSecret: "s3cret",
      clientAuth: "post",
      scope: null,
      audience: null,
    } as const;
    const error = await failure(
      servers.call(
        { ...server, transport: { ...server.transport, oauth } } as ToolServer,
        "echo",
        {},
        new Cancellation(),
        ASKER,
      ),
    );
    expect([error.code, end.tokensIssued]).toEqual(["address_not_allowed", 0]);
    expect(error.message).toMatch(/^The host of `oauth\.token_url` .*`providers\.allow_private_addresses: true`/);
  });

  test("[d2.9] sends its clients to another address in the older form's first event is not followed", async () => {
    const other = openToolServer();
    closing.push(() => other.stop());
    const body = `event: endpoint\ndata: ${other.url}\n\n`;
    const { call } = world(
      {
        respond: ({ method }) =>
          method === "GET" ? new Response(body, { headers: { "content-type": "text/event-stream" } }) : null,
      },
      {},
      { kind: "sse", headers: { authorization: "Bearer secret" } },
    );
    expect((await failure(call("echo"))).code).toBe("tool_server_failed");
    expect(other.sent.length).toBe(0);
  });

  test("changes its list is asked again, and not before", async () => {
    const { names, end } = world();
    const lists = (): number => end.sent.filter(({ message }) => message["method"] === "tools/list").length;
    expect([await names(), await names(), lists()]).toEqual([["echo"], ["echo"], 1]);
    await until(() => end.listeners() === 1);
    end.change([tool("other", undefined)]);
    await until(async () => {
      await names();
      return lists() > 1;
    });
    expect([await names(), lists()]).toEqual([["other"], 2]);
  });

  test("announces endlessly that its list has changed is asked once a second at most, and cut off when it sends more than is read", async () => {
    const { names, end, told, servers } = world();
    await names();
    await until(() => end.listeners() === 1);
    const beganMs = performance.now();
    end.say("notifications/tools/list_changed", 5000);
    await until(() => servers.figures().lost === 1);
    await names();
    expect(end.sent.filter(({ message }) => message["method"] === "tools/list").length).toBeLessThanOrEqual(
      2 + (performance.now() - beganMs) / 1000,
    );
    expect(told.length).toBeLessThan(100);
    await Bun.sleep(1000);
    expect(await names()).toEqual(["echo"]);
    expect(servers.figures()).toEqual({ connections: 1, connected: 2, refused: 0, lost: 1 });
  });

  test("lists pages is followed, and abandoned where they do not end", async () => {
    const many = Array.from({ length: 25 }, (_, index) => tool(`tool-${index}`, undefined));
    expect((await world({ tools: many, pageSize: 10 }).names()).length).toBe(25);
    let pages = 0;
    const endless = world({ list: () => ({ tools: [], nextCursor: String(++pages) }) });
    expect((await failure(endless.names())).code).toBe("tool_server_failed");
    expect(pages).toBeLessThan(100);
  });

  test("contradicts itself about one tool keeps the others", async () => {
    const good = { name: "good", inputSchema: { type: "object" } };
    let deep: Record<string, unknown> = {};
    for (let depth = 0; depth < 200; depth++) deep = { properties: { inner: deep } };
    const { names, told } = world({
      list: () => ({
        tools: [
          good,
          good,
          7,
          {},
          { name: "", inputSchema: { type: "object" } },
          { name: "x".repeat(300), inputSchema: { type: "object" } },
          { name: "line\nbreak", inputSchema: { type: "object" } },
          { name: "string", inputSchema: { type: "string" } },
          { name: "none" },
          { name: "array", inputSchema: [] },
          { name: "deep", inputSchema: { type: "object", ...deep } },
          { name: "large", inputSchema: { type: "object", description: "x".repeat(300_000) } },
        ] as never,
      }),
    });
    expect(await names()).toEqual(["good"]);
    expect(told.filter((line) => line.includes("is ignored")).length).toBe(10);
  });

  test("lists more than is read is abandoned", async () => {
    const { names } = world({
      list: () => ({
        tools: Array.from({ length: 2000 }, (_, index) => ({ name: `t${index}`, inputSchema: { type: "object" } })),
      }),
    });
    expect((await failure(names())).detail).toContain("more than 1000 tools");
    const giant = world({
      list: () => ({
        tools: [{ name: "t", description: "x".repeat(20 * 1024 * 1024), inputSchema: { type: "object" } }],
      }),
    });
    expect((await failure(giant.names())).detail).toContain("larger than");
  });
});

test("calls beyond the places of a server wait within their time, and one place serves them in turn", async () => {
  let most = 0;
  let now = 0;
  const { call } = world(
    {
      tools: [
        tool("one", async () => {
          most = Math.max(most, ++now);
          await Bun.sleep(50);
          now--;
          return said("done");
        }),
      ],
    },
    { maxConcurrent: 2, timeoutMs: 5000 },
  );
  expect(await Promise.all(Array.from({ length: 8 }, () => call("one")))).toEqual(
    Array.from({ length: 8 }, () => "done"),
  );
  expect(most).toBe(2);
});

test("[d10.1] calls that add headers to a configured server take its places, whatever the headers say", async () => {
  let most = 0;
  let now = 0;
  const { servers, server } = world(
    {
      tools: [
        tool("one", async () => {
          most = Math.max(most, ++now);
          await Bun.sleep(50);
          now--;
          return said("done");
        }),
      ],
    },
    { maxConcurrent: 1, timeoutMs: 5000 },
  );
  const set: ToolServerSet = { of: () => new Map([[server.label, server]]), keys: new Set([server.key]) };
  const principal = { tenantId: "default", projectId: "default", tokenId: "t", role: "developer" } as Principal;
  const withHeader = (value: string): ToolServer =>
    toolServerFor(
      { label: server.label, url: null, headers: { "x-asked": value }, allowedTools: null, approval: null, path: "" },
      principal,
      set,
    );
  await Promise.all(
    [server, withHeader("a"), withHeader("b")].map((one) => servers.call(one, "one", {}, new Cancellation(), ASKER)),
  );
  expect(most).toBe(1);
});

test("tenants whose calls wait for one server take turns, however many of one wait", async () => {
  const served: string[] = [];
  const mayEnd = Promise.withResolvers<void>();
  const { servers, server } = world(
    {
      tools: [
        tool("say", async ({ args }) => {
          served.push(args["who"] as string);
          await mayEnd.promise;
          return said("done");
        }),
      ],
    },
    { maxConcurrent: 1 },
  );
  const call = (who: string): Promise<unknown> =>
    servers.call(server, "say", { who }, new Cancellation(), { tenantId: who.split(" ")[0]!, trace: null });
  const first = call("acme 1");
  await until(() => served.length === 1);
  const others = ["acme 2", "acme 3", "other 1"].map(call);
  mayEnd.resolve();
  await Promise.all([first, ...others]);
  expect(served).toEqual(["acme 1", "acme 2", "other 1", "acme 3"]);
});

test("only tools of the allow-list are listed and called", async () => {
  const { names, call, end } = world(
    { tools: [tool("read_a", undefined), tool("write_a", undefined)] },
    { allowedTools: ["read_*"] },
  );
  expect(await names()).toEqual(["read_a"]);
  expect((await failure(call("write_a"))).code).toBe("tool_server_failed");
  expect(end.sent.some(({ message }) => message["method"] === "tools/call")).toBe(false);
});

test("a connection that is not used is closed, and so is one whose configuration is gone, when its calls have ended", async () => {
  let begun = false;
  const mayEnd = Promise.withResolvers<void>();
  const { servers, server, end, call } = world({
    tools: [
      tool("slow", async () => {
        begun = true;
        await mayEnd.promise;
        return said("done");
      }),
    ],
  });
  servers.configured(new Set([server.key]));
  const running = call("slow");
  await until(() => begun);
  servers.configured(new Set());
  mayEnd.resolve();
  expect(await running).toBe("done");
  await until(() => servers.figures().connections === 0 && end.sessions() === 0);
});
