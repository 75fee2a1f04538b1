// A disk that is really full: the real process with its ledger on a small file system of its own. Mounting one needs root; the tests of the journal play the
// same on a disk of their own everywhere.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { until } from "../../harness/time/until.ts";

const MIB = 1024 * 1024;
const ASK = { model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] };
const folder = mkdtempSync(join(tmpdir(), "dragoman-full-"));
const mounted =
  process.getuid?.() === 0 && Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder]).exitCode === 0;
if (!mounted) console.log("skipped: a full disk is not tried, because this user may not mount a file system");
let gateway: GatewayProcess | null = null;
afterAll(async () => {
  await gateway?.stop();
  if (mounted) Bun.spawnSync(["umount", folder]);
  rmSync(folder, { recursive: true, force: true });
});

/** Every byte that is left. */
function fill(): void {
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(join(folder, "filler"), Buffer.alloc(bavail * bsize, 1));
}

test.skipIf(!mounted)(
  "[d11.2] a full disk stops new calls with 503 ledger_unavailable, lets calls in flight end with their rows, and calls are served again when there is room",
  async () => {
    gateway = await startGateway({ config: `ledger: { folder: "${folder}" }\n` });
    const token = gateway.firstToken!;
    const inFlight = gateway.chat({ model: "sandbox:slow-1500", messages: ASK.messages, stream: true });
    expect((await gateway.chat(ASK)).status).toBe(200);
    fill();
    // until the journal has noticed, by a row that does not fit
    const statuses: number[] = [];
    for (let count = 0; count < 50 && statuses.at(-1) !== 503; count++)
      statuses.push((await gateway.chat(ASK, { token })).status);
    expect(statuses.at(-1)).toBe(503);
    const refused = await gateway.chat(ASK);
    expect([
      refused.status,
      ((await refused.json()) as { error: { code: string } }).error.code,
      refused.headers.get("retry-after"),
    ]).toEqual([503, "ledger_unavailable", "1"]);
    const ready = await fetch(`${gateway.url}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([
      503,
      expect.stringContaining("the ledger cannot be written") as unknown as string,
    ]);
    expect(await (await fetch(`${gateway.url}/metrics`)).text()).toContain("\ndragoman_ledger_writable 0\n");
    // its closing row goes where room was set aside
    expect((await (await inFlight).text()).endsWith("data: [DONE]\n\n")).toBe(true);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain("\ndragoman_ledger_lost_rows_total 0\n");
    expect(metrics).toContain("\ndragoman_ledger_waiting_rows 0\n");
    expect(gateway.output()).toContain("the ledger cannot be written");
    rmSync(join(folder, "filler"));
    await until(async () => (await gateway!.chat(ASK)).status === 200);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    expect(statfsSync(folder).bavail * statfsSync(folder).bsize).toBeGreaterThan(4 * MIB);
  },
);

const small = mkdtempSync(join(tmpdir(), "dragoman-small-"));
const hasSmall = mounted && Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", small]).exitCode === 0;
afterAll(() => {
  if (hasSmall) Bun.spawnSync(["umount", small]);
  rmSync(small, { recursive: true, force: true });
});

test.skipIf(!hasSmall)(
  "[d11.2] a disk of 16 MB serves more calls than it can hold at once, and on a nearly full disk the message says how much space has to be free, and for what",
  async () => {
    const place = {
      config: `ledger: { folder: "${small}" }\n`,
      dataFolder: mkdtempSync(join(tmpdir(), "dragoman-small-data-")),
    };
    const first = await startGateway(place);
    try {
      const metadata = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`m${index}`, "x".repeat(500)]));
      // more than the disk holds: rows go to the database, and their segments go
      let answered = 0;
      // a burst may be faster than the database, and fill it for a moment
      await until(async () => {
        const statuses = await Promise.all(
          Array.from(
            { length: 50 },
            async () => (await first.chat({ ...ASK, metadata }, { token: first.firstToken! })).status,
          ),
        );
        answered += statuses.filter((status) => status === 200).length;
        return answered >= 1500;
      }, "1500 calls are answered");
      await until(async () => (await fetch(`${first.url}/readyz`)).status === 200);
    } finally {
      await first.stop("SIGTERM");
    }
    // what is left would do for rows, and not for what has to be set aside
    const { bavail, bsize } = statfsSync(small);
    writeFileSync(join(small, "filler"), Buffer.alloc(bavail * bsize - MIB, 1));
    const second = await startGateway(place);
    try {
      const ready = await fetch(`${second.url}/readyz`);
      const words = await ready.text();
      expect(ready.status).toBe(503);
      for (const part of ["free bytes", `needs ${4 * MIB}`, "reserve"]) expect(words).toContain(part);
      // the log is written in blocks
      await until(() => second.output().includes(`needs ${4 * MIB}`));
      rmSync(join(small, "filler"));
      await until(async () => (await fetch(`${second.url}/readyz`)).status === 200);
    } finally {
      await second.stop("SIGTERM");
      rmSync(place.dataFolder, { recursive: true });
    }
  },
);
