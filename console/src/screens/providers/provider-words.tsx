// The states of providers and of their targets: a word and a mark beside the colour.
import { Status, type Tone } from "../../components/status-mark.tsx";
import type { ProviderHealth, ProviderTarget } from "../../api/types.ts";
import { duration } from "../../format/time.ts";

interface State {
  readonly tone: Tone;
  readonly word: string;
}

const PROVIDERS: Readonly<Record<ProviderHealth["status"], State>> = {
  ok: { tone: "good", word: "answers" },
  degraded: { tone: "warn", word: "fails often" },
  down: { tone: "bad", word: "does not answer" },
  unused: { tone: "idle", word: "not called" },
};

const TARGETS: Readonly<Record<ProviderTarget["state"], State>> = {
  closed: { tone: "good", word: "called" },
  half_open: { tone: "warn", word: "being tried again" },
  open: { tone: "bad", word: "avoided after failures" },
  rate_limited: { tone: "warn", word: "avoided, it asked to wait" },
};

export function ProviderMark({ provider: { enabled, status, drains } }: { readonly provider: ProviderHealth }) {
  const { tone, word } = enabled ? PROVIDERS[status] : ({ tone: "idle", word: "disabled" } as const);
  return (
    <>
      <Status tone={tone}>{word}</Status>
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
  const { tone, word } = TARGETS[state];
  return (
    <>
      <Status tone={tone}>{word}</Status>
      {openForMs !== null && <small> for {duration(openForMs)}</small>}
    </>
  );
}

/** Such as `~340 ms`; the figures are estimated from counts by duration. */
export function aboutText(ms: number | null): string {
  return ms === null ? "–" : `~${duration(ms)}`;
}
