// `dragoman webhook test`, against an admin API that is played: what is said of a receiver by what is known of it.
import { afterAll, afterEach, describe, expect, spyOn, test } from "bun:test";
import { test as testWebhook } from "../../src/cli/admin/webhooks.ts";
import { readEnvironment } from "../../src/config/environment.ts";

const queued = {
  id: "dlv_1",
  event_id: "evt_1",
  tenant_id: "t",
  state: "pending",
  last_status: null,
  last_error: null,
};
let attempted: object = queued;
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: ({ method }) => Response.json(method === "POST" ? queued : attempted),
});
afterAll(async () => await server.stop(true));

describe("a webhook that is tested", () => {
  let stdout = "";
  const written = spyOn(process.stdout, "write");
  // the time between two looks is not waited for
  const slept = spyOn(Bun, "sleep");
  afterEach(() => {
    written.mockReset();
    slept.mockReset();
  });
  afterAll(() => {
    written.mockRestore();
    slept.mockRestore();
  });
  const said = async (): Promise<readonly [number, string]> => {
    stdout = "";
    written.mockImplementation((piece: unknown) => {
      stdout += String(piece);
      return true;
    });
    slept.mockResolvedValue(undefined);
    const flags = { url: server.url.origin, token: "t", tenant: "t" };
    return [await testWebhook("mine", flags, readEnvironment({})), stdout];
  };

  test("[d11.4] has not answered in time where no attempt has ended", async () => {
    attempted = queued;
    const [code, words] = await said();
    expect(code).toBe(1);
    expect(words).toContain("has not answered within 30 s. The delivery dlv_1 is still pending");
    expect(words).not.toContain("accept");
  });
  test("[d11.4] did not accept the event where its attempt has failed", async () => {
    attempted = { ...queued, last_error: "it answered 500", next_attempt_at: "2026-06-01T00:00:00.000Z" };
    const [code, words] = await said();
    expect([code, words]).toEqual([1, expect.stringContaining("did not accept the event: it answered 500.")]);
  });
  test("[d11.4] accepted it where it is delivered", async () => {
    attempted = { ...queued, state: "delivered", last_status: 204 };
    const [code, words] = await said();
    expect([code, words]).toEqual([0, expect.stringContaining("accepted the event evt_1 (HTTP status 204)")]);
  });
});
