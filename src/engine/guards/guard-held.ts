// Applies guards to a conversation that this thread holds, while the search runs in a guard thread (promises 3.3, 5.8).
// This thread packs the texts for the search, determines the findings of each guard, and masks the conversation. None
// of its text goes to the thread that serves calls.
import { BlockedText, blocksUnsearched, UNSEARCHED } from "../../guards/guarded-text.ts";
import type { GuardPolicy } from "../../core/configured/policy.ts";
import { type Matches, NUMBERS_A_MATCH, receivedGuard, type SentGuard, type Texts } from "../../guards/guard-search.ts";
import { type PackedTexts, packTexts } from "../../guards/packed-texts.ts";
import { withinWork } from "../../guards/work-meter.ts";
import type { JsonEdit } from "../../core/request/json-edit.ts";
import { guardedConversation } from "./guard-request.ts";
import { guardedWritten } from "./guard-written.ts";
import { type PriorMatches, type TextGuard, textGuard } from "./text-guard.ts";
import type { HeldRequest } from "../long-bodies/held-conversation.ts";
import { priorMatches, textsOf } from "./guard-texts.ts";
import { underGuards } from "../policies/policy-violation.ts";

/** A finding of one guard in a conversation. */
export interface HeldFinding {
  /** The number of texts that come before it. Findings of several guards are reported in the order of the texts. */
  readonly at: number;
  /** Why the guard could not search, or could not mask what it found; null if it could. */
  readonly failure: string | null;
  /** True if the guard refuses the call. */
  readonly blocks: boolean;
}

/** The most steps to search texts again that a guard has changed; they take about half a second. */
const STEPS_AGAIN = 50_000_000;

/** The conversation with the members that are held beside it, or what the client wrote in the form of its operation. */
export type HeldPlace = "conversation" | "written";

export class HeldGuardSearch {
  readonly #held: HeldRequest;
  readonly #texts: Texts;
  #guards: readonly GuardPolicy[] = [];
  #prior: PriorMatches | null = null;

  /** What was masked, by its place and the ids of the policies that masked it. */
  readonly #masked = new Map<string, unknown>();

  constructor({ request, members }: HeldRequest) {
    this.#held = { request, members };
    this.#texts = textsOf((guard) => {
      this.#visit("conversation", guard);
      this.#visit("written", guard);
    });
  }

  #visit(where: HeldPlace, guard: TextGuard): void {
    const { request, members } = this.#held;
    if (where === "conversation") guardedConversation(request, members, guard);
    else if (request.written !== undefined) guardedWritten(request.written, guard);
  }

  packed(): PackedTexts {
    return packTexts(this.#texts);
  }

  /**
   * Takes the matches, or null if there was no answer in time. Returns the indexes of the guards that have findings.
   */
  found(guards: readonly SentGuard[], matches: Matches | null): readonly number[] {
    this.#guards = guards.map(receivedGuard);
    this.#prior = priorMatches(this.#texts, this.#guards, matches);
    if (matches === null) return this.#guards.map((_guard, place) => place);
    const speaking = new Set(matches.unsearched);
    for (let at = 1; at < matches.numbers.length; at += NUMBERS_A_MATCH) speaking.add(matches.numbers[at]!);
    return [...speaking].toSorted((one, other) => one - other);
  }

  /** Returns each finding of a guard once, up to the one for which it refuses the call. */
  findingsOf(place: number, where: HeldPlace): readonly HeldFinding[] {
    const policy = this.#guards[place]!;
    const findings: HeldFinding[] = [];
    // a guard that could not search reports that before the first text
    let at = -1;
    const onFinding = (_policy: GuardPolicy, failure: string | null = null): void => {
      if (!findings.some((one) => one.failure === failure)) findings.push({ at, failure, blocks: false });
    };
    try {
      const guard = textGuard([policy], onFinding, this.#prior);
      const counted: TextGuard = Object.assign(
        (...search: Parameters<TextGuard>) => {
          at += 1;
          return guard(...search);
        },
        {
          fixed(text: string) {
            at += 1;
            guard.fixed!(text);
          },
          divided(texts: readonly string[]) {
            at += 1;
            return guard.divided!(texts);
          },
        },
      );
      withinWork(
        STEPS_AGAIN,
        () => this.#visit(where, counted),
        () => findings.push({ at, failure: UNSEARCHED, blocks: blocksUnsearched(policy) }),
      );
    } catch (thrown) {
      if (!(thrown instanceof BlockedText)) throw thrown;
      findings[findings.length - 1] = { at, failure: thrown.failure, blocks: true };
    }
    return findings;
  }

  /** Returns the conversation with the matches of these guards masked. Throws `policy_violation`. */
  masked(ids: readonly string[]): HeldRequest {
    const { request, members } = this.#held;
    return this.#maskedOnce(`conversation\n${ids.join("\n")}`, ids, this.#held, (guard) => ({
      request: guardedConversation(request, members, guard),
      members,
    }));
  }

  /** Returns the changes that mask the matches of these guards in what the client wrote. Throws `policy_violation`. */
  maskedWritten(ids: readonly string[]): readonly JsonEdit[] {
    const { written } = this.#held.request;
    return this.#maskedOnce(
      `written\n${ids.join("\n")}`,
      ids,
      NOTHING_MASKED,
      (guard) => guardedWritten(written!, guard).masks!,
    );
  }

  #maskedOnce<T>(key: string, ids: readonly string[], unmasked: T, mask: (guard: TextGuard) => T): T {
    const known = this.#masked.get(key);
    if (known !== undefined) return known as T;
    const guards = this.#guards.filter(({ id }) => ids.includes(id));
    return underGuards(() =>
      withinWork(
        STEPS_AGAIN,
        () => {
          const masked = mask(textGuard(guards, () => {}, this.#prior));
          this.#masked.set(key, masked);
          return masked;
        },
        () => {
          const blocking = guards.find(blocksUnsearched);
          if (blocking !== undefined) throw new BlockedText(blocking, UNSEARCHED);
          return unmasked;
        },
      ),
    );
  }
}

const NOTHING_MASKED: readonly JsonEdit[] = [];
