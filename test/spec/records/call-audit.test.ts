// What the audit log says of calls that are explained or replayed: a row before anything is shown or sent, and a bounded number of rows.
import { expect, jest, test } from "bun:test";
import { CallAudit } from "../../../src/engine/call/call-audit.ts";
import type { Actor, AuditNote } from "../../../src/store/records.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";

const OTHER = "0192f00000000000aaaaaaaaaaaaaaaa";
const ASK = { model: "openai:gpt-5", messages: [{ role: "user", content: "Hello" }] };

function open(fails = false) {
  const rows: (AuditNote & { readonly actor: Actor })[] = [];
  const sent: string[] = [];
  const lost: unknown[] = [];
  const notes = new CallAudit(
    {
      note: (actor, note) => {
        if (fails) return Promise.reject(new Error("the database is away"));
        sent.push("row");
        rows.push({ ...note, actor });
        return Promise.resolve();
      },
    },
    (fault) => void lost.push(fault),
  );
  const canned = cannedUpstream({
    body: JSON.stringify(openaiAnswer()),
    headers: { "content-type": "application/json" },
  });
  const gateway = stubGateway({
    upstream: {
      ...canned,
      send: (request, signal) => {
        sent.push("request");
        return canned.send(request, signal);
      },
    },
    permissions: ["debug"],
    notes,
  });
  const call = async (headers: Readonly<Record<string, string>>): Promise<Response> => {
    const response = await gateway.chat(ASK, { headers });
    await response.arrayBuffer();
    return response;
  };
  return { rows, sent, lost, notes, call };
}

test("explaining and replaying a call are in the audit log before anything is shown or sent", async () => {
  const { rows, sent, call, notes } = open();
  const explained = await call({ "x-gateway-explain": "true" });
  expect((await call({ "x-gateway-replay-of": OTHER })).status).toBe(200);
  expect((await call({})).status).toBe(200);
  expect(sent).toEqual(["row", "row", "request", "request"]);
  const trace = explained.headers.get("x-gateway-trace-id")!;
  expect(rows.map(({ action, kind, targetId, outcome }) => [action, kind, targetId, outcome])).toEqual([
    ["explain", "call", trace, "done"],
    ["replay", "call", OTHER, "done"],
  ]);
  expect(rows[0]!.actor).toMatchObject({ tokenId: expect.any(String), via: "api" });
  await call({ "x-gateway-explain": "true", "x-gateway-replay-of": OTHER });
  await notes.close();
});

test("rows are bounded: what is beyond is counted in one more row", async () => {
  jest.useFakeTimers();
  try {
    const { rows, call } = open();
    for (let count = 0; count < 5; count++) await call({ "x-gateway-explain": "true" });
    for (let count = 0; count < 33; count++) await call({ "x-gateway-replay-of": OTHER });
    expect(rows).toHaveLength(31);
    jest.advanceTimersByTime(60_000);
    expect(rows.slice(31).map(({ action, targetId, note }) => [action, targetId, note])).toEqual([
      ["explain", null, "4 more within a minute"],
      ["replay", null, "3 more within a minute"],
    ]);
    await call({ "x-gateway-explain": "true" });
    jest.advanceTimersByTime(60_000);
    expect(rows).toHaveLength(34);
  } finally {
    jest.useRealTimers();
  }
});

test("the audit log of each project has the explanations of a token that calls in several", async () => {
  const { rows, notes } = open();
  const [address, way] = [null, { via: "api" } as const];
  for (const projectId of ["site", "app", "app"]) {
    const principal = { tenantId: "acme", projectId, tokenId: "t1", userId: "ann", role: "developer" } as const;
    await notes.note({ action: "explain", traceId: OTHER, principal, address, way });
  }
  expect(rows.map(({ projectId, targetId }) => [projectId, targetId])).toEqual([
    ["site", OTHER],
    ["app", OTHER],
  ]);
  await notes.close();
  expect(rows.slice(2).map(({ projectId, note }) => [projectId, note])).toEqual([["app", "1 more within a minute"]]);
});

test("without the audit log nothing is explained or replayed", async () => {
  const { sent, call } = open(true);
  for (const headers of [{ "x-gateway-explain": "true" }, { "x-gateway-replay-of": OTHER }])
    expect((await call(headers)).status).toBe(503);
  expect(sent).toEqual([]);
  expect((await call({})).status).toBe(200);
});

test("the header names a trace id", async () => {
  const { call } = open();
  for (const wrong of ["", "abc", OTHER.toUpperCase(), `${OTHER}0`])
    expect((await call({ "x-gateway-replay-of": wrong })).status).toBe(400);
});
