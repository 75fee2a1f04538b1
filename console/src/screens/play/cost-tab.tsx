// What the call costs: the price before it, and the tokens times their prices after it, beside what the ledger says.
import { useQuery } from "@tanstack/react-query";
import type { ApiError } from "../../api/api.ts";
import type { LoggedCallDetail } from "../../api/types.ts";
import { useApi } from "../../api/use-api.tsx";
import { Problem } from "../../components/problem.tsx";
import { CostTable } from "../../components/cost-table.tsx";
import { exactUsd, nanoUsd } from "../../format/money.ts";
import { visibleText } from "../../format/visible-text.ts";
import { adminPath } from "../../scope/scope.ts";
import type { Run } from "./chat-run.ts";
import { targetOf } from "./play-request.ts";
import type { PaneRequest } from "./pane-request.ts";
import { costOf, perMillion } from "./token-cost.ts";
import type { ListedModel } from "./use-models.ts";

const RETRIES = 12;
const RETRY_MS = 400;

export function CostTab({ run, request }: { readonly run: Run | null; readonly request: PaneRequest }) {
  const isOver = run !== null && run.state !== "running" && run.traceId !== null;
  return (
    <>
      {!isOver && <Before request={request} />}
      {isOver && <After run={run} request={request} traceId={run.traceId} />}
    </>
  );
}

function Before({ request: { body, models } }: { readonly request: PaneRequest }) {
  const target = body === null ? null : targetOf(body);
  const model = models.find(({ id }) => id === target);
  const pricing = model?.pricing;
  if (pricing === undefined)
    return (
      <p className="hint">
        No single price is known for {target === null ? "this request" : visibleText(target)}. The plan says what each
        target of it would cost at most.
      </p>
    );
  return (
    <dl className="pairs">
      {Object.entries(pricing).map(([kind, price]) => (
        <div key={kind}>
          <dt>{KINDS[kind] ?? kind}</dt>
          <dd>{perMillion(price)} for a million</dd>
        </div>
      ))}
    </dl>
  );
}

const KINDS: Readonly<Record<string, string>> = {
  prompt: "Input",
  completion: "Output",
  input_cache_read: "Input read from the cache",
  input_cache_write: "Input written to the cache",
};

interface AfterProps {
  readonly run: Run;
  readonly request: PaneRequest;
  readonly traceId: string;
}

function After({ request: { tenantId, projectId, models }, traceId }: AfterProps) {
  const api = useApi();
  const path = `${adminPath({ tenant: tenantId, project: projectId }, "/logs")}/${traceId}`;
  const { data: call, error } = useQuery<LoggedCallDetail, ApiError>({
    queryKey: ["read", path],
    queryFn: ({ signal }) => api.send<LoggedCallDetail>("GET", path, { signal }),
    // The row of a call is written shortly after its answer.
    retry: (count, failed) => failed.status === 404 && count < RETRIES,
    retryDelay: RETRY_MS,
    staleTime: Infinity,
  });
  if (error !== null) return <Problem what="The record of the call could not be read." error={error} />;
  if (call === undefined) return <p className="hint">The row of the call is being written.</p>;
  const nano = nanoUsd(call.cost_usd);
  const model = models.find(({ id }) => id === `${call.provider}:${call.model}`);
  return (
    <>
      <Arithmetic call={call} model={model} />
      <p>
        {nano === null
          ? call.prompt_tokens + call.completion_tokens === 0
            ? "Nothing was used, so nothing was charged."
            : "No price is known for this model, so no cost was charged."
          : `The ledger has ${exactUsd(nano)} for this call.`}
      </p>
      {model?.price_id !== undefined && (
        <p className="hint">
          Price: <code>{visibleText(model.price_id)}</code>
        </p>
      )}
    </>
  );
}

function Arithmetic({ call, model }: { readonly call: LoggedCallDetail; readonly model: ListedModel | undefined }) {
  const pricing = model?.pricing ?? {};
  const input = pricing["prompt"];
  const rows = [
    { kind: "Input", tokens: call.prompt_tokens - call.cached_tokens, perToken: input },
    { kind: "Input read from the cache", tokens: call.cached_tokens, perToken: pricing["input_cache_read"] ?? input },
    { kind: "Output", tokens: call.completion_tokens, perToken: pricing["completion"] },
  ].filter(({ kind, tokens }) => tokens > 0 || kind !== "Input read from the cache");
  return (
    <CostTable
      label="Tokens of the call and their list prices"
      rows={rows.map(({ kind, tokens, perToken }) => {
        const amount = perToken === undefined ? null : costOf([{ tokens, perToken }]);
        return {
          key: kind,
          what: kind,
          units: tokens,
          perMillion: perToken === undefined ? "no price" : perMillion(perToken),
          amount: amount === null ? "–" : exactUsd(amount),
        };
      })}
    />
  );
}
