// A cloud's credential in a real gateway: out of a file, exchanged once for many calls at the operator's token service, kept over a change of the
// configuration, renewed after a refusal.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PRIVATE_KEY } from "../credentials/lending.ts";
import { type GatewayProcess, startGateway } from "../harness/processes/gateway-process.ts";
import { type FakeUpstream, startUpstream } from "../harness/servers/upstream.ts";
import { until } from "../harness/time/until.ts";

const folder = mkdtempSync(join(tmpdir(), "credentials-e2e-"));
let refused = new Set<string>();
let tokens = 0;
let service: FakeUpstream;
let provider: FakeUpstream;
let gateway: GatewayProcess;

beforeAll(async () => {
  service = startUpstream(async () => {
    await Bun.sleep(30);
    return Response.json({ access_token: `token-${++tokens}-0123456789`, expires_in: 3600, token_type: "Bearer" });
  });
  provider = startUpstream(({ headers }) =>
    refused.has(headers["authorization"]!)
      ? Response.json(
          {
            error: { code: 401, status: "UNAUTHENTICATED", message: "Request had invalid authentication credentials." },
          },
          { status: 401 },
        )
      : Response.json({
          candidates: [{ content: { role: "model", parts: [{ text: "Hello" }] }, finishReason: "STOP" }],
          usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
        }),
  );
  const account = join(folder, "account.json");
  writeFileSync(
    account,
    JSON.stringify({
      type: "service_account",
      client_email: "robot@project.example",
      private_key: PRIVATE_KEY,
      private_key_id: "0123456789abcdef",
      token_uri: "https://elsewhere.example/token",
    }),
  );
  gateway = await startGateway({
    config: `providers:\n  vertex:\n    base_url: ${provider.url}\n    project: my-project\n    token_url: ${service.url}/token\n    google: {service_account: "\${file:${account}}"}\n`,
  });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([service.stop(), provider.stop()]);
  rmSync(folder, { recursive: true });
});

const ask = async (): Promise<number> => {
  const response = await gateway.chat({
    model: "vertex:gemini-2.5-flash",
    messages: [{ role: "user", content: "Hello" }],
  });
  await response.text();
  return response.status;
};

test("one token serves concurrent calls, and calls after a change of the configuration", async () => {
  expect(await Promise.all(Array.from({ length: 50 }, ask))).toEqual(Array<number>(50).fill(200));
  expect(tokens).toBe(1);
  expect(new Set(provider.seen.map(({ headers }) => headers["authorization"]))).toEqual(
    new Set(["Bearer token-1-0123456789"]),
  );
  appendFileSync(join(gateway.folder, "dragoman.yaml"), "    location: europe-west4\n");
  await until(async () => {
    expect(await ask()).toBe(200);
    return provider.last().path.includes("/locations/europe-west4/");
  }, "calls go to the new location");
  expect(tokens).toBe(1);
});

test("a token that the provider refuses is replaced by the next call", async () => {
  refused = new Set([provider.last().headers["authorization"]!]);
  expect([await ask(), await ask()]).toEqual([502, 200]);
  expect(provider.last().headers["authorization"]).toBe("Bearer token-2-0123456789");
});
