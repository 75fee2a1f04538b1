// What else is recorded of a call: parameters, cost, limits, policies, messages, and the record itself.
import type { LoggedCallDetail } from "../../api/types.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { wholeCount } from "../../format/count.ts";
import { exactUsd, nanoUsd } from "../../format/money.ts";
import { TableBox } from "../../components/table-box.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { termText } from "../calls/filter.ts";
import { type LimitFields, recordOf } from "./call-record.ts";

const MEANING: Readonly<Record<string, string>> = {
  native: "sent as it was",
  mapped: "sent under the provider's own name or value",
  emulated: "made by the gateway, because the provider lacks it",
  dropped: "left out, because the provider lacks it",
  passed: "passed on without being read",
};

export function Parameters({ params }: { readonly params: Readonly<Record<string, string>> | undefined }) {
  const entries = Object.entries(params ?? {});
  if (entries.length === 0) return <p className="hint">No parameters are recorded.</p>;
  return (
    <TableBox label="Parameters of the request">
      <table>
        <caption className="unseen">Parameters of the request</caption>
        <thead>
          <tr>
            <th scope="col">Parameter</th>
            <th scope="col">What became of it</th>
          </tr>
        </thead>
        <tbody>
          {entries.map(([name, fate]) => (
            <tr key={name}>
              <th scope="row">
                <code>{visibleText(name)}</code>
              </th>
              <td className="wide">
                {fate}
                {fate in MEANING && <small>: {MEANING[fate]}</small>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

export function Cost({ call }: { readonly call: LoggedCallDetail }) {
  const { price_id: price, caller_cost_nano_usd: ofCaller, cache, usage_source: source } = recordOf(call.record);
  const nano = nanoUsd(call.cost_usd);
  return (
    <>
      <p>
        {nano === null
          ? call.prompt_tokens + call.completion_tokens === 0
            ? "Nothing was used, so nothing was charged."
            : "No price is known for this model, so no cost was charged."
          : `${exactUsd(nano)} was charged${source === "estimated" ? ", for tokens that the gateway estimated" : ""}.`}
      </p>
      {price !== undefined && (
        <p className="hint">
          Price: <code>{visibleText(price)}</code>
        </p>
      )}
      {ofCaller !== undefined && (
        <p className="hint">
          By the client&rsquo;s own price it would be {exactUsd(BigInt(ofCaller))}, which no budget counts.
        </p>
      )}
      {cache !== undefined && (
        <p className="hint">
          Response cache: {cache.outcome}
          {cache.bypass === undefined ? "" : ` (${cache.bypass})`}
          {cache.saved_nano_usd === undefined ? "" : `, which saved ${exactUsd(BigInt(cache.saved_nano_usd))}`}.
        </p>
      )}
    </>
  );
}

export function Limits({ limits }: { readonly limits: readonly LimitFields[] | undefined }) {
  if (limits === undefined || limits.length === 0) return <p className="hint">No limit and no budget applied.</p>;
  return (
    <TableBox label="Limits and budgets of this call">
      <table>
        <caption className="unseen">Limits and budgets of this call</caption>
        <thead>
          <tr>
            <th scope="col">Limit</th>
            <th scope="col">Outcome</th>
            {["Before", "Reserved", "Settled", "After"].map((head) => (
              <th key={head} scope="col" className="number">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {limits.map((limit) => (
            <tr key={`${limit.id} ${limit.value ?? ""}`}>
              <th scope="row">
                {visibleText(limit.id)}
                {limit.value !== undefined && <small> of {visibleText(limit.value)}</small>}
              </th>
              <td>{limit.refused ?? (limit.would_refuse === true ? "would refuse" : "had room")}</td>
              {[limit.before, limit.reserved, limit.settled, limit.after].map((amount, index) => (
                <td key={index} className="number">
                  {amount === undefined ? "–" : inUnit(amount, limit.unit)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

function inUnit(amount: number, unit: string): string {
  return unit === "nano_usd" ? exactUsd(BigInt(Math.round(amount))) : wholeCount(amount);
}

/** Who called, with links to the other calls of each. */
export function Origin({ call }: { readonly call: LoggedCallDetail }) {
  const {
    client_request_id: request,
    otel_trace_id: otel,
    snapshot,
    provider_request_id: upstream,
    provider_model: told,
    messages,
    metadata,
  } = recordOf(call.record);
  const linked: readonly (readonly [string, string, string | null | undefined])[] = [
    ["Token", "token", call.token_id],
    ["User", "user", call.user_id],
    ["End user", "end_user", call.end_user],
    ["Route", "route", call.route],
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
        : `${wholeCount(messages.count)} messages, ${wholeCount(messages.body_characters)} characters`,
    ],
  ];
  return (
    <dl className="pairs">
      {linked.flatMap(([label, name, value]) =>
        value == null
          ? []
          : [
              <div key={label}>
                <dt>{visibleText(label)}</dt>
                <dd>
                  <ScopedLink to={`/calls?${new URLSearchParams({ q: termText(name, value) }).toString()}`}>
                    {visibleText(value)}
                  </ScopedLink>
                </dd>
              </div>,
            ],
      )}
      {plain.flatMap(([label, value]) =>
        value == null
          ? []
          : [
              <div key={label}>
                <dt>{label}</dt>
                <dd>{visibleText(value)}</dd>
              </div>,
            ],
      )}
    </dl>
  );
}

export function RawRecord({ call }: { readonly call: LoggedCallDetail }) {
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
