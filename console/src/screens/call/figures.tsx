// The four figures of a call, each beside what is usual on its route.
import type { CallDetail } from "../../api/types.ts";
import { MoneyText } from "../../components/money-text.tsx";
import { wholeCount } from "../../format/count.ts";
import { duration } from "../../format/time.ts";
import { nanoUsd, shortUsd } from "../../format/money.ts";
import { Fact } from "../../components/facts.tsx";

export function Figures({ call }: { readonly call: CallDetail }) {
  const used = call.prompt_tokens + call.completion_tokens > 0;
  const usual = usualOf(call);
  const speed = tokensPerSecond(call);
  return (
    <dl className="figures">
      <Fact name="Cost">
        {used || call.cost_usd !== null ? <MoneyText usd={call.cost_usd} /> : "nothing used"}
        {usual?.cost != null && <small>usually {usual.cost}</small>}
      </Fact>
      <Fact name="First token">
        {call.first_content_ms === null ? "none" : duration(call.first_content_ms)}
        {usual?.first != null && <small>usually {usual.first}</small>}
      </Fact>
      <Fact name="Total">
        {duration(call.total_ms)}
        {usual !== null && <small>usually {usual.total}</small>}
        {speed !== null && <small>{speed} tokens per second, from first to last</small>}
      </Fact>
      <Fact name="Tokens in and out">
        {wholeCount(call.prompt_tokens)} → {wholeCount(call.completion_tokens)}
        {usual !== null && <small>usually {usual.tokens}</small>}
        {call.estimated && <small>~ estimated by the gateway</small>}
        {call.cached_tokens > 0 && <small>{wholeCount(call.cached_tokens)} from the provider&rsquo;s cache</small>}
        {call.reasoning_tokens > 0 && <small>{wholeCount(call.reasoning_tokens)} of reasoning</small>}
      </Fact>
    </dl>
  );
}

/** The medians of the route's calls before this one. */
function usualOf({ usual }: CallDetail) {
  if (usual === null) return null;
  const nano = nanoUsd(usual.cost_usd);
  return {
    cost: nano === null ? null : shortUsd(nano),
    first: usual.first_content_ms === null ? null : duration(usual.first_content_ms),
    total: duration(usual.total_ms),
    tokens: `${wholeCount(usual.prompt_tokens)} → ${wholeCount(usual.completion_tokens)}`,
  };
}

function tokensPerSecond({
  stream,
  first_content_ms: first,
  total_ms: total,
  completion_tokens: tokens,
}: CallDetail): string | null {
  if (!stream || first === null || tokens < 2 || total - first < 1) return null;
  return wholeCount(Math.round(((tokens - 1) * 1000) / (total - first)));
}
