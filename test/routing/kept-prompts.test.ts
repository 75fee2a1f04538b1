// What is known of prompts that were sent: why a call missed the provider's cache, and that the memory has bounds.
import { describe, expect, test } from "bun:test";
import type { Usage } from "../../src/core/chat.ts";
import { KeptPrompts, type SentPrompt } from "../../src/routing/kept-prompts.ts";
import { chanceOf, printedSeed } from "../harness/time/chance.ts";
import { drawCount } from "../harness/time/long-run.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const usage = (read: number | undefined, written?: number, length = 2000, writtenLong?: number): Usage => ({
  prompt_tokens: length,
  completion_tokens: 1,
  total_tokens: length + 1,
  prompt_tokens_details: {
    ...(read !== undefined && { cached_tokens: read }),
    ...(written !== undefined && { cache_write_tokens: written }),
    ...(writtenLong !== undefined && { cache_write_1h_tokens: writtenLong }),
  },
});

const prompt = (
  messages: readonly number[],
  { tools = 1, system = 2, atMs = 0, tookMs = 1000, ...rest }: Partial<SentPrompt> & Record<string, unknown> = {},
): SentPrompt => ({
  target: "one:m",
  credential: "a",
  ...rest,
  pieces: {
    tools: tools as number,
    system: system as number,
    messages: Uint32Array.from(messages),
    numbers: Uint32Array.from(messages, (_, at) => at + 1),
  },
  startMs: atMs as number,
  endMs: (atMs as number) + (tookMs as number),
});

/** Sends two prompts of one session. The first one is kept whole; of the second one, `read` tokens are. */
function second(next: SentPrompt, read = 0, first = usage(0, 1500)) {
  const prompts = new KeptPrompts();
  expect(prompts.answered("s", prompt([10, 11]), first)).toBeNull();
  return prompts.answered("s", next, usage(read, 200));
}

describe("[d16.2] why a call missed the provider's prompt cache", () => {
  const later = { atMs: MINUTE_MS };

  test("it did not where it read as much as was kept", () => {
    expect(second(prompt([10, 11, 12], later), 1500)).toBeNull();
    expect(second(prompt([10, 99], later), 1500)).toBeNull();
  });

  test.each([
    ["another target", prompt([10, 11, 12], { ...later, target: "two:m" }), { why: "other_target", earlier: "one:m" }],
    ["another key", prompt([10, 11, 12], { ...later, credential: "b" }), { why: "other_credential" }],
    ["other tools", prompt([10, 11, 12], { ...later, tools: 9 }), { why: "prompt_changed", at: "tools" }],
    ["no tools", prompt([10, 11, 12], { ...later, tools: 0 }), { why: "prompt_changed", at: "tools" }],
    ["another system text", prompt([10, 11, 12], { ...later, system: 9 }), { why: "prompt_changed", at: "system" }],
    ["another first message", prompt([9, 11, 12], later), { why: "prompt_changed", at: 1 }],
    ["another second message", prompt([10, 9, 12], later), { why: "prompt_changed", at: 2 }],
    ["a message that is gone", prompt([10], later), { why: "prompt_changed", at: 2 }],
    ["a summary of the conversation", prompt([77], later), { why: "prompt_changed", at: 1 }],
    ["time", prompt([10, 11, 12], { atMs: 7 * MINUTE_MS }), { why: "too_old", agoMs: 7 * MINUTE_MS }],
    [
      "time, where a later message has changed too",
      prompt([10, 9], { atMs: 7 * MINUTE_MS }),
      { why: "too_old", agoMs: 7 * MINUTE_MS },
    ],
    ["a changed first message, long after", prompt([9, 11], { atMs: 7 * MINUTE_MS }), { why: "prompt_changed", at: 1 }],
    ["nothing that is known", prompt([10, 11, 12], later), { why: "not_found" }],
  ] as const)("%s", (_, next, miss) => {
    expect(second(next)).toEqual(miss);
  });

  test("a message has its number among those of the client", () => {
    const next = prompt([10, 9, 12], later);
    const numbered = { ...next, pieces: { ...next.pieces, numbers: Uint32Array.of(2, 5, 6) } };
    expect(second(numbered)).toEqual({ why: "prompt_changed", at: 5 });
    const short = prompt([10], later);
    const gone = { ...short, pieces: { ...short.pieces, numbers: Uint32Array.of(4) } };
    expect(second(gone)).toEqual({ why: "prompt_changed", at: 5 });
  });

  test("what was asked to be kept for an hour is not too old before, also when it was only read since", () => {
    const next = prompt([10, 11, 12], { atMs: 30 * MINUTE_MS });
    expect(second(next, 0, usage(0, 1500, 2000, 1500))).toEqual({ why: "not_found" });
    const prompts = new KeptPrompts();
    prompts.answered("s", prompt([10]), usage(0, 1500, 2000, 1500));
    expect(prompts.answered("s", prompt([10, 11], { atMs: MINUTE_MS }), usage(1500, 0))).toBeNull();
    const last = prompt([10, 11, 12], { atMs: 2 * MINUTE_MS + HOUR_MS });
    expect(prompts.answered("s", last, usage(0, 0))).toEqual({ why: "too_old", agoMs: HOUR_MS + MINUTE_MS });
  });

  test("a vendor that does not tell what it wrote keeps every prompt that is long enough", () => {
    const next = prompt([10, 11, 12], later);
    expect(second(next, 0, usage(0))).toEqual({ why: "not_found" });
    expect(second(next, 0, usage(0, undefined, 1000))).toBeNull();
    expect(second(next, 128, usage(1024))).toEqual({ why: "not_found" });
  });

  test("nothing is said where nothing was kept, and of a vendor that tells nothing of its cache", () => {
    const next = prompt([10, 11, 12], later);
    expect(second(next, 0, usage(0, 0))).toBeNull();
    expect(second(next, 0, usage(undefined))).toBeNull();
    const prompts = new KeptPrompts();
    prompts.answered("s", prompt([10]), { prompt_tokens: 5000, completion_tokens: 1, total_tokens: 5001 });
    expect(prompts.hashes).toBe(0);
  });

  test("calls beside one another, and other conversations of the session, are not compared", () => {
    expect(second(prompt([10, 11, 12], { atMs: 500 }))).toBeNull();
    expect(second(prompt([77, 78], { ...later, system: 0 }))).toBeNull();
  });

  test("several conversations of one session go on beside one another", () => {
    const prompts = new KeptPrompts();
    const helper = { system: 0, tools: 0 };
    prompts.answered("s", prompt([10, 11]), usage(0, 1500));
    prompts.answered("s", prompt([50, 51], { ...helper, atMs: MINUTE_MS }), usage(0, 1100));
    const next = prompt([10, 11, 12], { atMs: 2 * MINUTE_MS });
    expect(prompts.answered("s", next, usage(1500, 100))).toBeNull();
    const helped = prompt([50, 99], { ...helper, atMs: 3 * MINUTE_MS });
    expect(prompts.answered("s", helped, usage(0, 100))).toEqual({ why: "prompt_changed", at: 2 });
  });

  test("another session knows nothing of it", () => {
    const prompts = new KeptPrompts();
    prompts.answered("s", prompt([10, 11]), usage(0, 1500));
    expect(prompts.answered("t", prompt([10, 11, 12], later), usage(0, 10))).toBeNull();
  });
});

describe("[d16.2] the memory for it", () => {
  test("is bounded however many sessions there are, and forgets the oldest first", () => {
    const prompts = new KeptPrompts();
    const messages = Array.from({ length: 4096 }, (_, at) => at + 1);
    for (let session = 0; session < 300; session++)
      prompts.answered(`s${session}`, prompt(messages, { atMs: session }), usage(0, 1500));
    expect(prompts.hashes).toBeLessThanOrEqual(1_000_000);
    expect(prompts.hashes).toBeGreaterThan(900_000);
    const again = prompt(messages, { atMs: MINUTE_MS });
    expect(prompts.answered("s299", again, usage(0, 0))).toEqual({ why: "not_found" });
    expect(prompts.answered("s0", again, usage(0, 0))).toBeNull();
  });

  test("forgets what is older than any vendor keeps", () => {
    const prompts = new KeptPrompts();
    prompts.answered("s", prompt([10, 11]), usage(0, 1500));
    const { hashes } = prompts;
    prompts.answered("t", prompt([10, 11], { atMs: 3 * HOUR_MS }), usage(0, 1500));
    expect(prompts.hashes).toBe(hashes);
    expect(prompts.answered("s", prompt([10, 11], { atMs: 3 * HOUR_MS }), usage(0, 0))).toBeNull();
  });

  test("counts what it holds, after any calls", () => {
    const chance = chanceOf(printedSeed("prompts that are kept"));
    const prompts = new KeptPrompts();
    let atMs = 0;
    for (let draw = drawCount(2000, 50_000); draw > 0; draw--) {
      atMs += chance.below(MINUTE_MS);
      const messages = Array.from({ length: chance.below(20) }, () => 1 + chance.below(3));
      const miss = prompts.answered(
        `s${chance.below(40)}`,
        prompt(messages, { atMs, tools: chance.below(2), system: chance.below(2) }),
        usage(chance.below(2) * 1500, chance.below(2) * 100),
      );
      if (miss?.why === "prompt_changed" && typeof miss.at === "number") expect(miss.at).toBeLessThanOrEqual(20);
    }
    // eight prompts of forty sessions, each with at most nineteen messages
    expect(prompts.hashes).toBeGreaterThan(0);
    expect(prompts.hashes).toBeLessThanOrEqual(40 * 8 * (19 + 64));
  });
});
