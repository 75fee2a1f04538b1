// A number of calls that leads to them; none has nothing to lead to.
import { wholeCount } from "../../format/count.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";

interface CallsLinkProps {
  readonly calls: number;
  /** Of the list; null where the list has no filter for these calls. */
  readonly to: string | null;
  /** What stands behind the number, such as ` failed`. */
  readonly word?: string;
}

export function CallsLink({ calls, to, word = "" }: CallsLinkProps) {
  const text = wholeCount(calls) + word;
  return calls === 0 || to === null ? <>{text}</> : <ScopedLink to={to}>{text}</ScopedLink>;
}
