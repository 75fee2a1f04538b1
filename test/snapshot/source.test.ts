// The source of snapshots follows a real file and a real database: how soon, how often, and what happens when they are
// bad or gone.
import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvironment } from "../../src/config/environment.ts";
import type { Snapshot } from "../../src/core/snapshot.ts";
import {
  openSnapshotSource,
  type SnapshotProblem,
  type SnapshotSource,
  type SnapshotSourceOptions,
} from "../../src/snapshot/source.ts";
import { loadConfiguration } from "../../src/snapshot/configuration.ts";
import { openSqliteDatabase } from "../../src/store/sqlite.ts";
import type { Identities, StoredToken } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { FAMILIES } from "../config/families.ts";
import { writes } from "../harness/store-writes.ts";
import { until, untilFound } from "../harness/time/until.ts";
import { storedSample } from "../harness/sample-tokens.ts";

const EMPTY: Identities = { tenants: [], projects: [], users: [], memberships: [], tokens: [] };
const DAY_MS = 86_400_000;

let folder: string;
let file: string;
let problems: SnapshotProblem[];
let swaps: Snapshot[];
let sources: SnapshotSource[];
let stores: Store[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dragoman-source-"));
  file = join(folder, "dragoman.yaml");
  [problems, swaps, sources, stores] = [[], [], [], []];
});
afterEach(async () => {
  for (const source of sources) source.close();
  for (const store of stores) await store.close();
  rmSync(folder, { recursive: true });
});

const NO_RESOURCES = {
  provider: [],
  route: [],
  policy: [],
  limit: [],
  budget: [],
  price: [],
  tool_server: [],
  webhook: [],
  setting: [],
};

/** A store of which a test says what it answers. */
function storeOf({
  revision,
  readIdentities,
}: {
  readonly revision: () => Promise<string>;
  readonly readIdentities: () => Promise<Identities>;
}): SnapshotSourceOptions["store"] {
  return {
    revision,
    readContents: async () => ({
      revision: await revision(),
      identities: await readIdentities(),
      resources: NO_RESOURCES,
      drains: [],
      unreadable: new Map(),
    }),
    watch: () => () => {},
  };
}
const still = storeOf({ revision: async () => "1", readIdentities: async () => EMPTY });

interface Options extends Partial<SnapshotSourceOptions> {
  readonly file?: string | null;
}

async function open({ file: path = null, ...options }: Options = {}): Promise<SnapshotSource> {
  const environment = options.environment ?? readEnvironment({});
  const source = await openSnapshotSource({
    loaded: loadConfiguration({ file: path, families: FAMILIES, environment }),
    store: still,
    families: FAMILIES,
    environment,
    onProblem: (problem) => void problems.push(problem),
    ...options,
  });
  source.subscribe((snapshot) => void swaps.push(snapshot));
  sources.push(source);
  return source;
}
async function openStore(): Promise<Store> {
  const { store } = await openSqliteDatabase({ file: join(folder, "store.db") });
  stores.push(store);
  await store.migrate();
  await writes(store).createTenant({ id: "default", name: "Default" });
  await writes(store).createProject({ id: "default", tenantId: "default", name: "Default" });
  return store;
}
const token = (id: string): StoredToken =>
  storedSample({
    id,
    name: id,
    tenantId: "default",
    projectId: "default",
    secrets: [{ sha256: new Uint8Array(32).fill(1), retiresAtMs: null }],
    createdAtMs: Date.now(),
    expiresAtMs: Date.now() + DAY_MS,
    lifetimeMs: DAY_MS,
  });
describe("the store", () => {
  test("a read that never settles delays neither later reads nor a reload, and its late answer replaces nothing newer", async () => {
    let answerFirst: ((identities: Identities) => void) | null = null;
    let readings = 0;
    let revision = "1";
    const store = storeOf({
      revision: async () => revision,
      readIdentities: () => {
        readings += 1;
        if (readings !== 2) return Promise.resolve(readings === 1 ? EMPTY : { ...EMPTY, tokens: [token("newer")] });
        return new Promise<Identities>((resolve) => (answerFirst = resolve));
      },
    });
    const source = await open({ store, pollMs: 5, readTimeoutMs: 20 });
    revision = "2";
    // the polling reads and gets no answer; the reload comes after it and is answered
    const answer = await untilFound(() => answerFirst);
    await source.reload();
    expect(source.current().tokens.has("newer")).toBe(true);
    expect(problems.map(({ source: of }) => of)).toContain("store");
    answer({ ...EMPTY, tokens: [token("older")] });
    await source.reload();
    expect([...source.current().tokens.keys()]).toEqual(["newer"]);
    expect(source.storeStatus().problems).toEqual([]);
  });

  test("a listener that fails is reported as itself, the new snapshot is in use, and the other listeners get it", async () => {
    const store = await openStore();
    const source = await open({ store });
    const seen: number[] = [];
    source.subscribe(() => {
      throw new Error("the tool servers are upset");
    });
    source.subscribe(({ version }) => void seen.push(version));
    await writes(store).createToken(token("new"));
    await source.reload();
    expect(source.current().tokens.has("new")).toBe(true);
    expect(seen).toContain(source.current().version);
    expect(problems.map(({ source: of }) => of)).toEqual(problems.map(() => "listener"));
    expect(problems[0]!.message).toBe(
      "the new configuration is in use, but a part of the gateway failed to apply it: the tool servers are upset",
    );
  });

  test("a created token is accepted soon, with one new snapshot", async () => {
    const store = await openStore();
    const source = await open({ store, pollMs: 100 });
    expect(source.current().tokens.size).toBe(0);
    await writes(store).createToken(token("new"));
    await until(() => source.current().tokens.has("new"));
    await Bun.sleep(300);
    expect(swaps).toEqual([source.current()]);
  });

  test("[d2.6] is polled more than once a second, so that a revocation takes effect within one", async () => {
    let asked = 0;
    const revision = async (): Promise<string> => String(asked++ && 1);
    jest.useFakeTimers();
    try {
      await open({ store: { ...still, revision } });
      const before = asked;
      for (let passedMs = 0; passedMs < 950; passedMs += 10) {
        jest.advanceTimersByTime(10);
        for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      }
      expect(asked - before).toBeGreaterThanOrEqual(2);
    } finally {
      jest.useRealTimers();
    }
  });

  test("[d2.6] a revocation by another process takes effect", async () => {
    const store = await openStore();
    await writes(store).createToken(token("old"));
    const source = await open({ store });
    expect(source.current().tokens.get("old")!.revokedAtMs).toBeNull();
    const { store: other } = await openSqliteDatabase({ file: join(folder, "store.db") });
    stores.push(other);
    await writes(other).changeToken("old", (stored) => ({ ...stored, revokedAtMs: 5 }));
    await until(() => source.current().tokens.get("old")!.revokedAtMs === 5);
  });

  test("causes no new snapshot without a change", async () => {
    const source = await open({ pollMs: 10 });
    const first = source.current();
    await Bun.sleep(100);
    expect(source.current()).toBe(first);
    expect(swaps).toEqual([]);
  });

  test("that fails leaves the snapshot, is reported once for each failure, and is followed again afterwards", async () => {
    let down = false;
    let revision = 1;
    let asked = 0;
    const store = storeOf({
      revision: async () => {
        asked++;
        if (down) throw new Error(`database down (${asked})`);
        return String(revision);
      },
      readIdentities: async () => ({ ...EMPTY, projects: [{ id: `p${revision}`, tenantId: "default", name: "" }] }),
    });
    const source = await open({ store, pollMs: 10 });
    for (const round of [1, 2]) {
      const before = source.current();
      down = true;
      await until(() => problems.length === round);
      const askedThen = asked;
      await until(() => asked > askedThen + 5);
      expect(source.current()).toBe(before);
      expect(problems).toHaveLength(round);
      revision++;
      down = false;
      await until(() => source.current().projects.has(`p${revision}`));
    }
    expect(problems.map(({ source: where, message }) => [where, message.replace(/\d+/, "N")])).toEqual(
      Array.from({ length: 2 }, () => ["store", "database down (N)\nthe previous configuration stays in use"]),
    );
  });

  describe("an unreachable store", () => {
    /** A store that is down from now on until `up()`, and a clock that the test turns. */
    async function unreachable(text: string) {
      let down = false;
      let nowMs = 1000;
      let looks = 0;
      const look = async (): Promise<string> => {
        looks++;
        if (down) throw new Error("database down");
        return "1";
      };
      writeFileSync(file, text);
      const source = await open({
        file,
        store: { ...still, revision: look },
        pollMs: 5,
        clock: { now: () => nowMs, monotonic: () => nowMs },
      });
      /** The second one that begins from now on begins when the first has ended. */
      const looked = async (): Promise<void> => {
        const before = looks;
        await until(() => looks > before + 1);
      };
      await looked();
      down = true;
      await until(() => problems.length === 1);
      problems.length = 0;
      const pass = async (ms: number): Promise<void> => {
        nowMs += ms;
        await looked();
      };
      return { source, up: () => void (down = false), pass };
    }

    test("[d2.6] does not end serving after 60 s by default, and is reported every minute", async () => {
      const { source, pass, up } = await unreachable("");
      await pass(59_000);
      expect(problems).toEqual([]);
      await pass(1000);
      expect(problems.map(({ source: where, message }) => `${where}: ${message}`)).toEqual([
        expect.stringMatching(
          /^store: the database has not been reached for 60 s; calls continue .*tokens revoked since then still work.*stale_snapshot/,
        ),
      ]);
      await pass(59_000);
      expect(problems).toHaveLength(1);
      await pass(1000);
      expect(problems).toHaveLength(2);
      expect(source.refusal()).toBeNull();
      up();
      await pass(0);
      await pass(59_000);
      expect(problems).toHaveLength(2);
    });

    test("[d2.6] refuses calls after 60 s where the configuration says so, until it is reached again", async () => {
      const { source, pass, up } = await unreachable("server: {stale_snapshot: refuse}");
      await pass(59_000);
      expect(source.refusal()).toBeNull();
      await pass(1000);
      expect(source.refusal()).toContain("has not reached its database for 60 s");
      expect(problems[0]!.message).toContain("new calls are refused");
      up();
      await until(() => source.refusal() === null);
    });
  });

  test("[d2.6] that always answers late is not taken for one that cannot be reached", async () => {
    let nowMs = 1000;
    let isSlow = false;
    const answers: (() => void)[] = [];
    const revision = (): Promise<string> =>
      isSlow ? new Promise((resolve) => answers.push(() => resolve("1"))) : Promise.resolve("1");
    const store = { ...still, revision };
    writeFileSync(file, "server: {stale_snapshot: refuse}");
    const clock = { now: () => nowMs, monotonic: () => nowMs };
    const source = await open({ file, store, pollMs: 5, readTimeoutMs: 20, clock });
    isSlow = true;
    for (let late = 0; late < 4; late++) {
      nowMs += 30_000;
      // the first read was given up when the second began
      await until(() => answers.length > 1);
      answers.shift()!();
      await until(() => source.storeStatus().unreachedMs < 60_000);
      expect(source.refusal()).toBeNull();
    }
  });

  test("is asked again when it fails between two polls, and misses nothing", async () => {
    let fail = true;
    let revision = 1;
    const store = storeOf({
      revision: async () => String(revision),
      readIdentities: async () => {
        if (revision === 2 && fail) throw new Error("gone");
        return { ...EMPTY, projects: [{ id: `p${revision}`, tenantId: "default", name: "" }] };
      },
    });
    const source = await open({ store, pollMs: 10 });
    revision = 2;
    await until(() => problems.length === 1);
    fail = false;
    await until(() => source.current().projects.has("p2"));
  });

  test("is needed at the start", async () => {
    const broken = storeOf({
      revision: () => Promise.reject(new Error("no database")),
      readIdentities: async () => EMPTY,
    });
    expect(open({ store: broken })).rejects.toThrow("no database");
  });
});

describe("the file", () => {
  const write = (text: string): void => writeFileSync(file, text);

  test("a change takes effect soon, in whatever way it is written", async () => {
    write("ops: {open: false}\n");
    const source = await open({ file });
    write("ops: {open: true}\n");
    await until(() => source.current().opsOpen);
    writeFileSync(join(folder, "new.yaml"), "ops: {open: false}\n");
    renameSync(join(folder, "new.yaml"), file);
    await until(() => !source.current().opsOpen);
    expect(swaps.map(({ version }) => version)).toEqual([2, 3]);
    expect(problems).toEqual([]);
  });

  test("a change between loading and following is found, and the first snapshot is that of the loaded text", async () => {
    write("ops: {open: false}\n");
    const environment = readEnvironment({});
    const loaded = loadConfiguration({ file, families: FAMILIES, environment });
    write("ops: {open: true}\n");
    const source = await open({ loaded, environment });
    expect(source.current().opsOpen).toBe(false);
    await until(() => source.current().opsOpen);
  });

  test("a call that holds a snapshot keeps it", async () => {
    write("settings: {drop_params: true}\n");
    const source = await open({ file });
    const held = source.current();
    write("settings: {drop_params: false}\n");
    await until(() => source.current().settings.dropParams === false);
    expect(held.settings.dropParams).toBe(true);
    expect(held.version).toBe(1);
  });

  test("a bad change is reported once with its place, and the old snapshot stays; a good one is used again", async () => {
    write("ops: {open: true}\n");
    const source = await open({ file, pollMs: 20 });
    const before = source.current();
    expect(source.fileFault()).toBeNull();
    write("ops:\n  opne: false\n");
    await until(() => problems.length > 0);
    await Bun.sleep(200);
    expect(problems.map(({ message }) => message)).toEqual([
      `${file}:2:3 ops.opne: unknown key "opne"; did you mean "open"?\nthe previous configuration stays in use`,
    ]);
    expect(source.current()).toBe(before);
    expect(source.configuration().ops.open).toBe(true);
    expect(source.fileFault()).toBe(`${file}:2:3 ops.opne: unknown key "opne"; did you mean "open"?`);
    write("ops: {open: false}\n");
    await until(() => !source.current().opsOpen);
    expect(problems).toHaveLength(1);
    expect(source.fileFault()).toBeNull();
  });

  test("a removed file is a problem and not an empty configuration", async () => {
    write("ops: {open: true}\n");
    const source = await open({ file, pollMs: 20 });
    unlinkSync(file);
    await until(() => problems.length > 0);
    await Bun.sleep(200);
    expect(problems.map(({ source: where, message }) => [where, message])).toEqual([
      ["file", `${file}: there is no such file\nthe previous configuration stays in use`],
    ]);
    expect(source.current().opsOpen).toBe(true);
    expect(source.fileFault()).toBe(`${file}: there is no such file`);
    // nothing of it has changed when it is back
    write("ops: {open: true}\n");
    await until(() => source.fileFault() === null);
    write("ops: {open: false}\n");
    await until(() => !source.current().opsOpen);
  });

  test("a hundred quick changes end in the last one", async () => {
    write("server: {max_concurrent_calls: 1}\n");
    const source = await open({ file });
    for (let count = 1; count <= 100; count++) {
      if (count % 2 === 0) write(`server: {max_concurrent_calls: ${count}}\n`);
      else {
        writeFileSync(join(folder, "new.yaml"), `server: {max_concurrent_calls: ${count}}\n`);
        renameSync(join(folder, "new.yaml"), file);
      }
      await Bun.sleep(count % 3);
    }
    await until(() => source.current().limits.maxConcurrentCalls === 100);
    await Bun.sleep(400);
    expect(source.current().limits.maxConcurrentCalls).toBe(100);
    expect(problems).toEqual([]);
  });

  test("is needed at the start, without a mistake", async () => {
    expect(open({ file })).rejects.toThrow("there is no such file");
    write("opps: {}\n");
    expect(open({ file })).rejects.toThrow(`${file}:1:1 opps: unknown key "opps"; did you mean "ops"?`);
  });
});

describe("a source", () => {
  test("reloads on demand, changed or not, and repeats what is wrong", async () => {
    writeFileSync(file, "ops: {open: true}\n");
    let reads = 0;
    const store = storeOf({
      revision: async () => "1",
      readIdentities: async () => {
        reads++;
        return EMPTY;
      },
    });
    const source = await open({ file, store, pollMs: 60_000 });
    await source.reload();
    expect(reads).toBe(2);
    expect(source.current().version).toBeGreaterThan(1);
    writeFileSync(file, "ops: 5\n");
    await source.reload();
    await source.reload();
    expect(
      problems.map(({ source: where }) => where).filter((where) => where === "file").length,
    ).toBeGreaterThanOrEqual(2);
    expect(source.current().opsOpen).toBe(true);
  });

  test("counts versions up by one", async () => {
    const source = await open({ pollMs: 60_000 });
    for (let version = 2; version <= 5; version++) {
      await source.reload();
      expect(source.current().version).toBe(version);
    }
  });

  test("reports a probable mistake once, until it is new again", async () => {
    writeFileSync(file, "projects: {defualt: {}}\n");
    const source = await open({ file, pollMs: 20, store: await openStore() });
    const notice = {
      source: "notice",
      message: "projects.defualt has settings in the file, but the database has no such project",
      cause: null,
    } as const;
    expect(problems).toEqual([notice]);
    await source.reload();
    expect(problems).toEqual([notice]);
    writeFileSync(file, "ops: {open: true}\n");
    await until(() => source.current().opsOpen);
    writeFileSync(file, "projects: {defualt: {}}\n");
    await until(() => problems.length === 2);
  });

  test("that is closed makes no new snapshot any more, and lets the process end", async () => {
    writeFileSync(file, "ops: {open: false}\n");
    let revision = 1;
    let asked = 0;
    const store = storeOf({
      revision: async () => {
        asked++;
        return String(revision);
      },
      readIdentities: async () => EMPTY,
    });
    const source = await open({ file, store, pollMs: 5 });
    await until(() => asked > 3);
    source.close();
    source.close();
    const askedThen = asked;
    revision++;
    writeFileSync(file, "ops: {open: true}\n");
    await Bun.sleep(150);
    expect(asked).toBe(askedThen);
    expect(source.current().opsOpen).toBe(false);
    await source.reload();
    expect(source.current().version).toBe(1);
    expect(swaps).toEqual([]);
  });

  test("leaves no timer behind, not even when it is closed while a changed file is left to settle", async () => {
    const script = `
      import { openSnapshotSource } from ${JSON.stringify(join(import.meta.dir, "../../src/snapshot/source.ts"))};
      import { loadConfiguration } from ${JSON.stringify(join(import.meta.dir, "../../src/snapshot/configuration.ts"))};
      import { readEnvironment } from ${JSON.stringify(join(import.meta.dir, "../../src/config/environment.ts"))};
      const timers = new Set();
      for (const [set, clear] of [["setInterval", "clearInterval"], ["setTimeout", "clearTimeout"]]) {
        const [start, end] = [globalThis[set], globalThis[clear]];
        globalThis[set] = (run, ...rest) => { const timer = start((...args) => { if (set === "setTimeout") timers.delete(timer); run(...args); }, ...rest); timers.add(timer); return timer; };
        globalThis[clear] = (timer) => { timers.delete(timer); end(timer); };
      }
      const identities = { tenants: [], projects: [], users: [], memberships: [], tokens: [] };
      const store = { revision: async () => "1", readContents: async () => ({ revision: "1", identities, resources: ${JSON.stringify(NO_RESOURCES)} }), watch: () => () => {} };
      const source = await openSnapshotSource({ loaded: loadConfiguration({ file: ${JSON.stringify(file)}, families: [], environment: readEnvironment({}) }), store, families: [], environment: readEnvironment({}), pollMs: 5, onProblem: console.error });
      const polls = timers.size;
      await Bun.write(${JSON.stringify(file)}, "ops: {open: true}");
      for (let turn = 0; turn < 10_000 && timers.size === polls; turn++) await new Promise(setImmediate);
      const settling = timers.size;
      source.close();
      console.log(polls, settling, timers.size);
    `;
    writeFileSync(file, "ops: {open: false}\n");
    writeFileSync(join(folder, "run.ts"), script);
    const child = Bun.spawn([process.execPath, "run", join(folder, "run.ts")], { stdout: "pipe", stderr: "pipe" });
    const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    expect({ out, err, code }).toEqual({ out: "2 3 0\n", err: "", code: 0 });
  });
});
