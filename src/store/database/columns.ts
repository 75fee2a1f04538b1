// What columns hold of values, the same for every database: one pair of functions for each kind of column, and rows that are
// things whose members have the names of the columns in camel case. Drivers read and write every integer as a bigint,
// because a large one is silently rounded as a number.
import { PERMISSIONS, ROLES, type Permission, type Role } from "../../core/identity.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import { type CamelCase, camelCase } from "../../core/text/camel-case.ts";
import { StoreError } from "../store-error.ts";

export const toInteger = (value: number): bigint => BigInt(Math.round(value));

/** Throws when a number cannot represent the integer exactly. */
export function fromInteger(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number))
    throw new StoreError(
      "unusable",
      `The database contains the integer ${value}, which is not a time or duration in milliseconds and was not written by Dragoman. Restore a backup.`,
    );
  return number;
}

export const toIntegerOrNull = (value: number | null): bigint | null => (value === null ? null : toInteger(value));
export const fromIntegerOrNull = (value: bigint | null): number | null => (value === null ? null : fromInteger(value));

export function fromRole(word: string): Role {
  const role = ROLES.find((known) => known === word);
  if (role === undefined)
    throw new StoreError(
      "unusable",
      `The database contains the role ${JSON.stringify(word)}, which this version does not know. Run the version that wrote it.`,
    );
  return role;
}

/** A permission that this version does not know is left out, which can only reduce access. */
export function fromPermissions(text: string): readonly Permission[] {
  const values: unknown = JSON.parse(text);
  return PERMISSIONS.filter((permission) => Array.isArray(values) && values.includes(permission));
}

/** Parses a list that was written by this program. */
export function fromTexts(text: string): readonly string[] {
  const values: unknown = JSON.parse(text);
  return Array.isArray(values) ? values.filter((word): word is string => typeof word === "string") : [];
}

/** The text as every database can store it: PostgreSQL's type accepts neither NUL characters nor lone surrogates. */
export const storable = (given: string): string => given.toWellFormed().replaceAll("\0", "\uFFFD");

/** How a column keeps a member of a thing. */
interface Column<Member, Value> {
  keep(member: Member): Value;
  read(value: Value): Member;
}
export type Columns = Readonly<Record<string, Column<unknown, unknown>>>;

const column = <Member, Value>(
  keep: (member: Member) => Value,
  read: (value: Value) => Member,
): Column<Member, Value> => ({ keep, read });
const asItIs = <Value>() =>
  column<Value, Value>(
    (value) => value,
    (value) => value,
  );

export const text = asItIs<string>();
export const textOrNull = asItIs<string | null>();
/** `null` is kept as an empty text, for columns that are part of a key. */
export const textOrEmpty = column<string | null, string>(
  (word) => word ?? "",
  (kept) => (kept === "" ? null : kept),
);
export const integer = column(toInteger, fromInteger);
export const integerOrNull = column(toIntegerOrNull, fromIntegerOrNull);
/** 1 or 0. */
export const flag = column<boolean, bigint>(
  (is) => (is ? 1n : 0n),
  (kept) => kept !== 0n,
);
export const json = <Value>() =>
  column<Value, string>(
    (value) => JSON.stringify(value),
    (kept) => JSON.parse(kept) as Value,
  );
/** Drivers return bytes in a form of their own. */
export const bytes = column<Uint8Array, Uint8Array>(
  (value) => value,
  (kept) => new Uint8Array(kept),
);
/** Bytes as text in lower-case hex. */
export const hex = column<Uint8Array, string>(
  (value) => Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex"),
  (kept) => new Uint8Array(Buffer.from(kept, "hex")),
);
/** A JSON list of strings. */
export const texts = column<readonly string[], string>((words) => JSON.stringify(words), fromTexts);
export const role = column<Role, string>((known) => known, fromRole);
export const roleOrNull = column<Role | null, string | null>(
  (known) => known,
  (kept) => (kept === null ? null : fromRole(kept)),
);
export const permissions = column<readonly Permission[], string>((all) => JSON.stringify(all), fromPermissions);
/** One of these words; any other is read as the one that is given for it. */
export const oneOf = <Word extends string>(words: readonly Word[], otherwise: Word) =>
  column<Word, string>(
    (known) => known,
    (kept) => words.find((known) => known === kept) ?? otherwise,
  );
/** A word that this program has written. */
export const word = <Word extends string>() =>
  column<Word, string>(
    (known) => known,
    (kept) => kept as Word,
  );

export type RowOf<Of> = {
  readonly [Name in keyof Of]: Of[Name] extends Column<infer _Member, infer Value> ? Value : never;
};
/** The members that the columns keep. */
export type KeptIn<Of> = {
  readonly [Name in keyof Of & string as CamelCase<Name>]: Of[Name] extends Column<infer Member, infer _Value>
    ? Member
    : never;
};

const membersOf = memoizePerObject((columns: Columns) =>
  Object.entries(columns).map(([name, one]) => ({ name, member: camelCase(name), column: one })),
);

/** A row has no other columns, whatever else the thing has. */
export function rowOf<Of extends Columns>(columns: Of, thing: KeptIn<Of>): RowOf<Of> {
  const members = thing as Readonly<Record<string, unknown>>;
  const row: Record<string, unknown> = {};
  for (const { name, member, column: one } of membersOf(columns)) row[name] = one.keep(members[member]);
  return row as RowOf<Of>;
}

/** A snapshot reads every row, so this makes no objects in between. */
export function keptIn<Of extends Columns>(columns: Of, row: RowOf<Of>): KeptIn<Of> {
  const values = row as Readonly<Record<string, unknown>>;
  const kept: Record<string, unknown> = {};
  for (const { name, member, column: one } of membersOf(columns)) kept[member] = one.read(values[name]);
  return kept as KeptIn<Of>;
}
