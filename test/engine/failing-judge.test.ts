// Guard services of the operator, which judge the texts of several tenants.
import { expect, test } from "bun:test";
import type { GuardService } from "../../src/core/configured/outside-guard.ts";
import type { ServiceEndpoint } from "../../src/engine/guards/outside-endpoint.ts";
import { openGuardServices } from "../../src/engine/guards/outside-guards.ts";
import { compileService, serviceSettings } from "../../src/guards/outside/outside-settings.ts";
import { cannedUpstream } from "../harness/in-process.ts";

test("[d16.4] a tenant on whose texts a service fails keeps no other tenant from it", async () => {
  const service: GuardService = compileService(
    serviceSettings.parse({ type: "request", url: "http://guard.test/judge" }),
    { tenantId: null, projectId: null, isTrusted: true },
  );
  const endpoint: ServiceEndpoint = {
    maxTexts: 1,
    maxCharacters: 1000,
    guarded: false,
    account: "",
    request: ({ texts }) => ({ request: { url: "http://guard.test/judge", headers: {}, body: texts[0]! } }),
    decode: () => [],
  };
  const services = openGuardServices({
    upstream: cannedUpstream(({ body }) => ({ status: body === "odd" ? 500 : 200, body: "{}" })),
    clock: { monotonic: () => 0 },
    allowPrivateAddresses: () => true,
  });
  const failureOf = async (tenantId: string, text: string): Promise<string | null> => {
    const question = { texts: [text], place: "input", policy: "judged" } as const;
    return (await services.ask(service, endpoint, question, { tenantId, signal: null })).failure;
  };
  for (let count = 0; count < 5; count += 1)
    expect(await failureOf("acme", "odd")).toBe("the service answered with the status 500");
  expect(await failureOf("acme", "fine")).toContain("is not asked for a while");
  expect(await failureOf("other", "fine")).toBeNull();
});
