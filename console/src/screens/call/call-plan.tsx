// Why a call went where it went, as it was decided then: each step of the plan with its reason, and the targets that were not needed.
import { DataTable } from "../../components/data-table.tsx";
import { duration } from "../../format/time.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { visibleText } from "../../format/visible-text.ts";
import type { RecordFields } from "./call-record.ts";

/** The copy of the call for the mirror of its route, or the call that this one is a copy of. */
export function CallMirror({ record: { mirror, mirror_of: original } }: { readonly record: RecordFields }) {
  if (original !== undefined)
    return (
      <p>
        This is a copy, for the mirror of the route, of{" "}
        <ScopedLink to={`/calls/${original}`}>the client’s call</ScopedLink>. No limit, no budget and no sum counts it.
      </p>
    );
  if (mirror === undefined) return null;
  const target = visibleText(mirror.target ?? "the mirror");
  return mirror.trace_id === undefined ? (
    <p>
      {target} got no copy of this call: {visibleText(mirror.dropped ?? "it was dropped")}.
    </p>
  ) : (
    <p>
      {target} got <ScopedLink to={`/calls/${mirror.trace_id}`}>a copy of this call</ScopedLink>, as the mirror of the
      route.
    </p>
  );
}

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
      <DataTable
        label="The steps of the plan"
        rows={plan}
        keyOf={(_step, index) => index}
        columns={[
          { head: "Target", render: ({ target }) => <span className="cut">{visibleText(target)}</span> },
          {
            head: "Why",
            isWide: true,
            render: ({ why, round, refused }) => (
              <>
                {visibleText(why)}
                {round !== undefined && <small>, round {round}</small>}
                {refused !== undefined && (
                  <small>
                    , not called: <code>{visibleText(refused)}</code>
                  </small>
                )}
              </>
            ),
          },
          { head: "Chosen at", isNumber: true, render: ({ at_ms: ms }) => (ms === undefined ? "–" : duration(ms)) },
          { head: "Waited", isNumber: true, render: ({ wait_ms: ms }) => (ms === undefined ? "–" : duration(ms)) },
        ]}
      />
      {unused.length > 0 && (
        <p className="hint">
          Not chosen, because they were not needed or not available: {unused.map(visibleText).join(", ")}.
        </p>
      )}
    </>
  );
}
