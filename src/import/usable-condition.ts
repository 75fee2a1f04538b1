// Whether a condition that an import makes can be a condition here.
import { compileCondition, RuleError } from "../policies/policy-rule.ts";

/** Returns what is wrong with it; `null` for one that can be used. */
export function conditionProblem(condition: string): string | null {
  try {
    compileCondition(condition);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof RuleError)) throw thrown;
    return thrown.message.split("\n")[0]!;
  }
}

/** The text as a part of a pattern, in which none of its characters has a meaning. */
export function literally(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}
