// What the console shows as a command, for every operation of the admin API: the command line sends the request that stands beside it. An operation
// without a command, which a new dialog might need, fails here.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAdminWorld } from "../harness/admin.ts";
import { type Described, describedOperations } from "../harness/admin-document.ts";
import { exampleBody } from "../harness/admin-examples.ts";
import { runHere } from "../harness/processes/command-line.ts";
import { commandOf } from "../harness/shown-commands.ts";

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const ACME = { tenantId: "acme", projectId: null };
const SITE = { tenantId: "acme", projectId: "site" };
/** What an answer has to have for a command to end. */
const ANSWER = { data: [], changes: [], chains: [], token: "t", state: "delivered", ok: true, text: null, etag: '"1"' };
/** What an operation cannot be asked without. */
const QUERIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  diffTenantVersions: { from: "0", to: "9" },
  diffProjectVersions: { from: "0", to: "9" },
  readTenantAuditAsOf: { at: "2026-01-01" },
};
/** The stream of new calls, which `logs --follow` prints, is no list that a command could read to its end. */
const WITHOUT_COMMAND: ReadonlySet<string> = new Set(["followCalls"]);

const folder = mkdtempSync(join(tmpdir(), "dragoman-operations-"));
let operations: readonly Described[];
let sent: Sent[] = [];
let server: Bun.Server<undefined>;
beforeAll(async () => {
  const world = await openAdminWorld();
  operations = describedOperations((await world.send(null, "GET", "/api/v1/openapi.json")).body);
  await world.close();
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      const text = await request.text();
      sent.push({
        method: request.method,
        path: decodeURIComponent(pathname.replace("/api/v1/admin", "")),
        query: Object.fromEntries(searchParams),
        body: text === "" ? null : JSON.parse(text),
      });
      return Response.json(ANSWER);
    },
  });
});
afterAll(async () => {
  await server?.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

/** The words of a command, as a shell reads them, and what comes to its standard input. */
async function wordsOf(command: string): Promise<{ readonly words: readonly string[]; readonly typed: string }> {
  const script = `dragoman() { printf '%s\\0' "$@"; if [ ! -t 0 ]; then printf '\\0'; cat; fi; }; ${command}`;
  const child = Bun.spawn(["bash", "-c", script], { stdin: "ignore", stdout: "pipe" });
  const [words = "", typed = ""] = (await new Response(child.stdout).text()).split("\0\0");
  expect(await child.exited).toBe(0);
  return { words: words.split("\0"), typed };
}

/** Without what means the same as leaving it out, and without the version that the command reads by itself. */
const meant = (body: unknown): unknown =>
  Object.fromEntries(
    Object.entries(body ?? {}).filter(
      ([name, value]) => value !== null && name !== "base_etag" && !(Array.isArray(value) && value.length === 0),
    ),
  );

interface Due {
  readonly operationId: string;
  readonly method: string;
  readonly address: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

function dueOf({ operationId, method, path, bodySchema }: Described): Due {
  const place = path.includes("{project}") ? SITE : ACME;
  const values: Readonly<Record<string, string>> = { tenant: "acme", project: "site" };
  return {
    operationId,
    method,
    address: path
      .replace("/api/v1/admin", "")
      .replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? `the ${name}`),
    query: QUERIES[operationId] ?? {},
    body: bodySchema === null ? undefined : exampleBody(bodySchema, place),
  };
}

/** What is wrong with the command of a request; null if it sends the request. */
async function faultOf({ operationId, method, address, query, body }: Due): Promise<string | null> {
  const asked = new URLSearchParams(query).toString();
  const command = commandOf({
    method,
    path: `/v1/admin${address.split("/").map(encodeURIComponent).join("/")}${asked === "" ? "" : `?${asked}`}`,
    ...(body !== undefined && { body: body as object }),
  });
  if (command === null) return `${operationId} has no command`;
  sent = [];
  const { words, typed } = await wordsOf(command);
  const file = join(folder, "typed");
  writeFileSync(file, typed);
  const ran = await runHere(
    words.map((word) => (word === "-" ? file : word)),
    { DRAGOMAN_URL: `http://127.0.0.1:${server.port}`, DRAGOMAN_TOKEN: "t" },
    folder,
  );
  const one = sent.find((each) => each.method === method);
  const { limit: _page, ...kept } = one?.query ?? {};
  return one?.path === address && Bun.deepEquals(kept, query) && Bun.deepEquals(meant(one.body), meant(body))
    ? null
    : `${operationId}: ${command} sends ${JSON.stringify(one)}, not ${method} ${address} ${JSON.stringify(body)}; ${ran.stderr}`;
}

test("[d14.1] every operation of the admin API has a command, which sends the request that it stands for", async () => {
  const due = operations
    .filter(({ path, operationId }) => path.startsWith("/api/v1/admin/") && !WITHOUT_COMMAND.has(operationId))
    .map(dueOf);
  expect(due.length).toBeGreaterThan(200);
  const faults: string[] = [];
  for (const one of due) {
    const fault = await faultOf(one);
    if (fault !== null) faults.push(fault);
  }
  expect(faults).toEqual([]);
});
