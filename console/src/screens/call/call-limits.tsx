// The limits and budgets that applied to a call: what each had before, what was reserved and settled, and when it resets.
import type { CallDetail, CallLimit } from "../../api/types.ts";
import { TableBox } from "../../components/table-box.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { wholeCount } from "../../format/count.ts";
import { exactUsd, nanoUsd } from "../../format/money.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";

type Limit = CallLimit;

export function CallLimits({ call }: { readonly call: CallDetail }) {
  if (call.limits === null || call.limits.length === 0) return <p className="hint">No limit and no budget applied.</p>;
  return (
    <TableBox label="Limits and budgets of this call">
      <table>
        <caption className="unseen">Limits and budgets of this call</caption>
        <thead>
          <tr>
            <th scope="col">Limit</th>
            <th scope="col">Outcome</th>
            {["Limit", "Before", "Reserved", "Settled", "After"].map((head) => (
              <th key={head} scope="col" className="number">
                {head}
              </th>
            ))}
            <th scope="col">Resets</th>
          </tr>
        </thead>
        <tbody>
          {call.limits.map((limit) => (
            <tr key={`${limit.id} ${limit.value ?? ""}`}>
              <th scope="row">
                {limit.name === null ? (
                  visibleText(limit.id)
                ) : (
                  <ScopedLink to={`/limits/${encodeURIComponent(limit.id)}`}>{visibleText(limit.name)}</ScopedLink>
                )}
                {limit.value !== null && <small> of {visibleText(limit.value)}</small>}
              </th>
              <td>{limit.refused ?? (limit.would_refuse ? "would refuse" : "had room")}</td>
              {[limit.limit, limit.before, limit.reserved, limit.settled, limit.after].map((amount, index) => (
                <td key={index} className="number">
                  {amountOf(limit, amount)}
                </td>
              ))}
              <td>{limit.resets_at === null ? (limit.window ?? "–") : <TimeText at={limit.resets_at} form="day" />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

function amountOf({ metric }: Limit, amount: number | string | null): string {
  if (amount === null) return "–";
  return metric === "usd" ? exactUsd(nanoUsd(String(amount)) ?? 0n) : wholeCount(Number(amount));
}
