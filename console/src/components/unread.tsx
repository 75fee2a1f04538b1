// What stands in place of what is read, or above what an earlier reading has found: that it could not be read, or that it is being read.
import { Pending } from "./pending.tsx";
import { Problem } from "./problem.tsx";

interface UnreadProps {
  /** As `useRead` gives it. */
  readonly of: {
    readonly data: unknown;
    readonly error: Error | null;
    readonly refetch: () => Promise<unknown>;
  };
  /** Such as `The calls`. */
  readonly what: string;
  /** What is said to be read, such as `The list of calls`; `what`, if left out. */
  readonly pending?: string;
  readonly lines?: number;
}

/** Nothing, once it is there and no later reading of it has failed. */
export function Unread({ of: { data, error, refetch }, what, pending = what, lines }: UnreadProps) {
  if (error !== null) return <Problem what={`${what} could not be read.`} error={error} retry={() => void refetch()} />;
  return data === undefined ? <Pending what={pending} lines={lines} /> : null;
}
