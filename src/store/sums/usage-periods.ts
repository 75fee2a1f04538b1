// Divides a period, which may begin, end and be cut at any moment, into whole hours, for which there are sums, and
// pieces of hours, for which calls are counted singly. A whole hour with a cut within counts where it begins, and what
// is behind the cut is counted and moved, so that half an hour is counted and not two. For end users the same is done
// with days.

// Decides (records and configuration): Which hours of a report are read from sums, and which from single calls? By:
// `dividedPeriod`. Also: `usage-source.ts` (`usageSource`). Rule: Whole hours from sums; an hour that a period or a
// midnight divides from calls, as long as they are kept.

/** A piece of an hour, which has no cut within. */
export interface Piece {
  readonly fromMs: number;
  readonly toMs: number;
  /** Where its calls count as well, as a part of a whole hour, and have to be taken from; `null` if nowhere. */
  readonly takenFromMs: number | null;
}

/** The parts of a period. Less what is taken from them, every call of the period is in exactly one of them. */
export type DividedPeriod = ReturnType<typeof dividedPeriod>;

/** The hours within which there is a cut. */
export function cutHours(cuts: readonly number[], spanMs: number): readonly number[] {
  return [...new Set(cuts.filter((cut) => cut % spanMs !== 0).map((cut) => roundedDown(cut, spanMs)))];
}

/** The beginning of the span in which a time is. */
export const roundedDown = (timeMs: number, spanMs: number): number => Math.floor(timeMs / spanMs) * spanMs;
export const roundedUp = (timeMs: number, spanMs: number): number => Math.ceil(timeMs / spanMs) * spanMs;

/**
 * `inner` are the cuts between both ends, in ascending order; an end that is `null` is open. `canDivide` says whether
 * all calls of an hour are kept.
 */
export function dividedPeriod(
  fromMs: number | null,
  toMs: number | null,
  inner: readonly number[],
  spanMs: number,
  canDivide: (hourMs: number) => boolean,
) {
  const cuts = [...(fromMs === null ? [] : [fromMs]), ...inner, ...(toMs === null ? [] : [toMs])];
  const hours = cutHours(cuts, spanMs);
  const divided = hours.filter(canDivide);
  const isDivided = new Set(divided);
  const settled = (cut: number): number =>
    cut % spanMs === 0 || isDivided.has(roundedDown(cut, spanMs)) ? cut : roundedDown(cut, spanMs) + spanMs;
  const first = fromMs === null ? null : settled(fromMs);
  const last = toMs === null ? null : settled(toMs);
  const wholeFromMs = first === null ? null : roundedUp(first, spanMs);
  const wholeToMs = last === null ? null : roundedDown(last, spanMs);
  const pieces = divided.flatMap((hourMs): readonly Piece[] => {
    const isWhole = hourMs >= (wholeFromMs ?? -Infinity) && hourMs < (wholeToMs ?? Infinity);
    const low = Math.max(hourMs, first ?? hourMs);
    const high = Math.min(hourMs + spanMs, last ?? hourMs + spanMs);
    const edges = [low, ...cuts.filter((cut) => cut > low && cut < high), high];
    return edges
      .slice(1)
      .map((edge, index): Piece => ({ fromMs: edges[index]!, toMs: edge, takenFromMs: isWhole ? hourMs : null }))
      .filter((piece) => piece.toMs > piece.fromMs && piece.fromMs !== piece.takenFromMs);
  });
  return {
    /** The whole hours: from and to. `null` has no end. */
    wholeFromMs,
    wholeToMs,
    pieces,
    /**
     * The hours that cannot be divided, because their calls are not kept any more: each counts as a whole where it
     * begins.
     */
    undivided: hours.filter((hourMs) => !isDivided.has(hourMs)),
  };
}
