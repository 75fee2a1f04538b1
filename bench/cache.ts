// `node bin/run.mjs bench/cache.ts`: what the response cache itself takes of a call, in CPU time, without the call around
// it: to find the address of a request, to look an answer up in each store and replay it, and to keep one. Some seconds.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AnswerCache } from "../src/cache/answer-cache.ts";
import { cacheSecrets } from "../src/cache/cache-secrets.ts";
import { FlightReader } from "../src/cache/flight.ts";
import { openMemoryCache } from "../src/cache/memory.ts";
import { type CacheQuestion, ResponseCache } from "../src/cache/response-cache.ts";
import { sealedCache } from "../src/cache/sealed.ts";
import { openSqliteCache } from "../src/cache/sqlite.ts";
import { cacheAddress } from "../src/engine/cache/cache-address.ts";
import { CachedAttempt } from "../src/engine/cache/cached-attempt.ts";
import { Cancellation } from "../src/core/concurrency/cancellation.ts";
import { systemClock } from "../src/core/clock.ts";
import type { UpstreamRequest, UpstreamResponse } from "../src/wire/upstream.ts";
import { chatBody } from "./load/answers.ts";
import { figuresTable } from "../docs/generators/markdown.ts";
import { targetFor } from "../test/harness/targets.ts";

const CALLS = 10_000;
const ROUNDS = 3;
const MIB = 1024 * 1024;

const masterKeys = [new Uint8Array(32).fill(7)];
const keys = cacheSecrets(() => masterKeys);
const asker = {
  operation: "chat.completions",
  tenantId: "default",
  projectId: "default",
  userId: null,
  tokenId: "0123456789ab",
  stream: false,
} as const;
const target = targetFor(
  { id: "openai", baseUrl: "https://provider.test/v1", settings: [] },
  { family: "custom", model: "gpt-5-mini" },
);
const request = (body: string): UpstreamRequest => ({
  url: "https://provider.test/v1/chat/completions",
  headers: { "content-type": "application/json" },
  body,
});
const answer = new Uint8Array(1100).fill(97);

/** The least CPU microseconds of one of many runs. */
async function micros(run: (index: number) => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    for (let index = 0; index < CALLS; index++) await run(index);
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / CALLS);
  }
  return least;
}

function cacheOver(store: AnswerCache): ResponseCache {
  return new ResponseCache({ store, keys, clock: systemClock, maxAnswerBytes: MIB, onFault: () => {} });
}

const body = chatBody("gpt-5-mini", false);
const signal = new Cancellation();
const encoded = { request: request(body), memo: null };
const addressOf = (cache: ResponseCache, of: UpstreamRequest): string =>
  cacheAddress(cache, asker, ["token", asker.tokenId], target, "fingerprint", of);

/** What an attempt does with an answer that was kept: its address, the look-up, and the response in place of an exchange. */
async function hit(cache: ResponseCache): Promise<Uint8Array> {
  const question = questionOf(cache, encoded.request);
  const found = await cache.lookUp(question, signal);
  if (found instanceof FlightReader) throw new Error("the answer was not kept");
  const attempt = new CachedAttempt({
    cache,
    question,
    scope: "token",
    encoded,
    found,
    nowMs: systemClock.now(),
    onTakenOver: () => {},
  });
  const response = await attempt.respond(() => Promise.reject(new Error("nothing is sent")), {
    isAccepted: false,
    refusal: null,
    refusedWith: () => {},
    fromCache: () => {},
  });
  return response.body.bytes(MIB);
}

const questionOf = (cache: ResponseCache, of: UpstreamRequest): CacheQuestion => ({
  tenantId: "default",
  key: addressOf(cache, of),
  route: "direct",
  maxAgeMs: 60_000,
  ttlMs: 60_000,
  reads: true,
});

/** What an attempt does in addition to its exchange when its answer is kept. */
async function miss(cache: ResponseCache, of: UpstreamRequest): Promise<void> {
  const question = questionOf(cache, of);
  const reader = await cache.lookUp(question, signal);
  if (!(reader instanceof FlightReader)) return;
  let rest: Uint8Array | null = answer;
  const read = (): Promise<Uint8Array | null> => {
    const piece = rest;
    rest = null;
    return Promise.resolve(piece);
  };
  const exchange = (): Promise<UpstreamResponse> =>
    Promise.resolve({
      status: 200,
      header: () => "application/json",
      body: {
        read,
        bytes: () => Promise.resolve(answer),
        text: () => Promise.resolve(""),
        accept: () => {},
        cancel: () => {},
      },
    });
  const response = await reader.respond(exchange, { isAccepted: true, refusal: null });
  await response.body.bytes(MIB);
  cache.keep(reader, question, { "content-type": "application/json" });
  reader.leave();
}

const folder = mkdtempSync(join(tmpdir(), "dragoman-bench-"));
const stores: readonly (readonly [string, AnswerCache])[] = [
  ["memory", openMemoryCache(64 * MIB)],
  [
    "SQLite, sealed",
    sealedCache(openSqliteCache({ file: join(folder, "cache.sqlite"), maxBytes: 64 * MIB }), keys, () => {}),
  ],
];
const rows: string[][] = [
  [
    "the address of a request of 1 KB",
    "",
    (await micros(() => addressOf(cacheOver(stores[0]![1]), encoded.request))).toFixed(1),
  ],
];
for (const [name, store] of stores) {
  const cache = cacheOver(store);
  await miss(cache, encoded.request);
  rows.push(["a hit", name, (await micros(() => hit(cache))).toFixed(1)]);
  let count = 0;
  rows.push(["what a miss adds", name, (await micros(() => miss(cache, request(`${body}${++count}`)))).toFixed(1)]);
}
for (const [, store] of stores) await store.close();
rmSync(folder, { recursive: true });
process.stdout.write(`${figuresTable(["an answer of 1.1 KB", "store", "CPU µs"], rows)}\n`);
