// A bar of what is used, what is reserved for calls that run, and what is left. The figures stand beside it as text.
import type { LimitState } from "../../api/types.ts";
import type { Account } from "./limit-words.ts";

const PARTS = 1000;
const NEARLY_FULL = 0.8;

export function fillTone({ share }: Account): "good" | "warn" | "bad" {
  return share >= 1 ? "bad" : share >= NEARLY_FULL ? "warn" : "good";
}

export function FillBar({ state, account }: { readonly state: LimitState; readonly account: Account }) {
  const limit = Number(state.limit);
  const share = Math.min(1, account.share);
  const reserved = limit === 0 ? 0 : Math.min(share, Number(account.reserved ?? 0) / limit);
  const tone = fillTone(account);
  const settled = Math.round((share - reserved) * PARTS);
  return (
    <svg
      className={`fill-bar ${tone}`}
      viewBox={`0 0 ${PARTS} 10`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <rect className="room" width={PARTS} height={10} />
      <rect className="used" width={settled} height={10} />
      <rect className="reserved" x={settled} width={Math.round(reserved * PARTS)} height={10} />
    </svg>
  );
}
