// Promise 7.5: what is known of a target goes with the account and the address that it was learned of, and stays when
// anything else of the configuration changes. The real gateway, which follows its file.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvironment } from "../../../src/config/environment.ts";
import { resolveServerOptions } from "../../../src/snapshot/server-options.ts";
import { openGateway } from "../../../src/process/gateway.ts";
import { PROVIDER_FAMILIES } from "../../../src/process/parts/provider-families.ts";
import { loadConfiguration } from "../../../src/snapshot/configuration.ts";
import { renewedTargets } from "../../../src/engine/plan/open-routing.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { routeOf } from "../../harness/routed.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";

const SPENT = { status: 429, headers: { "retry-after": "3600" } };
const BROKEN = { status: 500 };

/** A gateway with the providers `one` and `two` at the server; `change` replaces the keys and the path of `one`. */
async function gatewayAt(server: Bun.Server<undefined>, first: string, place = "one") {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-replaced-"));
  const file = join(folder, "dragoman.yaml");
  const write = (key: string, at: string, more: string): void =>
    writeFileSync(
      file,
      `
providers:
  one: { type: custom, base_url: "http://127.0.0.1:${server.port}/${at}", api_keys: [${key}] }
  two: { type: custom, base_url: "http://127.0.0.1:${server.port}/two", api_key: other }
routes:
  chat: { targets: ["one:m"], fallbacks: ["two:m"], retries: 0, breaker: { failures: 1, open_ms: 60000 } }
${more}`,
    );
  write(first, place, "");
  const environment = readEnvironment({});
  const loaded = loadConfiguration({ file, families: PROVIDER_FAMILIES, environment });
  const gateway = await openGateway(
    {
      ...resolveServerOptions({ flags: { data: join(folder, "data") }, environment, file: loaded.configuration }),
      host: "127.0.0.1",
      port: 0,
      logLevel: "silent",
    },
    loaded,
    environment,
  );
  return {
    /** Returns which target has served a call. */
    served: async (): Promise<string | null> => {
      const answered = await fetch(`${gateway.url}/api/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.firstToken}`, "content-type": "application/json" },
        body: JSON.stringify({ route: "chat", messages: [{ role: "user", content: "Hello" }] }),
      });
      expect(answered.status).toBe(200);
      return answered.headers.get("x-gateway-model");
    },
    change: async (key: string, at = place, more = ""): Promise<void> => {
      write(key, at, more);
      await gateway.reload();
    },
    close: async (): Promise<void> => {
      await gateway.close();
      await server.stop(true);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const answer = (url: string): Response => Response.json(openaiAnswer(`from ${new URL(url).pathname}`));

test.each([
  ["told to wait", SPENT],
  ["open at its breaker", BROKEN],
])(
  "[d7.5] a target that is %s is called again with another key or at another address, and not before",
  async (_, refusal) => {
    // the key "spent" is refused here, and any key is taken elsewhere
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ headers, url }) =>
        headers.get("authorization") === "Bearer spent" && !url.includes("elsewhere")
          ? Response.json({ error: { message: "no" } }, refusal)
          : answer(url),
    });
    const { served, change, close } = await gatewayAt(server, "spent");
    try {
      // the first call meets the refusal, and the second passes the target over
      expect([await served(), await served()]).toEqual(["two:m", "two:m"]);
      await change("spent", "one", "settings: { drop_params: true }");
      expect(await served()).toBe("two:m");
      await change("fresh");
      expect(await served()).toBe("one:m");
      await change("spent");
      expect([await served(), await served()]).toEqual(["two:m", "two:m"]);
      await change("spent", "elsewhere");
      expect(await served()).toBe("one:m");
    } finally {
      await close();
    }
  },
);

test.each([
  ["a wait says nothing about the account that has replaced its own", SPENT, "fresh", "", "one:m"],
  ["a failure says nothing about the account that has replaced its own", BROKEN, "fresh", "", "one:m"],
  ["a wait holds where anything else was changed", SPENT, "spent", "settings: { drop_params: true }", "two:m"],
])("[d7.5] of a call that was under way during a change, %s", async (_, refusal, key, more, next) => {
  const isAsked = Promise.withResolvers<void>();
  const isChanged = Promise.withResolvers<void>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch({ headers, url }) {
      if (headers.get("authorization") !== "Bearer spent") return answer(url);
      isAsked.resolve();
      await isChanged.promise;
      return Response.json({ error: { message: "no" } }, refusal);
    },
  });
  const { served, change, close } = await gatewayAt(server, "spent");
  try {
    const underWay = served();
    await isAsked.promise;
    await change(key, "one", more);
    isChanged.resolve();
    expect(await underWay).toBe("two:m");
    expect(await served()).toBe(next);
  } finally {
    await close();
  }
});

test("[d7.5] keys that were refused or told to wait at another address are able at this one", async () => {
  const taken: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch({ headers, url }) {
      const key = headers.get("authorization")!.replace("Bearer ", "");
      if (key === "other") return answer(url);
      if (!url.includes("elsewhere"))
        return Response.json({ error: { message: "no" } }, key === "first" ? { status: 401 } : SPENT);
      taken.push(key);
      return taken.length === 1 ? Response.json({ error: { message: "no" } }, SPENT) : answer(url);
    },
  });
  const { served, change, close } = await gatewayAt(server, "first, second");
  try {
    expect([await served(), await served()]).toEqual(["two:m", "two:m"]);
    await change("first, second", "elsewhere");
    expect(await served()).toBe("one:m");
    expect(taken.toSorted()).toEqual(["first", "second"]);
  } finally {
    await close();
  }
});

test("[d7.5] what an address has said to a key of the caller says nothing about another address", async () => {
  const at = (path: string, key: string) =>
    providerSettings({
      id: "one",
      family: "custom",
      baseUrl: `http://one.test/${path}`,
      credentials: [storedKey(key)],
    });
  const two = providerSettings({ id: "two", family: "custom", baseUrl: "http://two.test", credentials: [] });
  const upstream = cannedUpstream(({ url }) =>
    url.includes("/spent")
      ? { ...SPENT, body: JSON.stringify({ error: { message: "no" } }) }
      : { body: JSON.stringify(openaiAnswer("Hello")) },
  );
  const routes = new Map([["chat", routeOf("chat", ["one:m"], { fallbacks: ["two:m"] })]]);
  const gateway = stubGateway({ upstream, providers: [at("spent", "first"), two], snapshot: { routes } });
  let current = gateway.context.snapshot();
  Object.assign(gateway.context, { snapshot: () => current });
  const renewed = renewedTargets(current, gateway.context.routing, gateway.context.clock);
  const change = (path: string, key: string): void => {
    const providers = new Map([...current.providers, ["one", at(path, key)] as const]);
    current = { ...current, version: current.version + 1, providers };
    renewed(current);
  };
  const served = async (): Promise<string | null> => {
    const messages = [{ role: "user", content: "Hello" }];
    const answered = await gateway.chat({ route: "chat", api_key: "of-the-caller", messages });
    await answered.text();
    return answered.headers.get("x-gateway-model");
  };
  expect(await served()).toBe("two:m");
  change("elsewhere", "first");
  expect(await served()).toBe("one:m");
  change("spent", "first");
  expect(await served()).toBe("two:m");
  // it is still told to wait where only the key of the operator is another one
  const sent = gateway.sent.length;
  change("spent", "second");
  expect([await served(), gateway.sent.length]).toEqual(["two:m", sent + 1]);
});
