// The client of the command line for the admin API: its lists are complete, however many pages they have.
import { afterAll, describe, expect, test } from "bun:test";
import { readEnvironment } from "../../src/config/environment.ts";
import { openAdminClient } from "../../src/cli/admin/client.ts";

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
