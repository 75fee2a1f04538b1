// Promise 7.5: a sticky key keeps calls at one target, whether it is a header, the end user or the beginning of the
// conversation.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type GatewayProcess, startGateway } from "../harness/gateway-process.ts";
import { openaiAnswer, startUpstream } from "../harness/upstream.ts";
import { routedGateway, routeOf, UPSTREAMS } from "../harness/routed.ts";
import type { Sticky } from "../../src/core/configured/route.ts";
import type { Routed } from "../harness/routed.ts";

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
