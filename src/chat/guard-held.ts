// A conversation that this thread holds, under guards that look at it in a thread of their own (promises 3.3, 5.8): its texts as they go there, what each guard says of
// them, and the conversation with words in the place of what was found. No text of it comes to the thread that serves calls.
import { BlockedText, type GuardPolicy } from "../auth/guarded-text.ts";
import { type Matches, receivedGuard, type SentGuard, type Texts } from "../auth/guard-search.ts";
import { type PackedTexts, packTexts } from "../auth/packed-texts.ts";
import { TooMuchWork, withinWork } from "../auth/work-meter.ts";
import { guardedConversation, type LookedAt, type TextGuard, textGuard, UNLOOKED } from "./guard-request.ts";
import type { HeldRequest } from "./held-conversation.ts";
import { lookedAt, textsOf } from "./guard-texts.ts";
import { blockedError } from "./policy-violation.ts";

/** What one guard says of a conversation. */
export interface HeldFinding {
  /** How many looks came before it: what several guards say is told in the order in which one walk would have come to it. */
  readonly at: number;
  /** Why it could not look, or not replace what it found. */
  readonly failure: string | null;
  /** It refuses the call for this. */
  readonly blocks: boolean;
}

/** Of the machine, for texts that are looked at once more because a guard has changed them: some half a second. */
const STEPS_AGAIN = 50_000_000;

export class HeldLook {
  readonly #held: HeldRequest;
  readonly #texts: Texts;
  #guards: readonly GuardPolicy[] = [];
  #ahead: LookedAt | null = null;

  /** With the words of guards in it, by the ids of their policies. */
  readonly #masked = new Map<string, HeldRequest>();

  constructor({ request, members }: HeldRequest) {
    this.#held = { request, members };
    this.#texts = textsOf((guard) => guardedConversation(request, members, guard));
  }

  packed(): PackedTexts {
    return packTexts(this.#texts);
  }

  /** Takes what was found; null: there was no answer in time. Gives the guards, by their place, that have something to say. */
  found(guards: readonly SentGuard[], matches: Matches | null): readonly number[] {
    this.#guards = guards.map(receivedGuard);
    this.#ahead = lookedAt(this.#texts, this.#guards, matches);
    if (matches === null) return this.#guards.map((_guard, place) => place);
    const speaking = new Set(matches.unlooked);
    for (let at = 1; at < matches.numbers.length; at += 5) speaking.add(matches.numbers[at]!);
    return [...speaking].toSorted((one, other) => one - other);
  }

  /** What a guard says: each thing once, and nothing after that for which it refuses the call. */
  saidBy(place: number): readonly HeldFinding[] {
    const policy = this.#guards[place]!;
    const said: HeldFinding[] = [];
    // a guard that has not looked says so before the first look
    let at = -1;
    const speaks = (_policy: GuardPolicy, failure: string | null = null): void => {
      if (!said.some((one) => one.failure === failure)) said.push({ at, failure, blocks: false });
    };
    try {
      const guard = textGuard([policy], speaks, this.#ahead);
      const counted: TextGuard = Object.assign(
        (...look: Parameters<TextGuard>) => {
          at += 1;
          return guard(...look);
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
      withinWork(STEPS_AGAIN, () => guardedConversation(this.#held.request, this.#held.members, counted));
    } catch (thrown) {
      if (thrown instanceof TooMuchWork) {
        const blocks = policy.mode === "enforce" && policy.guard.onError === "block";
        return [...said, { at, failure: UNLOOKED, blocks }];
      }
      if (!(thrown instanceof BlockedText)) throw thrown;
      said[said.length - 1] = { at, failure: thrown.failure, blocks: true };
    }
    return said;
  }

  /** What is held, with words in the place of what these guards have found. Throws `policy_violation`. */
  masked(ids: readonly string[]): HeldRequest {
    const key = ids.join("\n");
    const known = this.#masked.get(key);
    if (known !== undefined) return known;
    const { request, members } = this.#held;
    const guards = this.#guards.filter(({ id }) => ids.includes(id));
    try {
      const guard = textGuard(guards, () => {}, this.#ahead);
      const masked = { request: withinWork(STEPS_AGAIN, () => guardedConversation(request, members, guard)), members };
      this.#masked.set(key, masked);
      return masked;
    } catch (thrown) {
      if (!(thrown instanceof TooMuchWork)) throw blockedError(thrown);
      const blocking = guards.find(({ guard }) => guard.onError === "block");
      if (blocking === undefined) return this.#held;
      throw blockedError(new BlockedText(blocking, UNLOOKED));
    }
  }
}
