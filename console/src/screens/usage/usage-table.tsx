// The sums by their dimensions, the dearest first, with a bar for the share of the cost, or of the calls where nothing has a price.
import type { Usage, UsageRow } from "../../api/types.ts";
import { MoneyText } from "../../components/money-text.tsx";
import { TableBox } from "../../components/table-box.tsx";
import { wholeCount } from "../../format/count.ts";
import { dayBounds } from "../../format/day.ts";
import { nanoUsd } from "../../format/money.ts";
import { duration, type Zone } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import { useZone } from "../../use-zone.ts";
import { CallsLink } from "../calls/calls-link.tsx";
import { type CallsTime, summedPath, timeOfRange } from "../calls/calls-path.ts";
import { termText } from "../calls/filter.ts";
import type { TimeRange } from "../calls/range.ts";
import { DIMENSIONS } from "./dimensions.ts";

interface UsageTableProps {
  readonly by: readonly string[];
  readonly usage: Usage;
  readonly range: TimeRange;
}

const HEADS = ["Cost", "Calls", "Failed", "Tokens in", "Tokens out", "From cache", "Cache saved", "Median"];
const PARTS = 1000n;

export function UsageTable({ by, usage, range }: UsageTableProps) {
  const zone = useZone();
  const most = usage.data.reduce((largest, row) => (sizeOf(row) > largest ? sizeOf(row) : largest), 1n);
  return (
    <TableBox label="Usage">
      <table>
        <caption className="unseen">Usage by {by.map((name) => DIMENSIONS[name]).join(" and ")}</caption>
        <thead>
          <tr>
            {by.map((name) => (
              <th key={name} scope="col">
                {capital(DIMENSIONS[name]!)}
              </th>
            ))}
            <th scope="col" className="share-cell">
              <span className="unseen">Share</span>
            </th>
            {HEADS.map((head) => (
              <th key={head} scope="col" className="number">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {usage.data.map((row) => (
            <Row
              key={JSON.stringify(row.group)}
              row={row}
              by={by}
              range={range}
              share={Number((sizeOf(row) * PARTS) / most)}
            />
          ))}
        </tbody>
        {usage.totals !== null && (
          <tfoot>
            <tr>
              <th scope="row">All</th>
              {by.slice(1).map((name) => (
                <td key={name} />
              ))}
              <td className="share-cell" />
              <Sums row={usage.totals} link={(failed) => callsOf({}, [], range, zone, failed)} />
            </tr>
          </tfoot>
        )}
      </table>
    </TableBox>
  );
}

function sizeOf({ cost_usd: cost, calls }: UsageRow): bigint {
  // a call without a price still shows
  return (nanoUsd(cost) ?? 0n) * 1_000_000n + BigInt(calls);
}

function Row({
  row,
  by,
  range,
  share,
}: {
  readonly row: UsageRow;
  readonly by: readonly string[];
  readonly range: TimeRange;
  readonly share: number;
}) {
  const zone = useZone();
  return (
    <tr>
      {by.map((name, at) => {
        const text = <span className="cut">{visibleText(row.group[name] ?? "none")}</span>;
        return at === 0 ? (
          <th key={name} scope="row">
            {text}
          </th>
        ) : (
          <td key={name}>{text}</td>
        );
      })}
      <td className="share-cell">
        <svg className="share" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
          <rect width={Math.max(4, share)} height={10} />
        </svg>
      </td>
      <Sums row={row} link={(failed) => callsOf(row.group, by, range, zone, failed)} />
    </tr>
  );
}

interface SumsProps {
  readonly row: Omit<UsageRow, "group">;
  /** The path of the list of the calls, or of those of them that failed. */
  readonly link: (failed: boolean) => string | null;
}

function Sums({ row, link }: SumsProps) {
  return (
    <>
      <td className="number">
        <MoneyText usd={row.unpriced > 0 && nanoUsd(row.cost_usd) === 0n ? null : row.cost_usd} />
      </td>
      <td className="number">
        <CallsLink calls={row.calls} to={link(false)} />
      </td>
      <td className="number">
        <CallsLink calls={row.errors} to={link(true)} />
      </td>
      <td className="number">{wholeCount(row.prompt_tokens)}</td>
      <td className="number">
        {row.estimated > 0 ? "~" : ""}
        {wholeCount(row.completion_tokens)}
      </td>
      <td
        className="number"
        title={`${wholeCount(row.cached_tokens)} read, ${wholeCount(row.cache_write_tokens)} written`}
      >
        {row.cache_hit_rate === null ? "–" : `${(row.cache_hit_rate * 100).toFixed(1)} %`}
      </td>
      <td className="number">
        <MoneyText usd={row.cache_saved_usd} />
      </td>
      <td className="number">{row.p50_ms === null ? "–" : `~${duration(row.p50_ms)}`}</td>
    </>
  );
}

/** The list of the calls that a row sums; null where the list has no filter for them. */
function callsOf(
  group: UsageRow["group"],
  by: readonly string[],
  range: TimeRange,
  zone: Zone,
  failed: boolean,
): string | null {
  if (by.some((name) => group[name] == null)) return null;
  const dimensions = by.filter((name) => name !== "day").map((name) => termText(name, group[name]!));
  return summedPath(failed ? [...dimensions, "outcome:failed"] : dimensions, timeOf(group["day"], range, zone));
}

/** Of a row that is about a day, the part of the day that is in the range. */
function timeOf(day: string | null | undefined, range: TimeRange, zone: Zone): CallsTime {
  if (day == null) return timeOfRange(range);
  const { fromMs, toMs } = dayBounds(day, zone);
  return timeOfRange({
    name: null,
    fromMs: Math.max(fromMs, range.fromMs),
    toMs: Math.min(toMs, range.toMs ?? toMs),
  });
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
