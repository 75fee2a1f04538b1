// What the clients and the provider of the model know of its calls, and the checks that compare a gateway and its
// database with it.
import type { MemoryLimits } from "../../../../src/admission/memory.ts";
import { account, type Units, USERS } from "./accounts.ts";
import type { ModelDatabase } from "./databases.ts";

export interface Expected {
  readonly tokens: number;
  /** Reservations that the row may have as well. */
  readonly others?: readonly number[];
  readonly isSettled: boolean;
}

/** What the clients and the provider know. */
export interface Book {
  /** Calls that must have a row. */
  readonly rows: Map<string, Expected>;
  /** Calls that limits count. */
  readonly counted: Map<string, Units & { readonly user: string }>;
}

/** What a start has reported. */
export interface Told {
  readonly words: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** `copiedMs`: when the copy was made that was restored last; null: none was. `lost`: rows that the starts have to have missed. */
export function judgeTold(
  told: readonly Told[],
  { copiedMs, lost }: { readonly copiedMs: number | null; readonly lost: number },
): void {
  const isTold = (last: unknown): boolean => last === null || Date.parse(last as string) <= copiedMs!;
  if (
    copiedMs !== null &&
    !told.some(({ words, fields }) => words.includes("is a copy") && isTold(fields["last_call"]))
  )
    throw new Error(`no start has told that the folder was a copy: ${JSON.stringify(told)}`);
  const toldOf = sum(
    told.filter(({ words }) => words.includes("are lost unless")).map(({ fields }) => Number(fields["lost"])),
  );
  if (toldOf < lost)
    throw new Error(
      `${lost} rows went with the restore of the database, and the starts have told of ${toldOf}: ${JSON.stringify(told)}`,
    );
}

export function judgeCounts(limits: MemoryLimits, counted: Book["counted"], when: string): void {
  const calls = [...counted.values()];
  const expected = {
    requests: calls.length,
    nano_usd: sum(calls.map(({ nanoUsd }) => nanoUsd)),
    ...Object.fromEntries(
      USERS.map((user) => [user, sum(calls.filter((call) => call.user === user).map(({ tokens }) => tokens))]),
    ),
  };
  const used = (of: typeof account.requests): number => (limits.status(of) as { readonly used: number }).used;
  const found = {
    requests: used(account.requests),
    nano_usd: used(account.nano_usd),
    ...Object.fromEntries(USERS.map((user) => [user, used(account.tokens[user]!)])),
  };
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`${when} limits count ${JSON.stringify(found)}, and the book says ${JSON.stringify(expected)}`);
}

/** `maybe`: calls of which nothing is promised. */
export async function judgeRows(
  database: ModelDatabase,
  expected: Book["rows"],
  maybe: ReadonlySet<string>,
): Promise<void> {
  const found = await database.calls();
  const stored = new Map(found.map((call) => [call.traceId, call]));
  for (const [traceId, { tokens, isSettled, others = [] }] of expected) {
    const row = stored.get(traceId);
    if (row === undefined)
      throw new Error(
        `a call of ${tokens} tokens has no row (${isSettled ? "a client saw its end" : "it was under way at a kill"})`,
      );
    if (![tokens, ...others].includes(row.tokens) || row.isSettled !== isSettled)
      throw new Error(
        `a call has ${row.tokens} tokens, settled: ${row.isSettled}; the book says ${tokens}, ${isSettled}`,
      );
  }
  for (const { traceId } of found)
    if (!expected.has(traceId) && !maybe.has(traceId)) throw new Error("a row is of a call that is in no book");
  const sums = await database.sums();
  const rows = { calls: found.length, tokens: sum(found.map(({ tokens }) => tokens)) };
  if (JSON.stringify(sums) !== JSON.stringify(rows))
    throw new Error(`the sums have ${JSON.stringify(sums)}, and the rows ${JSON.stringify(rows)}`);
}
