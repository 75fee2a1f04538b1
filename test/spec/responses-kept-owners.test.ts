// Whom a kept response opens to (promise 12.8): an id of another project, tenant or token is the same as an id that does
// not exist, wherever a request may name it.
import { expect, test } from "bun:test";
import { KeptObjects } from "../../src/chat/keeping/kept-objects.ts";
import type { Json, JsonObject } from "../../src/core/json.ts";
import { RESPONSES } from "../../src/operations/responses/responses.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../harness/in-process.ts";
import { openaiAnswer } from "../harness/upstream.ts";

const clock = { now: () => 1_767_225_600_000, monotonic: () => performance.now() };
const MODEL = "mistral:m";

function gateway(kept: KeptObjects, tenantId: string, projectId: string, more: StubOptions["token"] = {}): Stub {
  return stubGateway({
    clock,
    kept,
    upstream: cannedUpstream({
      headers: { "content-type": "application/json" },
      body: JSON.stringify(openaiAnswer("A secret.")),
    }),
    token: { tenantId, projectId, ...more },
    snapshot: { projects: new Map([[projectId, { id: projectId, tenantId, name: projectId }]]) },
  });
}

const answered = async (stub: Stub, body: JsonObject): Promise<Record<string, any>> =>
  (await (await stub.call(RESPONSES, { model: MODEL, ...body })).json()) as Record<string, any>;

test("[d12.8] an id of another tenant, project or token is refused like one that does not exist, with the same words", async () => {
  const kept = new KeptObjects(clock);
  const owner = gateway(kept, "acme", "one");
  const { id, output } = await answered(owner, { input: "Who?" });
  const item = output[0].id as string;
  const references: readonly (readonly [made: (id: string) => JsonObject, id: string])[] = [
    [(named) => ({ input: "And?", previous_response_id: named }), id],
    [(named) => ({ input: [{ type: "item_reference", id: named }] as Json }), item],
  ];
  for (const [made, named] of references) {
    expect((await answered(owner, made(named)))["status"]).toBe("completed");
    for (const other of [
      gateway(kept, "acme", "two"),
      gateway(kept, "acme", "one"),
      gateway(kept, "else", "one"),
      gateway(kept, "else", "one", { permissions: ["read_content"] }),
      gateway(kept, "acme", "two", { permissions: ["read_content"] }),
    ]) {
      const refused = await answered(other, made(named));
      const missing = named.slice(0, -1) + (named.endsWith("0") ? "1" : "0");
      const unknown = await answered(other, made(missing));
      expect(refused["error"].code).toBe("unsupported_parameter");
      expect(JSON.stringify(refused)).toBe(JSON.stringify(unknown).replace(missing, named));
      expect(other.sent).toEqual([]);
    }
    const reader = gateway(kept, "acme", "one", { permissions: ["read_content"] });
    expect((await answered(reader, made(named)))["status"]).toBe("completed");
    expect(reader.sent[0]!.body).toContain("A secret.");
  }
});
