// The last deliveries of events to webhooks, and a way to send each again.
import type { WebhookDelivery, WebhookDeliveryList } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { useWrite } from "../../api/use-write.ts";
import type { ShownRequest } from "../../api/command-of.ts";
import { ActionsAsCode, AsCode } from "../../components/as-code.tsx";
import { type DataColumn, DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { adminPath } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { useZone } from "../../use-zone.ts";
import { Status } from "../../components/status-mark.tsx";
import { Unread } from "../../components/unread.tsx";

const ROWS = 20;
const TONES = { delivered: "good", dead: "bad", pending: "idle" } as const;

export function WebhookDeliveries() {
  const me = useMe();
  const scope = useScope();
  const zone = useZone();
  const base = adminPath(scope, "/webhook_deliveries");
  const path = `${base}?limit=${ROWS}`;
  const { data, error, refetch } = useRead<WebhookDeliveryList>(path);
  const { ask, isBusy, failure } = useWrite();
  const repeating = (id: string): ShownRequest => ({
    method: "POST",
    path: `${base}/${encodeURIComponent(id)}/redeliver`,
  });
  const mayRepeat = may(me, scope, "redeliver*WebhookDelivery");
  const repeatColumn: DataColumn<WebhookDelivery> = {
    head: "Send again",
    hidesHead: true,
    render: ({ id }) => (
      <>
        <button type="button" className="quiet" disabled={isBusy} onClick={() => void ask(repeating(id))}>
          Send again<span className="unseen"> the delivery {id}</span>
        </button>
        <ActionsAsCode of={`of sending ${id} again`} actions={{ "Send again": repeating(id) }} />
      </>
    ),
  };
  return (
    <section>
      <div className="title-row">
        <h2>Deliveries to webhooks</h2>
        <AsCode path={path} />
      </div>
      {data === undefined && <Unread what="The deliveries" of={{ data, error, refetch }} />}
      {failure !== null && <Problem what="The delivery was not sent again." error={failure} />}
      {data?.data.length === 0 && (
        <Empty title="Nothing has been delivered to a webhook">
          <p>A webhook receives events, such as a budget that is used up, from when it is made.</p>
        </Empty>
      )}
      {data !== undefined && data.data.length > 0 && (
        <DataTable
          label="Deliveries to webhooks"
          caption={`The last ${ROWS} deliveries`}
          rows={data.data}
          keyOf={({ id }) => id}
          columns={[
            { head: `Event (${zone})`, render: ({ created_at: at }) => <TimeText at={at} /> },
            { head: "Type", render: ({ type }) => visibleText(type) },
            { head: "Webhook", render: (one) => visibleText(one.webhook_name ?? one.webhook_id) },
            {
              head: "State",
              render: ({ state }) => <Status tone={TONES[state]}>{state === "dead" ? "given up" : state}</Status>,
            },
            { head: "Attempts", isNumber: true, render: ({ attempts }) => attempts },
            {
              head: "Last answer",
              isWide: true,
              render: (one) => visibleText(one.last_error ?? String(one.last_status ?? "–")),
            },
            ...(mayRepeat ? [repeatColumn] : []),
          ]}
        />
      )}
    </section>
  );
}
