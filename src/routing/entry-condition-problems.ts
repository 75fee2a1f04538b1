// Finds problems of `when` and `share` of targets and fallbacks: conditions that cannot be used, headers that the operator
// has not listed, and percentages that add up to more than all calls, or leave calls without a target.
import { didYouMean } from "../config/suggestion.ts";
import { compileCondition, RuleError } from "../policies/policy-rule.ts";
import type { Path } from "../config/problem.ts";

interface Problem {
  readonly path: Path;
  readonly message: string;
}

interface ConditionEntry {
  readonly when?: string | undefined;
  readonly share?: number | undefined;
}

/** `listed` has the headers that conditions may read; `null` when their names are not checked. */
export function whenProblems(
  { when }: ConditionEntry,
  at: Path,
  listed: ReadonlySet<string> | null,
): readonly Problem[] {
  if (when === undefined) return [];
  const path = [...at, "when"];
  try {
    const { headers } = compileCondition(when);
    const unlisted = listed === null ? undefined : [...headers].find((name) => !listed.has(name));
    return unlisted === undefined ? [] : [{ path, message: unlistedWords(unlisted, listed!) }];
  } catch (thrown) {
    if (thrown instanceof RuleError) return [{ path, message: `the condition cannot be used: ${thrown.message}` }];
    throw thrown;
  }
}

function unlistedWords(name: string, listed: ReadonlySet<string>): string {
  const lower = name.toLowerCase();
  if (listed.has(lower)) return `names of headers are in lower case here: ${JSON.stringify(lower)}`;
  return `the header ${JSON.stringify(name)} is not in \`server.condition_headers\`, which lists the headers that conditions may read${didYouMean(name, listed)}`;
}

/** `servesAll`: calls that none of the shares takes would have no target. */
export function shareProblems(
  entries: readonly (string | ConditionEntry)[],
  at: Path,
  servesAll: boolean,
): readonly Problem[] {
  const conditions = entries.map((entry) => (typeof entry === "string" ? {} : entry));
  if (conditions.every(({ share }) => share === undefined)) return [];
  // which calls a condition is true for is not known here, and shares of different calls may be more than 100 together
  const ofAll = decimalSum(conditions.flatMap(({ when, share = 0 }) => (when === undefined ? [share] : [])));
  if (ofAll > 100)
    return [{ path: at, message: `the shares of all calls add up to ${ofAll} %, which is more than 100 %` }];
  const isComplete = !servesAll || ofAll === 100 || conditions.some(({ share }) => share === undefined);
  return isComplete
    ? []
    : [
        {
          path: at,
          message: "every target has a share, so that some calls would have no target; leave it out at one of them",
        },
      ];
}

/** The digits that a sum of doubles has right. */
const DIGITS = 12;

/** The sum as people add up what they have written: 0.1 and 0.2 are 0.3. */
function decimalSum(numbers: readonly number[]): number {
  return Number(numbers.reduce((sum, each) => sum + each, 0).toPrecision(DIGITS));
}
