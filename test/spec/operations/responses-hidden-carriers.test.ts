// Promises 12.8 and 12.9: carriers of reasoning that the client did not ask for are shown by no path below /responses, and where
// responses are kept like content, they are sealed in the database and end with the response, its retention and the tenant.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { durableStore } from "../../../src/engine/keeping/durable-store.ts";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { openSecretCipher } from "../../../src/config/secret-cipher.ts";
import {
  deletedResponse,
  inputItems,
  retrievedResponse,
} from "../../../src/operations/responses/kept-response-requests.ts";
import { detectorsOf } from "../../../src/guards/detector-classes.ts";
import { openContentStore } from "../../../src/store/calls/content-store.ts";
import { openSqliteCalls } from "../../../src/store/calls/sqlite-calls.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import { writes } from "../../harness/store-writes.ts";
import { keptReader, responsesGateway, forShortAndLongRequests } from "../../operations/responses/responses-calls.ts";

const START_MS = 1_767_225_600_000;
const RETENTION_MS = 86_400_000;
const SIGNATURE = "c2lnbmF0dXJl";
const THOUGHT = "Ask ada@example.org first.";
const weather = { type: "function", name: "weather", parameters: { type: "object" } };
const called = { functionCall: { name: "weather", args: { city: "Oslo" } }, thoughtSignature: SIGNATURE };

const RULES = {
  sample: 1,
  retentionMs: RETENTION_MS,
  isStored: true,
  maxCharacters: 1000,
  detectors: detectorsOf("email", []),
};

/** A gateway that keeps responses in a database, whose provider signs its call. */
async function staged() {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-hidden-"));
  const file = join(folder, "calls.db");
  const { store } = await openSqliteDatabase({ file });
  await store.migrate();
  for (const id of ["acme", "other"]) await writes(store).createTenant({ id, name: id });
  await writes(store).createProject({ id: "site", tenantId: "acme", name: "site" });
  const calls = openSqliteCalls({ file });
  const clock = { nowMs: START_MS, now: () => clock.nowMs, monotonic: () => performance.now() };
  const cipher = openSecretCipher([new Uint8Array(32).fill(1)]);
  const durable = durableStore(openContentStore({ calls, cipher, now: () => clock.nowMs }));
  const on = { dropParams: null, disableStopSequenceLimit: null, responsesStore: "on" } as const;
  const stub = responsesGateway({
    clock,
    durable,
    kept: new KeptObjects(clock),
    token: { tenantId: "acme", projectId: "site" },
    snapshot: {
      projects: new Map([["site", { id: "site", tenantId: "acme", name: "site" }]]),
      tenantSettings: new Map([["acme", on]]),
      contentLogs: new Map([["site", RULES]]),
    },
    upstream: cannedUpstream(({ body }) => {
      const parts = body.includes("functionResponse")
        ? [{ text: "Cold." }]
        : [{ text: THOUGHT, thought: true }, called];
      const answer = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }] };
      return { headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
    }),
  });
  const respond = async (body: object): Promise<Record<string, any>> =>
    (await (await stub.respond({ model: "gemini:gemini-3-pro", tools: [weather], ...body })).json()) as Record<
      string,
      any
    >;
  const at = (id: string, query: Record<string, string> = {}) => ({
    ...keptReader(stub),
    id,
    query: (name: string) => query[name],
  });
  const close = async (): Promise<void> => {
    await calls.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { stub, clock, store, durable, respond, at, close };
}

forShortAndLongRequests(() => {
  test("[d11.3, d12.8] they are shown by no path, sealed where they are kept, and end with the response, its time and its tenant", async () => {
    const { stub, clock, store, durable, respond, at, close } = await staged();
    const findsAny = async (ids: readonly string[]): Promise<boolean> =>
      (await Promise.all(ids.map((id) => durable.find("acme", id)))).some((found) => found !== null);
    try {
      const first = await respond({ input: "Oslo?" });
      const ids = [first, ...first["output"]].map(({ id }: { id: string }) => id);
      const value = JSON.stringify((await durable.find("acme", first["id"]))!.value);
      expect(value).toContain('"carrier":"dragoman');
      expect(value).not.toMatch(new RegExp(`${SIGNATURE}|ada@example`));

      const output = { type: "function_call_output", call_id: first["output"].at(-1).call_id, output: "cold" };
      const second = await respond({ input: [output], previous_response_id: first["id"] });
      const references = first["output"].map(({ id }: { id: string }) => ({ type: "item_reference", id }));
      const third = await respond({ input: [{ role: "user", content: "Oslo?" }, ...references, output] });
      const fourth = await respond({ input: "And?", previous_response_id: third["id"] });
      for (const { id } of [first, second, third, fourth]) {
        const listed = await inputItems(at(id, { limit: "100", order: "asc" }));
        const shown = JSON.stringify([await retrievedResponse(at(id)), listed]);
        expect(shown).toContain("Oslo?");
        expect(shown).not.toMatch(/encrypted_content|dragoman\d/);
      }
      // it is still there for the provider
      expect(stub.sent.at(-1)!.body).toContain(SIGNATURE);

      await deletedResponse(at(first["id"]));
      expect(await findsAny(ids)).toBe(false);
      clock.nowMs = START_MS + RETENTION_MS - 1;
      expect(await findsAny([second["id"]])).toBe(true);
      clock.nowMs = START_MS + RETENTION_MS;
      expect(await findsAny([second["id"], third["id"], fourth["id"]])).toBe(false);
      const last = await respond({ input: "Oslo?" });
      expect(await findsAny([last["id"]])).toBe(true);
      await writes(store).removeTenant("acme");
      expect(await findsAny([last, ...last["output"]].map(({ id }: { id: string }) => id))).toBe(false);
    } finally {
      await close();
    }
  });
});
