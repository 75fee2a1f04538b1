// SQL for ClickHouse: texts and numbers become literals, so that no value of a caller is ever read as SQL.
// https://clickhouse.com/docs/sql-reference/syntax#string
import { plain } from "./call-tags.ts";

export interface Sql {
  readonly text: string;
}

type Value = string | number | bigint | Sql | readonly (string | number | bigint)[];

/** Every value is a literal, but for other parts of SQL, which are inserted as they are. */
export function chSql(parts: TemplateStringsArray, ...values: readonly Value[]): Sql {
  return { text: parts.map((part, index) => (index === 0 ? part : literal(values[index - 1]!) + part)).join("") };
}

/** Only for texts that the program itself contains. */
export const rawSql = (text: string): Sql => ({ text });

export const joinSql = (parts: readonly Sql[], separator: string): Sql => ({
  text: parts.map(({ text }) => text).join(separator),
});

export const allSql = (conditions: readonly Sql[]): Sql =>
  conditions.length === 0 ? rawSql("1") : joinSql(conditions, " and ");

function literal(value: Value): string {
  if (typeof value === "number") return Number.isSafeInteger(value) ? String(value) : String(BigInt(Math.trunc(value)));
  if (typeof value === "bigint") return String(value);
  if (typeof value === "string") return `'${plain(value).replaceAll(/[\\']/g, (sign) => `\\${sign}`)}'`;
  if ("text" in value) return value.text;
  return `(${value.map((one) => literal(one)).join(", ")})`;
}
