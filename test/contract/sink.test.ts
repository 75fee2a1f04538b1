// The contract of sinks on files and webhooks, and what only these have.
import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { Webhook } from "standardwebhooks";
import type { JsonLinesFile } from "../../src/observe/integrations/sinks/json-lines-sink.ts";
import { openJsonLinesSink } from "../../src/observe/integrations/sinks/json-lines-sink.ts";
import { openRecordsWebhookSink } from "../../src/observe/integrations/sinks/records-webhook-sink.ts";
import { httpSinkSuite, type ReceivedCall, recordedCalls, sinkSuite } from "./sink.suite.ts";

const SECRET = `whsec_${Buffer.from("0123456789012345678901234567").toString("base64")}`;
const OTHER = `whsec_${Buffer.from("another secret of enough bytes").toString("base64")}`;

interface Line {
  readonly trace_id: string;
  readonly metadata?: unknown;
}
const received = ({ trace_id: traceId, metadata = null }: Line): ReceivedCall => ({ traceId, metadata });

function folderOf(): string {
  return mkdtempSync(join(tmpdir(), "dragoman-lines-"));
}

const FILE: Omit<JsonLinesFile, "path"> = { maxBytes: 1_000_000, rotateMs: null, keepFiles: 10, compress: true };
const SOON = (): AbortSignal => AbortSignal.timeout(5000);

sinkSuite("json_lines", async () => {
  const folder = folderOf();
  const path = join(folder, "calls.jsonl");
  const text = (): string => readFileSync(path, "utf8");
  return {
    sink: await openJsonLinesSink({ ...FILE, path }),
    text: async () => text(),
    calls: async () =>
      text()
        .trimEnd()
        .split("\n")
        .map((line) => received(JSON.parse(line) as Line)),
    end: async () => rmSync(folder, { recursive: true }),
  };
});

interface Posted {
  readonly body: string;
  readonly headers: Record<string, string>;
}

function webhookReceiver() {
  const posts: Posted[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      posts.push({ body: await request.text(), headers: request.headers.toJSON() });
      return new Response(null, { status: 204 });
    },
  });
  return { posts, url: `http://127.0.0.1:${server.port}/in`, end: () => server.stop(true) };
}

const callsOf = ({ body, headers }: Posted): readonly Line[] =>
  (new Webhook(SECRET).verify(body, headers) as { data: { calls: readonly Line[] } }).data.calls;

sinkSuite("webhook", async () => {
  const { posts, url, end } = webhookReceiver();
  return {
    sink: openRecordsWebhookSink({ url, secrets: [SECRET], headers: {} }),
    text: async () => posts.map(({ body }) => body).join("\n"),
    calls: async () => posts.flatMap(callsOf).map(received),
    end,
  };
});
httpSinkSuite("webhook", async (url) => openRecordsWebhookSink({ url, secrets: [SECRET], headers: {} }));

describe("webhook", () => {
  test("[d11.4] is signed with each secret at sending time, as the receivers' library verifies it, and a changed body is detected", async () => {
    const { posts, url, end } = webhookReceiver();
    await openRecordsWebhookSink({ url, secrets: [SECRET, OTHER], headers: { authorization: "Bearer mine" } }).deliver(
      recordedCalls(2),
      SOON(),
    );
    const [{ body, headers }] = posts as [Posted];
    for (const secret of [SECRET, OTHER])
      expect(new Webhook(secret).verify(body, headers)).toMatchObject({
        type: "calls.ended",
        data: { calls: [{}, {}] },
      });
    expect(() => new Webhook(SECRET).verify(body.replace("200", "201"), headers)).toThrow("signature");
    expect(() => new Webhook(`whsec_${btoa("no secret of this receiver, none")}`).verify(body, headers)).toThrow(
      "signature",
    );
    expect(headers).toMatchObject({
      authorization: "Bearer mine",
      "content-type": "application/json",
      "user-agent": expect.stringMatching(/^dragoman\//),
    });
    await end();
  });
  test("repeated calls have the same id, and other calls have another", async () => {
    const { posts, url, end } = webhookReceiver();
    const sink = openRecordsWebhookSink({ url, secrets: [SECRET], headers: {} });
    const calls = recordedCalls(2);
    for (const batch of [calls, calls, recordedCalls(2), calls.slice(0, 1)]) await sink.deliver(batch, SOON());
    const ids = posts.map(({ headers }) => headers["webhook-id"]);
    expect(ids[0]).toBe(ids[1]);
    expect(new Set(ids).size).toBe(3);
    await end();
  });
  test("[d11.4] a batch is accepted with the status: the body after it is not waited for, and does not cause another delivery", async () => {
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () =>
        new Response(
          new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("for ever")) }),
        ),
    });
    const sink = openRecordsWebhookSink({ url: `http://127.0.0.1:${server.port}/in`, secrets: [SECRET], headers: {} });
    const taken = sink.deliver(recordedCalls(1), AbortSignal.timeout(10_000)).then(() => "taken");
    expect(await Promise.race([taken, Bun.sleep(5000).then(() => "waits")])).toBe("taken");
    await server.stop(true);
  });
});

describe("json_lines", () => {
  const inFolder = async (run: (folder: string, path: string) => Promise<void>): Promise<void> => {
    const folder = folderOf();
    try {
      await run(folder, join(folder, "calls.jsonl"));
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  const linesOf = (file: string): readonly Line[] =>
    (file.endsWith(".gz") ? gunzipSync(readFileSync(file)).toString() : readFileSync(file, "utf8"))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Line);

  test("[d11.4] a batch whose time is over while the disk still writes it stands in the file once, after it was delivered again", () =>
    inFolder(async (_, path) => {
      const sink = await openJsonLinesSink({ ...FILE, path });
      const batch = recordedCalls(3);
      const over = new AbortController();
      const slow = sink.deliver(batch, over.signal);
      over.abort(new Error("no answer in time"));
      const again = sink.deliver(batch, SOON());
      const ends = await Promise.allSettled([slow, again]);
      expect(ends.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
      await sink.close();
      expect(linesOf(path).map((line) => line.trace_id)).toEqual(batch.map(({ record }) => record.traceId));
    }));

  test("a full file is rotated and compressed, and the oldest are removed; every line is in one of them, and no other user can read any", () =>
    inFolder(async (folder, path) => {
      let nowMs = Date.UTC(2026, 0, 1);
      const sink = await openJsonLinesSink(
        { ...FILE, path, maxBytes: 5000, keepFiles: 3 },
        { now: () => (nowMs += 1000) },
      );
      const calls = Array.from({ length: 12 }, () => recordedCalls(5));
      for (const batch of calls) await sink.deliver(batch, SOON());
      await sink.close();
      const files = readdirSync(folder).toSorted();
      expect(files.filter((name) => name.endsWith(".gz"))).toHaveLength(3);
      expect(files).toHaveLength(4);
      for (const name of files) expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600]);
      const kept = [...files.slice(1), files[0]!]
        .flatMap((name) => linesOf(join(folder, name)))
        .map(({ trace_id: id }) => id);
      const told = calls.flat().map(({ record }) => record.traceId);
      expect(kept).toEqual(told.slice(-kept.length));
      expect(kept.length).toBeGreaterThan(10);
    }));
  test("an old file is rotated, also when it is small", () =>
    inFolder(async (folder, path) => {
      let nowMs = Date.now();
      const sink = await openJsonLinesSink(
        { ...FILE, path, rotateMs: 3_600_000, compress: false },
        { now: () => nowMs },
      );
      await sink.deliver(recordedCalls(1), SOON());
      nowMs += 3_000_000;
      await sink.deliver(recordedCalls(1), SOON());
      expect(readdirSync(folder)).toHaveLength(1);
      nowMs += 700_000;
      await sink.deliver(recordedCalls(1), SOON());
      await sink.close();
      expect(
        readdirSync(folder)
          .toSorted()
          .map((name) => linesOf(join(folder, name)).length),
      ).toEqual([1, 2]);
    }));
  test("the newest rotated files are kept after the clock was set back, and an old file is rotated then too", () =>
    inFolder(async (folder, path) => {
      let nowMs = Date.now();
      const sink = await openJsonLinesSink(
        { ...FILE, path, rotateMs: 3_600_000, keepFiles: 2, compress: false },
        { now: () => nowMs },
      );
      const calls = Array.from({ length: 5 }, () => recordedCalls(1));
      for (const [index, batch] of calls.entries()) {
        await sink.deliver(batch, SOON());
        nowMs += index === 1 ? -86_400_000 : 3_600_000;
      }
      await sink.close();
      const names = readdirSync(folder).toSorted();
      expect(
        names
          .slice(1)
          .concat(names[0]!)
          .map((name) => linesOf(join(folder, name))[0]!.trace_id),
      ).toEqual(calls.slice(2).map(([call]) => call!.record.traceId));
    }));
  test("a half-written line is cut, and a rotated file that is not compressed is compressed at the next start", () =>
    inFolder(async (folder, path) => {
      writeFileSync(path, '{"trace_id":"a"}\n{"trace_id":"b"}\n{"trace_');
      writeFileSync(`${path}.2026-01-01T00-00-00.000Z`, '{"trace_id":"old"}\n');
      writeFileSync(`${path}.2026-01-02T00-00-00.000Z.gz.partial`, "half");
      const sink = await openJsonLinesSink({ ...FILE, path });
      const [call] = recordedCalls(1);
      await sink.deliver([call!], SOON());
      await sink.close();
      expect(linesOf(path).map(({ trace_id: id }) => id)).toEqual(["a", "b", call!.record.traceId]);
      expect(readdirSync(folder).toSorted()).toEqual(["calls.jsonl", "calls.jsonl.2026-01-01T00-00-00.000Z.gz"]);
      expect(linesOf(`${path}.2026-01-01T00-00-00.000Z.gz`)).toEqual([{ trace_id: "old" }]);
    }));
  test("a file without any line break is cut to nothing, and files of other programs stay", () =>
    inFolder(async (folder, path) => {
      writeFileSync(path, "x".repeat(200_000));
      for (const other of ["calls.jsonl.bak", "calls.jsonl.2026", "other.jsonl"])
        writeFileSync(join(folder, other), "mine");
      const sink = await openJsonLinesSink({ ...FILE, path, keepFiles: 0 });
      await sink.deliver(recordedCalls(1), SOON());
      await sink.close();
      expect(linesOf(path)).toHaveLength(1);
      expect(readdirSync(folder)).toHaveLength(4);
    }));
  test("a file that another program moved or removed is created again", () =>
    inFolder(async (_, path) => {
      const sink = await openJsonLinesSink({ ...FILE, path });
      await sink.deliver(recordedCalls(1), SOON());
      renameSync(path, `${path}.1`);
      await sink.deliver(recordedCalls(2), SOON());
      rmSync(path);
      await sink.deliver(recordedCalls(3), SOON());
      await sink.close();
      expect([linesOf(`${path}.1`).length, linesOf(path).length]).toEqual([1, 3]);
    }));
  test("a folder that another program removed is created again", () =>
    inFolder(async (folder) => {
      const path = join(folder, "logs", "calls.jsonl");
      const sink = await openJsonLinesSink({ ...FILE, path });
      await sink.deliver(recordedCalls(1), SOON());
      rmSync(join(folder, "logs"), { recursive: true });
      await sink.deliver(recordedCalls(2), SOON());
      await sink.close();
      expect([linesOf(path).length, statSync(join(folder, "logs")).mode & 0o777]).toEqual([2, 0o700]);
    }));
  test("lines that another process has appended meanwhile are not overwritten", () =>
    inFolder(async (_, path) => {
      const sink = await openJsonLinesSink({ ...FILE, path });
      await sink.deliver(recordedCalls(1), SOON());
      appendFileSync(path, '{"trace_id":"foreign"}\n');
      await sink.deliver(recordedCalls(1), SOON());
      await sink.close();
      expect(linesOf(path)).toHaveLength(3);
    }));
  test("a full disk fails the batch, which is then retried", async () => {
    const sink = await openJsonLinesSink({ ...FILE, path: "/dev/full" });
    expect(sink.deliver(recordedCalls(1), SOON())).rejects.toThrow("ENOSPC");
    await sink.close();
  });
});
