// Who has used most of a budget in its period, and what was used on each day. Each line leads to its calls.
import type { LimitDetail } from "../../api/types.ts";
import { MoneyText } from "../../components/money-text.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { wholeCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { summedPath } from "../calls/calls-path.ts";
import { termText } from "../calls/filter.ts";
import { countedTime, scopeTerms } from "./limit-calls.ts";

const DAY_MS = 86_400_000;

export function LimitUse({ limit }: { readonly limit: LimitDetail }) {
  const { consumers, days } = limit;
  if (limit.kind === "limit") return null;
  if (consumers === null || days === null)
    return (
      <p className="hint">
        Who uses it cannot be told here, because there are no sums of calls for the pattern that it counts.
      </p>
    );
  if (consumers.length === 0) return <p className="hint">Nobody has used it in this period.</p>;
  const [terms, time] = [scopeTerms(limit), countedTime(limit)];
  const [{ dimension }] = consumers as readonly [(typeof consumers)[number]];
  return (
    <div className="panels">
      <UseTable
        title="Who uses it"
        head={dimension === "project" ? "Project" : "Access token"}
        rows={consumers.map((row) => ({
          ...row,
          name: row.name ?? row.value ?? "none",
          link:
            row.value === null || terms === null || time === null
              ? null
              : summedPath([...terms, termText(dimension, row.value)], time),
        }))}
      />
      <UseTable
        title="Days in UTC"
        head="Day"
        rows={days.toReversed().map((row) => {
          const beginMs = Date.parse(`${row.day}T00:00:00Z`);
          const dayBegins = new Date(beginMs).toISOString();
          return {
            ...row,
            name: row.day,
            link:
              terms === null
                ? null
                : summedPath(terms, { from: dayBegins, to: new Date(beginMs + DAY_MS).toISOString() }),
          };
        })}
      />
    </div>
  );
}

interface UseRow {
  readonly name: string;
  readonly link: string | null;
  readonly calls: number;
  readonly tokens: number;
  readonly cost_usd: string;
}

interface UseTableProps {
  readonly title: string;
  readonly head: string;
  readonly rows: readonly UseRow[];
}

function UseTable({ title, head, rows }: UseTableProps) {
  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      <DataTable
        label={title}
        rows={rows}
        keyOf={({ name, link }) => `${link ?? ""} ${name}`}
        columns={[
          {
            head,
            render: ({ name, link }) => (
              <span className="cut">
                {link === null ? visibleText(name) : <ScopedLink to={link}>{visibleText(name)}</ScopedLink>}
              </span>
            ),
          },
          { head: "Cost", isNumber: true, render: ({ cost_usd: cost }) => <MoneyText usd={cost} /> },
          { head: "Tokens", isNumber: true, render: ({ tokens }) => wholeCount(tokens) },
          { head: "Calls", isNumber: true, render: ({ calls }) => wholeCount(calls) },
        ]}
      />
    </section>
  );
}
