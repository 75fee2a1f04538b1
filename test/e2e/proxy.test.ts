// Calls to providers through the operator's HTTP proxy, and only where the configuration names one.
import { afterAll, describe, expect, test } from "bun:test";
import { startGateway } from "../harness/processes/gateway-process.ts";
import { openaiAnswer, startUpstream } from "../harness/servers/upstream.ts";

const provider = startUpstream(() => Response.json(openaiAnswer("directly")));
// a proxy gets the whole address of the target in its request line
const proxy = startUpstream((request) =>
  Response.json(openaiAnswer(`through the proxy to ${request.headers["host"]}`)),
);
afterAll(async () => {
  await provider.stop();
  await proxy.stop();
});

const providers = `providers:\n  mine: { type: custom, base_url: "${provider.url}/v1", api_key: k }\n`;
const ask = async (config: string, environment: Record<string, string> = {}): Promise<string> => {
  const gateway = await startGateway({ config: config + providers, environment });
  try {
    const answer = await gateway.chat({ model: "mine:m", messages: [{ role: "user", content: "Hi" }] });
    return ((await answer.json()) as { choices: { message: { content: string } }[] }).choices[0]!.message.content;
  } finally {
    await gateway.stop();
  }
};

describe("the way to a provider", () => {
  test("goes through the proxy that the configuration names", async () => {
    expect(await ask(`server: { upstream_proxy: "${proxy.url}" }\n`)).toBe(
      `through the proxy to ${new URL(provider.url).host}`,
    );
  });
  test("goes around the proxy to hosts that NO_PROXY names", async () => {
    const server = `server: { upstream_proxy: "${proxy.url}" }\n`;
    expect(await ask(server, { NO_PROXY: "example.test, 127.0.0.0/8" })).toBe("directly");
  });
  test("goes through no proxy that only the environment names", async () => {
    expect(await ask("", { HTTP_PROXY: proxy.url, http_proxy: proxy.url, ALL_PROXY: proxy.url })).toBe("directly");
  });
});
