// Why a call went where it went, as it was decided then: each step of the plan with its reason, and the targets that were not needed.
import { TableBox } from "../../components/table-box.tsx";
import { duration } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import type { RecordFields } from "./call-record.ts";

export function CallPlan({ record }: { readonly record: RecordFields }) {
  const { plan = [], candidates = [], attempts = [] } = record;
  if (plan.length === 0)
    return (
      <p className="hint">
        {attempts.length === 0 ? "No target was chosen." : "There was one target, which was called once."}
      </p>
    );
  const unused = candidates.filter((name) => !plan.some(({ target }) => target === name));
  return (
    <>
      <TableBox label="The steps of the plan">
        <table>
          <caption className="unseen">The steps of the plan</caption>
          <thead>
            <tr>
              <th scope="col">Target</th>
              <th scope="col">Why</th>
              <th scope="col" className="number">
                Chosen at
              </th>
              <th scope="col" className="number">
                Waited
              </th>
            </tr>
          </thead>
          <tbody>
            {plan.map(({ target, why, at_ms: atMs, wait_ms: waitMs, round, refused }, index) => (
              <tr key={index}>
                <th scope="row">
                  <span className="cut">{visibleText(target)}</span>
                </th>
                <td className="wide">
                  {visibleText(why)}
                  {round !== undefined && <small>, round {round}</small>}
                  {refused !== undefined && (
                    <small>
                      , not called: <code>{visibleText(refused)}</code>
                    </small>
                  )}
                </td>
                <td className="number">{atMs === undefined ? "–" : duration(atMs)}</td>
                <td className="number">{waitMs === undefined ? "–" : duration(waitMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableBox>
      {unused.length > 0 && (
        <p className="hint">
          Not chosen, because they were not needed or not available: {unused.map(visibleText).join(", ")}.
        </p>
      )}
    </>
  );
}
