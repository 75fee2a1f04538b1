// A call beside the list of calls.
import { ScopedLink } from "../../scope/scope-context.tsx";
import { useUrlState } from "../../url-state.ts";
import { CallCost } from "./call-cost.tsx";
import { Origin } from "./call-facts.tsx";
import { CallHeadline, CallVerdict, NoDetails } from "./call-headline.tsx";
import { recordOf } from "./call-record.ts";
import { Figures } from "./figures.tsx";
import { Timeline } from "./timeline.tsx";
import { useCall } from "./use-call.ts";
import { Unread } from "../../components/unread.tsx";

export function CallPeek({ id, close }: { readonly id: string; readonly close: (() => void) | null }) {
  const { data: call, error, refetch } = useCall(id, { withAround: false });
  const state = useUrlState();
  return (
    <section className="peek" aria-label="The open call">
      <p className="actions">
        <ScopedLink className="button" to={`/calls/${id}${state.with({ open: null })}`}>
          Open the page
        </ScopedLink>
        {close !== null && (
          <button type="button" className="quiet" onClick={close}>
            Close
          </button>
        )}
      </p>
      <Unread what="The call" of={{ data: call, error, refetch }} />
      {call !== undefined && (
        <>
          <CallVerdict call={call} />
          <CallHeadline call={call} />
          <Figures call={call} />
          {call.record === null ? (
            <NoDetails />
          ) : (
            <>
              <h2>Where the time went</h2>
              <Timeline record={recordOf(call.record)} totalMs={call.total_ms} />
            </>
          )}
          <h2>Cost</h2>
          <CallCost call={call} />
          <h2>Whose call it was</h2>
          <Origin call={call} />
        </>
      )}
    </section>
  );
}
