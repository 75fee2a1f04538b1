// Applies guards with services to the chunks of a stream (promise 16.4): text is collected in windows, each window is
// judged with the end of the one before it, and nothing leaves before its verdict. Guards without a service that search
// in this thread take part in the same windows, so that no guard sees another's mask.
import type { ChatChunk } from "../../core/chat.ts";
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import type { DetectorRun, GuardPolicy, TextWindow } from "../../core/configured/policy.ts";
import { isHighSurrogate } from "../../core/text/surrogates.ts";
import { type Found, noteUnsearched, type GuardFinding, UNSEARCHED } from "../../guards/guarded-text.ts";
import { search, type Texts } from "../../guards/guard-search.ts";
import { underGuards } from "../policies/policy-violation.ts";
import { type CallServices, judgedTexts, SERVICE_MASK, withVerdicts } from "./outside-verdicts.ts";
import { GuardedChunks, textsIn } from "./guarded-chunks.ts";
import { searchInTurns } from "./search-in-turns.ts";
import { SEARCH_MS } from "./guard-threads.ts";
import type { StreamUnderGuards } from "./stream-under-guards.ts";
import type { Span } from "./outside-guards.ts";
import { isSigned, withSignaturesApart } from "./signed-chunks.ts";
import { priorMatches } from "./guard-texts.ts";
import { textGuard } from "./text-guard.ts";

/** One text of the stream, as the service of one guard judges it. */
class ServiceRun implements DetectorRun {
  readonly policy: GuardPolicy;
  /** What the service is asked about: what has not left yet, from the position `#base` on; it was judged up to `#judged`. */
  window = "";
  #base = 0;
  #judged = 0;
  #found: Span[] = [];

  readonly #isOver: (run: ServiceRun) => void;

  constructor(policy: GuardPolicy, isOver: (run: ServiceRun) => void) {
    this.policy = policy;
    this.#isOver = isOver;
  }

  advance({ text, base, limit, isEnd }: TextWindow, found: (start: number, end: number) => void): number {
    this.window += text.slice(this.#base + this.window.length - base, limit - base);
    for (const { start, end } of this.#found.splice(0)) found(start, end);
    if (isEnd) this.#isOver(this);
    return this.#base;
  }

  /** The text that was not judged yet has at least `least` characters. */
  waits(least: number): boolean {
    return this.#base + this.window.length - this.#judged >= Math.max(1, least);
  }

  /** Takes the findings in the window. What of it is needed for the next one is kept. */
  judged(window: string, findings: readonly Span[]): void {
    for (const { start, end } of findings) this.#found.push({ start: start + this.#base, end: end + this.#base });
    this.#judged = this.#base + window.length;
    let kept = Math.max(0, window.length - this.policy.guard.service!.overlapCharacters);
    if (kept > 0 && isHighSurrogate(window.charCodeAt(kept - 1))) kept -= 1;
    this.window = this.window.slice(kept);
    this.#base += kept;
  }
}

/** The same guard for one stream, whose runs are noted. */
function windowed(policy: GuardPolicy, runs: Set<ServiceRun>): GuardPolicy {
  if (policy.guard.service === null) return policy;
  const open = (): DetectorRun => {
    const run = new ServiceRun(policy, (over) => runs.delete(over));
    runs.add(run);
    return run;
  };
  const detector = { mask: SERVICE_MASK, folds: false, source: "service", work: 0, isReady: true, open };
  return { ...policy, guard: { ...policy.guard, work: 0, detectors: [detector] } };
}

/** Asks the services of guards, and reports what becomes of the text when one gives no verdict. */
interface Asking {
  /** The guards that have a service. */
  readonly asked: readonly GuardPolicy[];
  readonly judge: (policy: GuardPolicy, texts: readonly string[]) => ReturnType<CallServices["judge"]>;
  /** Throws where the guard blocks what was not searched. */
  readonly failed: (policy: GuardPolicy, failure: string) => void;
}

export function openStreamAtServices(
  guards: readonly GuardPolicy[],
  onFinding: GuardFinding,
  services: CallServices,
  signal: CancelSignal | null,
  hasBlocks: boolean,
): StreamUnderGuards {
  const asking: Asking = {
    asked: guards.filter(({ guard }) => guard.service !== null),
    judge: (policy, texts) => services.judge(policy, texts, "output", signal),
    failed: (policy, failure) => underGuards(() => noteUnsearched(policy, onFinding, failure)),
  };
  const runs = new Set<ServiceRun>();
  const inWindows = guards.map((policy) => windowed(policy, runs));
  const given = new Map(inWindows.map((copy, index) => [copy, guards[index]!]));
  const findings: GuardFinding = (policy, failure) => onFinding(given.get(policy) ?? policy, failure);
  const whole = openWholeTexts(guards, asking, signal);
  const guarded = new GuardedChunks(inWindows, findings, {
    whole: () => textGuard(guards, onFinding, whole.matches),
    hasBlocks,
  });
  return {
    async take(chunks) {
      const shown: ChatChunk[] = [];
      for (const chunk of chunks.flatMap(withSignaturesApart).flatMap((one) => guarded.parts(one))) {
        const texts = textsIn(chunk);
        const isLong = guarded.isLong(chunk);
        await whole.judge(texts.whole, isLong);
        if (isSigned(chunk) || guarded.endsText(chunk)) await judgeWindows(runs, asking, true);
        if (isLong) await searchInTurns(signal, () => guarded.searchPieces(texts.pieces));
        shown.push(...guarded.take(chunk));
        if (await judgeWindows(runs, asking, false)) shown.push(...guarded.released());
      }
      return shown;
    },
    async end() {
      await judgeWindows(runs, asking, true);
      return guarded.end();
    },
    close: () => runs.clear(),
  };
}

/**
 * Asks about all texts with enough new characters; about all texts at all where `isEnd` is set. Returns whether anything
 * was judged.
 */
async function judgeWindows(
  runs: ReadonlySet<ServiceRun>,
  { asked, judge, failed }: Asking,
  isEnd: boolean,
): Promise<boolean> {
  const waiting = asked
    .map((policy) => ({
      policy,
      due: [...runs].filter(
        (run) => run.policy === policy && run.waits(isEnd ? 1 : policy.guard.service!.windowCharacters),
      ),
    }))
    .filter(({ due }) => due.length > 0);
  const verdicts = await Promise.all(
    waiting.map(async ({ policy, due }) => {
      const windows = due.map(({ window }) => window);
      return { policy, due, windows, ...(await judge(policy, windows)) };
    }),
  );
  for (const { policy, due, windows, findings: found, failure } of verdicts) {
    if (found === null) failed(policy, failure!);
    for (const [index, run] of due.entries()) run.judged(windows[index]!, found?.[index] ?? []);
  }
  return verdicts.length > 0;
}

/** Texts of chunks that come in one piece. */
function openWholeTexts(guards: readonly GuardPolicy[], { asked, judge, failed }: Asking, signal: CancelSignal | null) {
  const own = guards.filter(({ guard }) => guard.service === null);
  const [plain, json] = [new Map<string, readonly Found[]>(), new Map<string, readonly Found[]>()];
  return {
    /** What was found in those that were judged. */
    matches: { plain, json, unsearched: new Map() },
    /**
     * Has the services judge the texts of a chunk, and searches the same texts. Services judge no names, so that a chunk that
     * has only names is searched here only if it is long.
     */
    async judge(texts: Texts, isLong: boolean): Promise<void> {
      const judged = judgedTexts(texts);
      if (judged.length === 0 && !isLong) return;
      const verdicts = await Promise.all(asked.map(async (policy) => [policy, await judge(policy, judged)] as const));
      const matches = withVerdicts(asked, texts, NOTHING_FOUND, new Map(verdicts));
      const found = priorMatches(texts, asked, { ...matches, unsearched: [] });
      for (const [policy, { failure }] of verdicts) if (failure !== null) failed(policy, failure);
      const matchesOfOwn = await searchInTurns(signal, (spentMs) => search(texts, own, SEARCH_MS, spentMs));
      for (const rank of matchesOfOwn.unsearched) failed(own[rank]!, UNSEARCHED);
      const local = priorMatches(texts, own, { ...matchesOfOwn, unsearched: [] });
      for (const [text, one] of found.plain) plain.set(text, [...one, ...local.plain.get(text)!]);
      for (const [text, one] of found.json) json.set(text, [...one, ...local.json.get(text)!]);
    },
  };
}

/** Of a text that was not searched. */
export const NOTHING_FOUND = { numbers: new Int32Array(), masks: [], unsearched: [] };
