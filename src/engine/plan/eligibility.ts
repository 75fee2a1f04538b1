// Which targets and fallbacks of routes are for one call (promise 16.1): those whose `when` is true of it, and in whose
// `share` it is. What was decided of a list stands for the whole call, in all rounds of tools.

// Decides (targets and attempts): Which targets and fallbacks does a call pass over because of `when` and `share`? By:
// `Eligibility`. Also: `route-stages.ts` (`stageOf`, `entryStages`). Rule: A condition that is false or
// cannot be evaluated passes its entry over. The shares of one list never overlap. A share does not apply to a target that
// the request names.
import type { EntryCondition } from "../../core/configured/route.ts";
import { compileCondition } from "../../policies/policy-rule.ts";
import { boundedText } from "../../policies/policy-facts.ts";
import { shareOfKey } from "../../core/rendezvous.ts";
import { CallFacts, type FactSource } from "../policies/call-facts.ts";

export interface EligibilitySource extends Omit<FactSource, "listedHeaders"> {
  readonly http: Headers;
  /** The headers that conditions may read. */
  readonly conditionHeaders: readonly string[];
  /** By which calls without a sticky key are divided into shares. */
  readonly traceId: string;
}

/** Why an entry of a route is not for the call, or the share of calls that the call is in. */
export interface EntryVerdict {
  /** Such as `` `when` is false ``; `null` when the entry is for the call. */
  readonly passedOver: string | null;
  /** In percent; `null` when the entry has no share, or the call is not in it. */
  readonly share: number | null;
  /** Nothing but its share leaves the call out. */
  readonly isOutsideShare: boolean;
  /** The condition could not be evaluated. */
  readonly hasFailed: boolean;
}

export const FOR_THE_CALL: EntryVerdict = { passedOver: null, share: null, isOutsideShare: false, hasFailed: false };

export class Eligibility {
  readonly #source: EligibilitySource;
  readonly #facts: CallFacts;
  readonly #verdicts = new Map<readonly EntryCondition[], ReadonlyMap<EntryCondition, EntryVerdict>>();

  /** A share has been decided by the trace id, perhaps in place of a sticky key. */
  isDividedByTrace = false;

  constructor(source: EligibilitySource) {
    this.#source = source;
    // conditions see what policies see: the client's own tools, and none that the gateway offers
    const sent = source.sent.offered?.requested ?? source.sent;
    this.#facts = new CallFacts({ ...source, sent, listedHeaders: () => listedHeaders(source) });
  }

  /** `place` names the list, so that the shares of different lists take different calls. */
  among<T extends EntryCondition>(
    entries: readonly T[],
    place: string,
    stickyKey: string | null,
  ): ReadonlyMap<T, EntryVerdict> {
    const known = this.#verdicts.get(entries);
    if (known !== undefined) return known as ReadonlyMap<T, EntryVerdict>;
    const fresh = this.#judge(entries, place, stickyKey);
    this.#verdicts.set(entries, fresh);
    return fresh;
  }

  /** Each share begins where the one before it ends, among the entries whose condition is true. */
  #judge<T extends EntryCondition>(
    entries: readonly T[],
    place: string,
    stickyKey: string | null,
  ): ReadonlyMap<T, EntryVerdict> {
    const verdicts = new Map<T, EntryVerdict>();
    const isDivided = entries.some(({ share }) => share !== undefined);
    const { traceId } = this.#source;
    const key = stickyKey ?? traceId;
    if (isDivided && key === traceId) this.isDividedByTrace = true;
    const at = isDivided ? shareOfKey(key, place) * 100 : 0;
    let from = 0;
    for (const entry of entries) {
      const { when, share } = entry;
      const refusal = when === undefined ? null : this.#refusalBy(when);
      if (refusal !== null) verdicts.set(entry, { ...FOR_THE_CALL, ...refusal });
      else if (share === undefined) verdicts.set(entry, FOR_THE_CALL);
      else {
        const isInside = at >= from && at < from + share;
        from += share;
        verdicts.set(entry, isInside ? { ...FOR_THE_CALL, share } : outside(share));
      }
    }
    return verdicts;
  }

  #refusalBy(when: string): Pick<EntryVerdict, "passedOver" | "hasFailed"> | null {
    try {
      return compileCondition(when).holds(this.#facts) ? null : { passedOver: "`when` is false", hasFailed: false };
    } catch (thrown) {
      const [why] = (thrown as Error).message.split("\n");
      return { passedOver: `\`when\` could not be evaluated: ${why!}`, hasFailed: true };
    }
  }
}

function outside(share: number): EntryVerdict {
  return { ...FOR_THE_CALL, passedOver: `the call is not in its share of ${share} %`, isOutsideShare: true };
}

/** A header that was not sent is an empty text, so that a condition need not ask for it first. */
function listedHeaders({ http, conditionHeaders }: EligibilitySource): ReadonlyMap<string, string> {
  return new Map(conditionHeaders.map((name) => [name, boundedText(http.get(name) ?? "")]));
}
