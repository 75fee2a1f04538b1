// The four figures of a call.
import type { LoggedCallDetail } from "../../api/types.ts";
import { MoneyText } from "../../components/money-text.tsx";
import { wholeCount } from "../../format/count.ts";
import { duration } from "../../format/time.ts";
import { recordOf } from "./call-record.ts";

export function Figures({ call }: { readonly call: LoggedCallDetail }) {
  const used = call.prompt_tokens + call.completion_tokens > 0;
  const speed = tokensPerSecond(call);
  return (
    <dl className="figures">
      <div>
        <dt>Cost</dt>
        <dd>{used ? <MoneyText usd={call.cost_usd} /> : "nothing used"}</dd>
      </div>
      <div>
        <dt>First token</dt>
        <dd>{call.first_content_ms === null ? "none" : duration(call.first_content_ms)}</dd>
      </div>
      <div>
        <dt>Total</dt>
        <dd>
          {duration(call.total_ms)}
          {speed !== null && <small>{speed} tokens per second, from first to last</small>}
        </dd>
      </div>
      <div>
        <dt>Tokens in and out</dt>
        <dd>
          {wholeCount(call.prompt_tokens)} → {wholeCount(call.completion_tokens)}
          {recordOf(call.record).usage_source === "estimated" && <small>~ estimated by the gateway</small>}
          {call.cached_tokens > 0 && <small>{wholeCount(call.cached_tokens)} from the provider&rsquo;s cache</small>}
          {call.reasoning_tokens > 0 && <small>{wholeCount(call.reasoning_tokens)} of reasoning</small>}
        </dd>
      </div>
    </dl>
  );
}

function tokensPerSecond({
  stream,
  first_content_ms: first,
  total_ms: total,
  completion_tokens: tokens,
}: LoggedCallDetail): string | null {
  if (!stream || first === null || tokens < 2 || total - first < 1) return null;
  return wholeCount(Math.round(((tokens - 1) * 1000) / (total - first)));
}
