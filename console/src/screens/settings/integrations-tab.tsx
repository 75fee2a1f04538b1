// Where the records of calls go: integrations of the configuration file with their last delivery and failure, and the last deliveries to webhooks.
import type { Integration, Integrations } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { AsCode } from "../../components/as-code.tsx";
import { type DataColumn, DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { Unread } from "../../components/unread.tsx";
import { percentText, wholeCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { adminPath } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { useZone } from "../../use-zone.ts";
import { WebhookDeliveries } from "./webhook-deliveries.tsx";
import { Status, type Tone } from "../../components/status-mark.tsx";

const EVERY_MS = 5000;

export function IntegrationsTab() {
  const me = useMe();
  const scope = useScope();
  return (
    <div className="call-page">
      {may(me, scope, "list*Integrations") && <IntegrationList />}
      {may(me, scope, "list*WebhookDeliveries") && <WebhookDeliveries />}
    </div>
  );
}

function IntegrationList() {
  const scope = useScope();
  const path = adminPath(scope, "/integrations");
  const { data, error, refetch } = useRead<Integrations>(path, { everyMs: EVERY_MS });
  return (
    <section>
      <div className="title-row">
        <h2>Integrations</h2>
        <AsCode path={path} />
      </div>
      <p className="hint">
        They receive the records of calls. Each stands in the configuration file, below <code>integrations</code>, and
        is changed there.
      </p>
      {data === undefined && <Unread what="The integrations" of={{ data, error, refetch }} />}
      {data?.data.length === 0 && (
        <Empty title="No integration receives these calls">
          <p>An operator adds one to the configuration file: OpenTelemetry, Langfuse, Datadog, a webhook or a file.</p>
        </Empty>
      )}
      {data !== undefined && data.data.length > 0 && <IntegrationTable integrations={data.data} />}
    </section>
  );
}

const TONES: Readonly<Record<Integration["state"], Tone>> = {
  delivering: "good",
  failing: "bad",
  waiting: "idle",
  disabled: "idle",
};

function IntegrationTable({ integrations }: { readonly integrations: readonly Integration[] }) {
  const zone = useZone();
  const figures: readonly DataColumn<Integration>[] = [
    { head: "Delivered", isNumber: true, render: (one) => countText(one.figures?.delivered) },
    { head: "Waiting", isNumber: true, render: (one) => countText(one.figures?.queued) },
    { head: "Lost", isNumber: true, render: (one) => countText(lostOf(one)) },
  ];
  return (
    <DataTable
      label="Integrations"
      caption="Integrations with their last deliveries"
      rows={integrations}
      keyOf={({ name }) => name}
      columns={[
        {
          head: "Name",
          render: ({ name, type }) => (
            <>
              {visibleText(name)} <small>{type}</small>
            </>
          ),
        },
        {
          head: "State",
          render: ({ state }) => <Status tone={TONES[state]}>{state}</Status>,
        },
        {
          head: `Last delivery (${zone})`,
          render: ({ last_delivery_at: at }) => (at === null ? "–" : <TimeText at={at} />),
        },
        {
          head: "Last failure",
          isWide: true,
          render: ({ last_failure_at: at, last_error: error }) => (
            <>
              {at === null ? "–" : <TimeText at={at} />}
              {error !== null && <small> {visibleText(error)}</small>}
            </>
          ),
        },
        { head: "Gets", render: getsText },
        ...(integrations.some((one) => one.figures !== null) ? figures : []),
      ]}
    />
  );
}

const countText = (count: number | null | undefined): string => (count == null ? "–" : wholeCount(count));

function lostOf({ figures }: Integration): number | null {
  return figures === null ? null : Object.values(figures.not_delivered).reduce<number>((sum, count) => sum + count, 0);
}

function getsText({ only, sample, content, projects }: Integration): string {
  const calls = only === "errors" ? "failed calls" : "calls";
  const share = sample === 1 ? "all" : `${percentText(sample)} of the`;
  const of = projects === null ? "" : ` of ${projects.map(visibleText).join(", ")}`;
  return `${share} ${calls}${of}${content ? ", with what was said" : ""}`;
}
