// The states of providers and of their targets: a word and a mark beside the colour.
import type { MarkedState } from "../../components/status-mark.tsx";
import type { ProviderHealth, ProviderTarget } from "../../api/types.ts";
import { duration } from "../../format/time.ts";

const PROVIDERS: Readonly<Record<ProviderHealth["status"], MarkedState>> = {
  ok: { tone: "good", mark: "✓", word: "answers" },
  degraded: { tone: "warn", mark: "!", word: "fails often" },
  down: { tone: "bad", mark: "✕", word: "does not answer" },
  unused: { tone: "idle", mark: "–", word: "not called" },
};

const TARGETS: Readonly<Record<ProviderTarget["state"], MarkedState>> = {
  closed: { tone: "good", mark: "✓", word: "called" },
  half_open: { tone: "warn", mark: "!", word: "being tried again" },
  open: { tone: "bad", mark: "✕", word: "avoided after failures" },
  rate_limited: { tone: "warn", mark: "!", word: "avoided, it asked to wait" },
};

export function ProviderMark({ provider: { enabled, status, drains } }: { readonly provider: ProviderHealth }) {
  return (
    <>
      <Mark state={enabled ? PROVIDERS[status] : { tone: "idle", mark: "–", word: "disabled" }} />
      {drains.length > 0 && (
        <>
          {" "}
          <span className="badge">{drains.some(({ model }) => model === null) ? "drained" : "partly drained"}</span>
        </>
      )}
    </>
  );
}

export function TargetMark({ target: { state, open_for_ms: openForMs } }: { readonly target: ProviderTarget }) {
  return (
    <>
      <Mark state={TARGETS[state]} />
      {openForMs !== null && <small> for {duration(openForMs)}</small>}
    </>
  );
}

function Mark({ state: { tone, mark, word } }: { readonly state: MarkedState }) {
  return (
    <span className={`status ${tone}`} data-mark={mark}>
      {word}
    </span>
  );
}

/** Such as `~340 ms`; the figures are estimated from counts by duration. */
export function aboutText(ms: number | null): string {
  return ms === null ? "–" : `~${duration(ms)}`;
}
