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
import { openaiAnswer } from "../../harness/servers/upstream.ts";

const SPENT = { status: 429, headers: { "retry-after": "3600" } };
const BROKEN = { status: 500 };

test.each([
  ["told to wait", SPENT],
  ["open at its breaker", BROKEN],
])(
  "[d7.5] a target that is %s is called again with another key or at another address, and not before",
  async (_, refusal) => {
    const folder = mkdtempSync(join(tmpdir(), "dragoman-replaced-"));
    const file = join(folder, "dragoman.yaml");
    const answer = (model: string) => Response.json(openaiAnswer(`from ${model}`));
    // the key "spent" is refused here, and any key is taken elsewhere
    const upstream = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ headers, url }) =>
        headers.get("authorization") === "Bearer spent" && !url.includes("elsewhere")
          ? Response.json({ error: { message: "no" } }, refusal)
          : answer(new URL(url).pathname),
    });
    const configured = (key: string, place: string, more = ""): string => `
providers:
  one: { type: custom, base_url: "http://127.0.0.1:${upstream.port}/${place}", api_key: ${key} }
  two: { type: custom, base_url: "http://127.0.0.1:${upstream.port}/two", api_key: other }
routes:
  chat: { targets: ["one:m"], fallbacks: ["two:m"], retries: 0, breaker: { failures: 1, open_ms: 60000 } }
${more}`;
    writeFileSync(file, configured("spent", "one"));
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
    const served = async (): Promise<string | null> => {
      const answered = await fetch(`${gateway.url}/api/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.firstToken}`, "content-type": "application/json" },
        body: JSON.stringify({ route: "chat", messages: [{ role: "user", content: "Hello" }] }),
      });
      expect(answered.status).toBe(200);
      return answered.headers.get("x-gateway-model");
    };
    const change = async (text: string): Promise<void> => {
      writeFileSync(file, text);
      await gateway.reload();
    };
    try {
      // the first call meets the refusal, and the second passes the target over
      expect([await served(), await served()]).toEqual(["two:m", "two:m"]);
      await change(configured("spent", "one", "settings: { drop_params: true }"));
      expect(await served()).toBe("two:m");
      await change(configured("fresh", "one"));
      expect(await served()).toBe("one:m");
      await change(configured("spent", "one"));
      expect([await served(), await served()]).toEqual(["two:m", "two:m"]);
      await change(configured("spent", "elsewhere"));
      expect(await served()).toBe("one:m");
    } finally {
      await gateway.close();
      await upstream.stop(true);
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
