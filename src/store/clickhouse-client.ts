// Requests to ClickHouse over its HTTP interface: statements, rows to insert, rows that are read as JSON. A server that
// cannot be reached, is too slow or refuses becomes a StoreError. https://clickhouse.com/docs/interfaces/http
import { messageOf } from "../core/thrown.ts";
import type { Sql } from "./clickhouse-sql.ts";
import { StoreError } from "./store.ts";

export interface ClickHouseOptions {
  /** `http://user:password@host:8123/database`; never part of a message. */
  readonly url: string;
  /** 10,000 by default. */
  readonly timeoutMs?: number;
}

export type ClickHouseRow = Readonly<Record<string, string | number | null | readonly string[]>>;

export interface ClickHouse {
  run(statement: Sql): Promise<void>;
  /** Integers of 64 bits and more are texts. */
  read(query: Sql): Promise<readonly ClickHouseRow[]>;
  /** In one request. An insertion that failed may have been carried out. */
  insert(table: string, rows: readonly object[]): Promise<void>;
}

const TIMEOUT_MS = 10_000;
const READING =
  "settings do_not_merge_across_partitions_select_final = 1, output_format_json_quote_64bit_integers = 1, join_use_nulls = 0 format JSONEachRow";
const MOST_OF_AN_ERROR = 300;

/** Throws StoreError `unusable` for an address that is none. */
export function openClickHouse({ url, timeoutMs = TIMEOUT_MS }: ClickHouseOptions): ClickHouse {
  const { address, headers, place } = parsed(url);
  const send = async (body: string): Promise<string> => {
    let response: Response;
    let text: string;
    try {
      response = await fetch(address, { method: "POST", body, headers, signal: AbortSignal.timeout(timeoutMs) });
      text = await response.text();
    } catch (thrown) {
      const isLate = thrown instanceof Error && thrown.name === "TimeoutError";
      throw new StoreError(
        isLate ? "busy" : "unusable",
        isLate
          ? `ClickHouse at ${place} has not answered within ${timeoutMs} ms.`
          : `ClickHouse at ${place} cannot be reached: ${messageOf(thrown)}`,
        thrown,
      );
    }
    if (!response.ok)
      throw new StoreError(
        "unusable",
        `ClickHouse at ${place} refuses a statement with status ${response.status}: ${text.slice(0, MOST_OF_AN_ERROR)}`,
      );
    return text;
  };
  return {
    run: async ({ text }) => void (await send(text)),
    read: async ({ text }) =>
      (await send(`${text} ${READING}`))
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as ClickHouseRow),
    insert: async (table, rows) => {
      if (rows.length === 0) return;
      const lines = rows.map((row) => JSON.stringify(row)).join("\n");
      await send(`insert into ${table} settings max_partitions_per_insert_block = 0 format JSONEachRow\n${lines}\n`);
    },
  };
}

function parsed(text: string) {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw new StoreError(
      "unusable",
      "The address of ClickHouse must look like http://user:password@host:8123/database.",
    );
  const database = decodeURIComponent(url.pathname.slice(1)) || "default";
  const headers = {
    "x-clickhouse-database": database,
    ...(url.username !== "" && { "x-clickhouse-user": decodeURIComponent(url.username) }),
    ...(url.password !== "" && { "x-clickhouse-key": decodeURIComponent(url.password) }),
  };
  return { address: `${url.origin}/`, headers, place: url.host };
}
