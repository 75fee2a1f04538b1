// What else is recorded of a call: its parameters, whose it was, and the record itself.
import type { CallDetail } from "../../api/types.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { Fact, TextFacts } from "../../components/facts.tsx";
import { wholeCount } from "../../format/count.ts";
import { DataTable } from "../../components/data-table.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { callsPath } from "../calls/calls-path.ts";
import { termText } from "../calls/filter.ts";
import { recordOf } from "./call-record.ts";

const MEANING: Readonly<Record<string, string>> = {
  native: "sent as it was",
  mapped: "sent under the provider's own name or value",
  emulated: "made by the gateway, because the provider lacks it",
  dropped: "left out, because the provider lacks it or the configuration says so",
  passed: "passed on as it came",
};

export function Parameters({ params }: { readonly params: Readonly<Record<string, string>> | undefined }) {
  const entries = Object.entries(params ?? {});
  if (entries.length === 0) return <p className="hint">No parameters are recorded.</p>;
  return (
    <DataTable
      label="Parameters of the request"
      rows={entries}
      keyOf={([name]) => name}
      columns={[
        { head: "Parameter", render: ([name]) => <code>{visibleText(name)}</code> },
        {
          head: "What became of it",
          isWide: true,
          render: ([, fate]) => (
            <>
              {fate}
              {fate in MEANING && <small>: {MEANING[fate]}</small>}
            </>
          ),
        },
      ]}
    />
  );
}

/** Who called, with links to the other calls of each. */
export function Origin({ call }: { readonly call: CallDetail }) {
  const {
    client_request_id: request,
    otel_trace_id: otel,
    snapshot,
    route_version: routeVersion,
    provider_request_id: upstream,
    provider_model: told,
    messages,
    metadata,
  } = recordOf(call.record);
  const linked: readonly (readonly [
    label: string,
    name: string,
    value: string | null | undefined,
    shown?: string | undefined,
  ])[] = [
    ["Token", "token", call.token_id, call.token_name === null ? undefined : `${call.token_name} (${call.token_id})`],
    ["User", "user", call.user_id],
    ["End user", "end_user", call.end_user],
    ["Route", "route", call.route, routeVersion === undefined ? undefined : `${call.route}, version ${routeVersion}`],
    ["Model asked for", "asked", call.model_asked],
    ["Code", "code", call.code],
    ["Client's request id", "request", request],
    ...Object.entries(metadata ?? {}).map(
      ([name, value]) => [`metadata.${name}`, `meta.${name}`, typeof value === "string" ? value : null] as const,
    ),
  ];
  const plain: readonly (readonly [string, string | null | undefined])[] = [
    ["Operation", call.operation],
    ["Provider's request id", upstream],
    ["Model that the provider names", told],
    ["Finish reason", call.finish_reason],
    ["OpenTelemetry trace", otel],
    ["Configuration", snapshot === undefined ? null : `snapshot ${snapshot}`],
    [
      "Request",
      messages === undefined
        ? null
        : `${wholeCount(messages.count)} ${messages.count === 1 ? "message" : "messages"}, ${wholeCount(messages.body_characters)} characters`,
    ],
  ];
  return (
    <dl className="pairs">
      {linked.map(
        ([label, name, value, shown]) =>
          value != null && (
            <Fact key={label} name={visibleText(label)}>
              <ScopedLink to={callsPath([termText(name, value)])}>{visibleText(shown ?? value)}</ScopedLink>
            </Fact>
          ),
      )}
      <TextFacts facts={plain} />
    </dl>
  );
}

export function RawRecord({ call }: { readonly call: CallDetail }) {
  const text = JSON.stringify(call.record ?? call, null, 2);
  return (
    <details>
      <summary>The record as JSON</summary>
      <p className="actions">
        <CopyButton label="Copy JSON" text={text} />
      </p>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls has to be reached by keyboard */}
      <pre className="code" tabIndex={0} aria-label="The record as JSON">
        {visibleText(text)}
      </pre>
    </details>
  );
}
