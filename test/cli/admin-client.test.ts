// The client of the command line for the admin API: its lists are complete, however many pages they have.
import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { readEnvironment } from "../../src/config/environment.ts";
import { openAdminClient } from "../../src/cli/admin/client.ts";
import { NOUNS } from "../../src/cli/admin/nouns.ts";
import { runVerb } from "../../src/cli/admin/run.ts";

/** More than any bound that a list once had. */
const USERS = 120_250;
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    const { searchParams } = new URL(request.url);
    const first = Number(searchParams.get("cursor") ?? 0);
    const next = Math.min(USERS, first + Number(searchParams.get("limit")));
    return Response.json({
      data: Array.from({ length: next - first }, (_, at) => ({ id: `usr_${first + at}` })),
      next_cursor: next < USERS ? String(next) : null,
    });
  },
});
afterAll(async () => await server.stop(true));

describe("the lists of the command line [d9.3]", () => {
  const client = openAdminClient({ url: server.url.origin, token: "t" }, readEnvironment({}));
  test("have every entry, also beyond a hundred thousand", async () => {
    const users = await client.list("/users");
    expect([users.length, new Set(users.map(({ id }) => id)).size]).toEqual([USERS, USERS]);
  });
  test("have as many entries as are asked for", async () => {
    expect((await client.list("/users", {}, 701)).at(-1)).toEqual({ id: "usr_700" });
  });
});

describe("reports of usage on the command line [d14.3]", () => {
  const data = [{ group: { model: "m" }, calls: 1 }];
  const reports = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const isDivided = new URL(url).searchParams.get("group_by") === "route";
      return Response.json({ data, next_cursor: null, whole_until: isDivided ? null : "2026-06-14T01:00:00.000Z" });
    },
  });
  afterAll(async () => await reports.stop(true));

  test.each([
    ["model", "Before 2026-06-14T01:00:00.000Z, calls are kept as hourly sums"],
    ["model,end_user", "Before 2026-06-14T01:00:00.000Z, calls of end users are kept as sums of days in UTC"],
    ["route", null],
  ])("by %s say what could not be divided, beside the output", async (by, words) => {
    const said = { stdout: "", stderr: "" };
    const keepAs =
      (name: keyof typeof said) =>
      (piece: unknown): boolean => {
        said[name] += String(piece);
        return true;
      };
    const spies = [
      spyOn(process.stdout, "write").mockImplementation(keepAs("stdout")),
      spyOn(process.stderr, "write").mockImplementation(keepAs("stderr")),
    ];
    try {
      const usage = NOUNS.find(({ word }) => word === "usage")!;
      const flags = { url: reports.url.origin, token: "t", by, json: true } as const;
      await runVerb(usage, "list", null, flags, readEnvironment({}));
    } finally {
      for (const spy of spies) spy.mockRestore();
    }
    expect(JSON.parse(said.stdout)).toEqual(data);
    if (words === null) expect(said.stderr).toBe("");
    else expect(said.stderr).toContain(words);
  });
});
