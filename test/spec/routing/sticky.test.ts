// Promises 7.5 and 16.2: a sticky key keeps calls at one target, whether it is a header, the end user, the beginning of the
// conversation or, with `prompt_cache: auto`, the session of a coding agent.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { openaiAnswer, startUpstream } from "../../harness/servers/upstream.ts";
import { routedGateway, routeOf, UPSTREAMS } from "../../harness/routed.ts";
import type { PromptCaching } from "../../../src/core/configured/prompt-cache.ts";
import { DIRECT_ROUTE, directRoute, type Sticky } from "../../../src/core/configured/route.ts";
import { AGENT_SESSIONS } from "../../../src/providers/agent-sessions.ts";
import type { UpstreamRequest } from "../../../src/wire/upstream.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import type { Routed } from "../../harness/routed.ts";

const KEYS = Array.from({ length: 24 }, (_, index) => `key-${index}`);
const LONG = "word ".repeat(1_000);

/** The target of a call; `key` null: it comes without one. */
type Ask = (key: string | null) => Promise<string>;

function asking(
  sticky: Sticky,
  requestOf: (key: string | null) => { readonly body?: object; readonly headers?: Record<string, string> },
): Ask {
  const gateway: Routed = routedGateway(
    [
      routeOf(
        "r",
        UPSTREAMS.map((id) => ({ name: `${id}:m`, order: 0 })),
        { strategy: "weighted", sticky },
      ),
    ],
    {},
  );
  return async (key) => {
    const { body = {}, headers = {} } = requestOf(key);
    const response = await gateway.chat(
      { route: "r", messages: [{ role: "user", content: "Hello" }], ...body },
      { headers },
    );
    await response.text();
    return response.headers.get("x-gateway-model")!;
  };
}

const said = (key: string | null): string => key ?? crypto.randomUUID();
const WAYS: Readonly<Record<string, () => Ask>> = {
  "a header": () =>
    asking({ by: "header", name: "x-conversation-id" }, (key) => ({
      headers: key === null ? {} : { "X-Conversation-ID": key },
    })),
  "the request's user": () => asking({ by: "user" }, (key) => ({ body: key === null ? {} : { user: key } })),
  "the request's safety_identifier": () =>
    asking({ by: "user" }, (key) => ({ body: key === null ? {} : { safety_identifier: key } })),
  "the request's safety_identifier beside an empty user": () =>
    asking({ by: "user" }, (key) => ({ body: { user: "", ...(key !== null && { safety_identifier: key }) } })),
  "the beginning of the conversation": () =>
    asking({ by: "prompt" }, (key) => ({
      body: {
        messages: [
          { role: "system", content: said(key) + LONG },
          { role: "user", content: crypto.randomUUID() },
          { role: "assistant", content: "Yes?" },
          { role: "user", content: crypto.randomUUID() },
        ],
      },
    })),
};

describe.each(Object.entries(WAYS))("[d7.5] by %s", (_, open) => {
  test("one key always gets the same target, and many keys use all targets", async () => {
    const ask = open();
    const first = new Map<string, string>();
    for (const key of KEYS) first.set(key, await ask(key));
    expect(new Set(first.values()).size).toBe(UPSTREAMS.length);
    for (const key of KEYS) for (let call = 0; call < 3; call++) expect(await ask(key)).toBe(first.get(key)!);
  });
  test("a call without a key goes where the strategy sends it", async () => {
    const ask = open();
    const seen = new Set<string>();
    for (let call = 0; call < 200 && seen.size < UPSTREAMS.length; call++) seen.add(await ask(null));
    expect(seen.size).toBe(UPSTREAMS.length);
  });
});

test.each(["a header", "the request's user"] as const)(
  "[d7.5] by %s that is empty, calls have nothing in common and go where the strategy sends them",
  async (way) => {
    const ask = WAYS[way]!();
    const seen = new Set<string>();
    for (let call = 0; call < 200 && seen.size < UPSTREAMS.length; call++) seen.add(await ask(""));
    expect(seen.size).toBe(UPSTREAMS.length);
  },
);

describe("[d7.5] over HTTP", () => {
  let gateway: GatewayProcess;
  const upstream = startUpstream(() => Response.json(openaiAnswer("Hello")));
  beforeAll(async () => {
    const providers = UPSTREAMS.map((id) => `  ${id}: {type: custom, base_url: "${upstream.url}/v1"}`).join("\n");
    const targets = JSON.stringify(UPSTREAMS.map((id) => `${id}:m`));
    gateway = await startGateway({
      config: `providers:\n${providers}\nroutes:\n  r: {strategy: {type: weighted, sticky: {header: X-Conversation-Id}}, targets: ${targets}}\n`,
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await upstream.stop();
  });

  test("a header of the client keeps its calls at one target, in any case of the header's name", async () => {
    const ask = async (headers: Record<string, string>): Promise<string> => {
      const response = await gateway.chat({ route: "r", messages: [{ role: "user", content: "Hello" }] }, { headers });
      await response.text();
      return response.headers.get("x-gateway-model")!;
    };
    const first = new Map<string, string>();
    for (const key of KEYS) first.set(key, await ask({ "x-conversation-id": key }));
    expect(new Set(first.values()).size).toBe(UPSTREAMS.length);
    for (const key of KEYS) expect(await ask({ "X-CONVERSATION-ID": key })).toBe(first.get(key)!);
  });
});

describe("[d16.2] by the session of a coding agent, with prompt_cache: auto", () => {
  const askingInSessions = (promptCaching: PromptCaching | null, sticky: Sticky | null = null) => {
    const gateway = routedGateway(
      [
        routeOf(
          "r",
          UPSTREAMS.map((id) => ({ name: `${id}:m`, order: 0 })),
          { strategy: "weighted", sticky, promptCaching },
        ),
      ],
      {},
    );
    return async (headers: Record<string, string>): Promise<string> => {
      const response = await gateway.chat({ route: "r", messages: [{ role: "user", content: "Hello" }] }, { headers });
      await response.text();
      return response.headers.get("x-gateway-model")!;
    };
  };
  const targetsOf = async (
    ask: ReturnType<typeof askingInSessions>,
    headers: Record<string, string>,
  ): Promise<number> => {
    const seen = new Set<string>();
    for (let call = 0; call < 60; call++) seen.add(await ask(headers));
    return seen.size;
  };

  test.each(AGENT_SESSIONS)(
    "$agent: $header keeps a session at one target, and sessions use all",
    async ({ header }) => {
      const ask = askingInSessions("auto");
      const first = new Map<string, string>();
      for (const key of KEYS) first.set(key, await ask({ [header]: key }));
      expect(new Set(first.values()).size).toBe(UPSTREAMS.length);
      for (const key of KEYS) expect(await ask({ [header]: key })).toBe(first.get(key)!);
    },
  );

  test("a call without a session, and every call without prompt_cache, goes where the strategy sends it", async () => {
    const session = { "x-claude-code-session-id": "one" };
    expect(await targetsOf(askingInSessions("auto"), {})).toBeGreaterThan(1);
    expect(await targetsOf(askingInSessions(null), session)).toBeGreaterThan(1);
    expect(await targetsOf(askingInSessions("off"), session)).toBeGreaterThan(1);
  });

  test("a sticky key comes before the session, which counts where the key is missing", async () => {
    const ask = askingInSessions("auto", { by: "header", name: "x-mine" });
    const session = { "x-claude-code-session-id": "one" };
    expect(await targetsOf(ask, session)).toBe(1);
    const mine = new Set<string>();
    for (const key of KEYS) mine.add(await ask({ ...session, "x-mine": key }));
    expect(mine.size).toBeGreaterThan(1);
  });

  test("a session keeps its key of the provider, until that is refused", async () => {
    const keys = ["a", "b", "c"];
    const refused = new Set<string>();
    const usedKey = (request: UpstreamRequest): string => request.headers["authorization"]!.replace("Bearer ", "");
    const gateway = stubGateway({
      upstream: cannedUpstream((request) =>
        refused.has(usedKey(request)) ? { status: 401, body: "{}" } : { body: JSON.stringify(openaiAnswer()) },
      ),
      providers: [providerSettings({ id: "openai", credentials: keys.map(storedKey) })],
      snapshot: {
        routes: new Map([
          [DIRECT_ROUTE, { ...directRoute({ name: "", providerId: "", model: "" }), promptCaching: "auto" as const }],
        ]),
      },
    });
    const ask = async (headers: Record<string, string>): Promise<string> => {
      await (await gateway.chat({ model: "openai:m", messages: [{ role: "user", content: "x" }] }, { headers })).text();
      return usedKey(gateway.sent.at(-1)!);
    };
    const of = (session: string) => ({ "x-claude-code-session-id": session });
    const first = new Map<string, string>();
    for (const session of KEYS) first.set(session, await ask(of(session)));
    expect(new Set(first.values()).size).toBe(keys.length);
    for (const session of KEYS) expect(await ask(of(session))).toBe(first.get(session)!);
    // calls without a session take the keys in turns
    const others = [await ask({}), await ask({}), await ask({})];
    expect(others.toSorted()).toEqual(keys);
    const [session, key] = [...first][0]!;
    refused.add(key);
    await ask(of(session));
    const next = await ask(of(session));
    expect(next).not.toBe(key);
    expect(await ask(of(session))).toBe(next);
    for (const [other, kept] of first) if (kept !== key) expect(await ask(of(other))).toBe(kept);
  });

  test("each header is written as it is looked up, once, with its source", () => {
    expect(new Set(AGENT_SESSIONS.map(({ header }) => header)).size).toBe(AGENT_SESSIONS.length);
    for (const { header, source } of AGENT_SESSIONS) {
      expect(header).toBe(header.toLowerCase());
      expect(source).toStartWith("https://");
    }
  });
});
