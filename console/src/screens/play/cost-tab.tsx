// What the call costs: the price before it, and after it what its record says.
import type { CallDetail } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { Problem } from "../../components/problem.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { CallCost } from "../call/call-cost.tsx";
import { detailPath } from "../call/use-call.ts";
import type { Run } from "./chat-run.ts";
import { targetOf } from "./play-request.ts";
import type { PaneRequest } from "./pane-request.ts";
import { perMillion } from "./token-cost.ts";
import { Fact } from "../../components/facts.tsx";

const AGAIN_MS = 400;

export function CostTab({ run, request }: { readonly run: Run | null; readonly request: PaneRequest }) {
  const isOver = run !== null && run.state !== "running" && run.traceId !== null;
  return (
    <>
      {!isOver && <Before request={request} />}
      {isOver && <After request={request} traceId={run.traceId} />}
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
        <Fact key={kind} name={KINDS[kind] ?? kind}>
          {perMillion(price)} for a million
        </Fact>
      ))}
    </dl>
  );
}

const KINDS: Readonly<Record<string, string>> = {
  prompt: "Input",
  completion: "Output",
  input_cache_read: "Input read from the cache",
  input_cache_write: "Input written to the cache",
  internal_reasoning: "Reasoning",
  audio: "Audio in the input",
  image_output: "Images in the output",
  request: "Requests",
  search_unit: "Search units",
};

interface AfterProps {
  readonly request: PaneRequest;
  readonly traceId: string;
}

function After({ request: { tenantId, projectId }, traceId }: AfterProps) {
  const { data: call, error } = useRead<CallDetail>(
    detailPath({ tenant: tenantId, project: projectId }, traceId, false),
    // the row of a call is written shortly after its answer
    { keepsPrevious: false, untilFound: AGAIN_MS },
  );
  if (error !== null && error.status !== 404)
    return <Problem what="The record of the call could not be read." error={error} />;
  return call === undefined ? <p className="hint">The row of the call is being written.</p> : <CallCost call={call} />;
}
