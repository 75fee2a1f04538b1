// The ledger of the real process over clean stops, kills and restores: every call that a client saw has its one row in the database in the end.
import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, lstatSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database } from "bun:sqlite";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { postgresDatabases, statement } from "../../harness/servers/postgres-server.ts";
import { printedSeed } from "../../harness/time/chance.ts";
import { isLongRun } from "../../harness/time/long-run.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-restarts-"));
const postgres = await postgresDatabases();
afterAll(async () => {
  await postgres?.dispose();
  rmSync(folder, { recursive: true, force: true });
});

/** Where a gateway keeps what it knows, over its restarts. */
interface Place {
  readonly dataFolder: string;
  /** Of PostgreSQL; null: SQLite in the folder. */
  readonly url: string | null;
  /** Of the first start. */
  token: string;
}

const BUDGET = 1_000_000;
const config = `projects: { default: { budgets: { all: { tokens: ${BUDGET}, window: total } } } }\n`;

async function started(place: Place): Promise<GatewayProcess> {
  const gateway = await startGateway({
    dataFolder: place.dataFolder,
    config,
    ...(place.url !== null && {
      environment: { DATABASE_URL: place.url, DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 7).toString("base64") },
    }),
  });
  place.token = gateway.firstToken ?? place.token;
  return gateway;
}

/** Gives the trace ids that the client has seen. */
async function calls(gateway: GatewayProcess, token: string, times: number): Promise<readonly string[]> {
  return await Promise.all(
    Array.from({ length: times }, async () => {
      const response = await gateway.chat(
        { model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] },
        { token },
      );
      const { x_gateway_trace_id: id } = (await response.json()) as { readonly x_gateway_trace_id: string };
      return id;
    }),
  );
}

interface Row {
  readonly traceId: string;
  readonly tokens: number;
  readonly isSettled: boolean;
}

async function rowsOf({ dataFolder, url }: Place): Promise<readonly Row[]> {
  const query = "select trace_id, prompt_tokens + completion_tokens as tokens, settled from call";
  const found = url === null ? sqliteRows(dataFolder, query) : await statement(url, query);
  return found.map(({ trace_id: traceId, tokens, settled }) => ({
    traceId: traceId as string,
    tokens: Number(tokens),
    isSettled: Number(settled) === 1,
  }));
}

function sqliteRows(dataFolder: string, query: string): readonly Readonly<Record<string, unknown>>[] {
  const database = new Database(join(dataFolder, "dragoman.sqlite"), { readonly: true });
  try {
    return database.query<Record<string, unknown>, []>(query).all();
  } finally {
    database.close();
  }
}

describe.each([
  ["SQLite", false],
  ["PostgreSQL", true],
] as const)("clean stops with %s", (name, isPostgres) => {
  test.skipIf(isPostgres && postgres === null)(
    "[d11.2] the calls of every run after a clean stop reach the database",
    async () => {
      const place: Place = {
        dataFolder: join(folder, name),
        url: isPostgres ? await postgres!.newDatabase() : null,
        token: "",
      };
      const seen: string[] = [];
      for (const times of [10, 25, 3]) {
        const gateway = await started(place);
        seen.push(...(await calls(gateway, place.token, times)));
        await gateway.stop("SIGTERM");
      }
      expect((await rowsOf(place)).map(({ traceId }) => traceId).toSorted()).toEqual(seen.toSorted());
    },
  );
});

const remaining = async (gateway: GatewayProcess, token: string): Promise<number> => {
  const response = await gateway.chat(ASK, { token });
  await response.text();
  return Number(response.headers.get("x-ratelimit-remaining-tokens"));
};

test.each([
  ["is killed before the other one ends", false],
  ["is killed together with the other one", true],
] as const)(
  "[d4.2 d11.2] a budget counts the calls of a process beside another one, also when it %s",
  async (_, together) => {
    const place: Place = { dataFolder: join(folder, String(together)), url: null, token: "" };
    const [first, beside] = [await started(place), await started(place)];
    // each call of the same words takes as much
    const each = BUDGET - (await remaining(first, place.token));
    await calls(beside, place.token, 10);
    const killed = beside.stop("SIGKILL");
    if (!together) await killed;
    await Promise.all([killed, first.stop(together ? "SIGKILL" : "SIGTERM")]);
    const next = await started(place);
    expect(await remaining(next, place.token)).toBe(BUDGET - 12 * each);
    await next.stop("SIGTERM");
  },
);

/** How often a process ends over each database, and how long that goes on with --long. */
const ROUNDS = 3;
const LONG_MS = isLongRun ? 300_000 : 0;

/** What clients saw: tokens of each call by its trace id; null is a call that was cut, which is charged with what was set aside. */
type Book = Map<string, number | null>;

interface Life {
  readonly place: Place;
  /** The last one began last. */
  readonly gateways: GatewayProcess[];
  book: Book;
  copy: { readonly folder: string; readonly book: Book } | null;
}

const ASK = { model: "sandbox:echo", max_tokens: 40, messages: [{ role: "user", content: "Hello" }] };

async function plain({ gateways, place, book }: Life): Promise<void> {
  const response = await gateways.at(-1)!.chat(ASK, { token: place.token });
  const { usage } = (await response.json()) as { readonly usage: { readonly total_tokens: number } };
  book.set(response.headers.get("x-gateway-trace-id")!, usage.total_tokens);
}

async function stream({ gateways, place, book }: Life): Promise<void> {
  const response = await gateways
    .at(-1)!
    .chat({ ...ASK, stream: true, stream_options: { include_usage: true } }, { token: place.token });
  const text = await response.text();
  expect(text).toEndWith("data: [DONE]\n\n");
  book.set(response.headers.get("x-gateway-trace-id")!, Number(/"total_tokens":(\d+)/.exec(text)![1]));
}

async function refused({ gateways, place, book }: Life): Promise<void> {
  const response = await gateways.at(-1)!.chat({ ...ASK, model: "nosuch:model" }, { token: place.token });
  await response.text();
  expect(response.status).toBe(404);
  book.set(response.headers.get("x-gateway-trace-id")!, 0);
}

/** Ends the oldest one. With SIGKILL a stream of its own is in flight. */
async function end({ gateways, place, book }: Life, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const gateway = gateways.shift()!;
  if (signal === "SIGKILL") {
    // its stream begins at once, and never ends
    const cut = await gateway.chat({ ...ASK, model: "sandbox:stall", stream: true }, { token: place.token });
    void cut.text().catch(() => {});
    book.set(cut.headers.get("x-gateway-trace-id")!, null);
  }
  await gateway.stop(signal);
}

async function begin(life: Life): Promise<void> {
  life.gateways.push(await started(life.place));
}

/** Without sockets, which a supervisor that was killed has left. */
function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => !lstatSync(path).isSocket() });
}

/** After another start every call has its row, and the budget counts what the rows say. */
async function judge(life: Life, countsToo: boolean): Promise<void> {
  const { place, book } = life;
  while (life.gateways.length > 0) await end(life, "SIGTERM");
  await begin(life);
  const response = await life.gateways[0]!.chat(ASK, { token: place.token });
  const { usage } = (await response.json()) as { readonly usage: { readonly total_tokens: number } };
  book.set(response.headers.get("x-gateway-trace-id")!, usage.total_tokens);
  const left = Number(response.headers.get("x-ratelimit-remaining-tokens"));
  await end(life, "SIGTERM");
  const rows = new Map((await rowsOf(place)).map((row) => [row.traceId, row]));
  const found = [...book.keys()].map((traceId) => [traceId, rows.get(traceId)?.isSettled, rows.get(traceId)?.tokens]);
  expect(found).toEqual(
    [...book].map(([traceId, tokens]) => [traceId, tokens !== null, tokens ?? rows.get(traceId)?.tokens]),
  );
  for (const [traceId, tokens] of book)
    if (tokens === null) expect(rows.get(traceId)!.tokens).toBeGreaterThanOrEqual(40);
  const sum = [...rows.values()].reduce((total, { tokens }) => total + tokens, 0);
  if (countsToo) expect(left).toBe(BUDGET - sum);
}

describe.each([
  ["SQLite", false],
  ["PostgreSQL", true],
] as const)("random lives of the real process with %s", (name, isPostgres) => {
  const seed = printedSeed(`lives with ${name}`);
  test.skipIf(isPostgres && postgres === null)(
    "[d11.2 d4.2] each call that a client saw has one row in the end, and a budget counts what the rows contain",
    async () => {
      let state = seed;
      const random = (below: number): number => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 1) % below;
      const life: Life = {
        place: {
          dataFolder: join(folder, `lives-${name}`),
          url: isPostgres ? await postgres!.newDatabase() : null,
          token: "",
        },
        gateways: [],
        book: new Map(),
        copy: null,
      };
      const endsMs = performance.now() + LONG_MS;
      let isCountExact = true;
      let rounds = 0;
      for (await begin(life); rounds < ROUNDS || performance.now() < endsMs; rounds++) {
        for (let count = 1 + random(4); count > 0; count--) await [plain, stream, refused][random(3)]!(life);
        const what = random(4);
        // a second process, which goes on when the first one has ended
        if (what === 0) {
          await begin(life);
          await plain(life);
        }
        await end(life, random(2) === 0 ? "SIGTERM" : "SIGKILL");
        if (what === 0) continue;
        if (what === 1 && life.copy === null) {
          life.copy = { folder: join(folder, `copy-${name}`), book: new Map(life.book) };
          copyFolder(life.place.dataFolder, life.copy.folder);
        } else if (what === 2 && life.copy !== null) {
          const stored = new Set((await rowsOf(life.place)).map(({ traceId }) => traceId));
          rmSync(life.place.dataFolder, { recursive: true });
          copyFolder(life.copy.folder, life.place.dataFolder);
          // PostgreSQL was not restored: what it has of later calls stays, which the counts in the folder know nothing of
          life.book = isPostgres
            ? new Map([...life.copy.book, ...[...life.book].filter(([traceId]) => stored.has(traceId))])
            : new Map(life.copy.book);
          isCountExact &&= !isPostgres;
          life.copy = null;
          rmSync(join(folder, `copy-${name}`), { recursive: true });
          await begin(life);
          expect(life.gateways[0]!.lines().some(({ msg }) => String(msg).startsWith("this ledger is a copy"))).toBe(
            true,
          );
        }
        if (life.gateways.length === 0) await begin(life);
      }
      await judge(life, isCountExact);
      console.log(`drawn: ${rounds} rounds of the real process with ${name}, from the seed ${seed}`);
    },
    900_000,
  );
});
