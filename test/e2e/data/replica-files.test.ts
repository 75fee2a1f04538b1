// Gateways that share a database read a configuration file each. Where the files differ, each of them reports it once,
// naming the others.
import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VERSION } from "../../../src/core/version.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { postgresDatabases } from "../../harness/servers/postgres-server.ts";
import { until } from "../../harness/time/until.ts";

const DIFFERENT = "gateways on this database have different configuration files";
const SAME = "gateways on this database have the same configuration file again";
const PREFIX = "route_defaults: { retries: 0 }\n";
const SECRET = "sk-this-stands-in-the-file";
const FILE = `${PREFIX}providers: { openai: { api_key: "${SECRET}" } }\n`;
const OTHER_FILE = `${FILE}log: { level: info }\n`;

const fingerprintOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);
const linesOf = (gateway: GatewayProcess, message: string) => gateway.lines().filter(({ msg }) => msg === message);
const rewrite = (gateway: GatewayProcess, text: string): void =>
  writeFileSync(join(gateway.folder, "dragoman.yaml"), text);

interface Standing {
  readonly fingerprint: string;
  readonly others: readonly { readonly replica: string; readonly version: string; readonly fingerprint: string }[];
}

async function standingOf(gateway: GatewayProcess): Promise<Standing> {
  return ((await (await fetch(`${gateway.url}/readyz?verbose`)).json()) as { readonly replicas: Standing }).replicas;
}

async function gaugeOf(gateway: GatewayProcess, configuration: "same" | "different"): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  return Number(
    new RegExp(`^dragoman_replicas\\{configuration="${configuration}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? Number.NaN,
  );
}

const server = await postgresDatabases();
const folder = mkdtempSync(join(tmpdir(), "dragoman-replica-files-"));
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server?.dispose();
});

type Start = (config: string) => Promise<GatewayProcess>;

async function onPostgres(): Promise<Start> {
  const environment = {
    DATABASE_URL: await server!.newDatabase(),
    DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 5).toString("base64"),
  };
  return (config) => startGateway({ environment, config });
}

function onOneFolder(): Promise<Start> {
  const dataFolder = mkdtempSync(join(folder, "data-"));
  return Promise.resolve((config) => startGateway({ dataFolder, config }));
}

for (const [name, starting, isMissing] of [
  ["one PostgreSQL", onPostgres, server === null],
  ["one data folder", onOneFolder, false],
] as const)
  describe.skipIf(isMissing)(`two gateways on ${name}`, () => {
    test.concurrent("report once that their configuration files differ, naming each other and the fingerprints, and again when they agree", async () => {
      const start = await starting();
      const one = await start(FILE);
      const two = await start(OTHER_FILE);
      const both = [
        [one, FILE, two, OTHER_FILE],
        [two, OTHER_FILE, one, FILE],
      ] as const;
      for (const [own, text, other, otherText] of both) {
        await until(() => linesOf(own, DIFFERENT).length > 0, "the difference is told");
        const [line] = linesOf(own, DIFFERENT);
        const others = [
          {
            replica: expect.stringMatching(new RegExp(`^.+:${other.pid}$`)) as unknown as string,
            version: VERSION,
            fingerprint: fingerprintOf(otherText),
          },
        ];
        expect(line).toMatchObject({ level: "warn", fingerprint: fingerprintOf(text), others });
        expect(await standingOf(own)).toEqual({ fingerprint: fingerprintOf(text), others });
        expect([await gaugeOf(own, "same"), await gaugeOf(own, "different")]).toEqual([1, 1]);
      }
      // the file that is in use counts: one that cannot be used changes nothing
      rewrite(two, `${FILE}nonsense: true\n`);
      await until(
        () => two.lines().some(({ source, level }) => source === "file" && level === "warn"),
        "the file is refused",
      );
      expect((await standingOf(two)).fingerprint).toBe(fingerprintOf(OTHER_FILE));
      rewrite(two, FILE);
      for (const [own, , other] of both) {
        await until(() => linesOf(own, SAME).length > 0, "the agreement is told");
        expect(linesOf(own, SAME)[0]).toMatchObject({ level: "info", fingerprint: fingerprintOf(FILE), replicas: 2 });
        expect([linesOf(own, DIFFERENT).length, linesOf(own, SAME).length]).toEqual([1, 1]);
        expect(await standingOf(own)).toMatchObject({
          fingerprint: fingerprintOf(FILE),
          others: [
            {
              fingerprint: fingerprintOf(FILE),
              replica: expect.stringContaining(`:${other.pid}`) as unknown as string,
            },
          ],
        });
      }
      expect(await two.stop()).toBe(0);
      await until(async () => (await standingOf(one)).others.length === 0, "the other one is gone");
      for (const gateway of [one, two]) expect(gateway.output()).not.toContain(SECRET);
      await one.stop();
    }, 300_000);
  });

describe("a gateway that is killed", () => {
  test.concurrent("disappears from the others after a while, and one that ends in order at once", async () => {
    const start = await onOneFolder();
    const one = await start(FILE);
    const two = await start(OTHER_FILE);
    await until(async () => (await standingOf(one)).others.length === 1, "the other one is seen");
    await two.stop("SIGKILL");
    await until(async () => (await standingOf(one)).others.length === 0, "the other one is gone");
    expect([await gaugeOf(one, "same"), await gaugeOf(one, "different")]).toEqual([1, 0]);
    await one.stop();
  }, 300_000);
});
