// After a change was published: how calls of the route went before and how they go since, for five minutes, and the way back.
import { useEffect, useState } from "react";
import type { ObjectVersions, Usage } from "../api/types.ts";
import { useRead } from "../api/use-api.tsx";
import { useWrite } from "../api/use-write.ts";
import { useClock } from "../clock.ts";
import { ActionsAsCode } from "../components/as-code.tsx";
import { MoneyText } from "../components/money-text.tsx";
import { Problem } from "../components/problem.tsx";
import { duration } from "../format/time.ts";
import { useScope } from "../scope/scope-context.tsx";
import { adminPath } from "../scope/scope.ts";
import { CallsLink } from "../screens/calls/calls-link.tsx";
import { summedPath } from "../screens/calls/calls-path.ts";
import { termText } from "../screens/calls/filter.ts";
import { goingBack } from "./configured-operations.ts";
import { Fact } from "../components/facts.tsx";

/** So long before and after a publication calls are compared. */
export const SHOWN_MS = 5 * 60_000;
const EVERY_MS = 10_000;

interface PublishedStripProps {
  readonly path: string;
  /** The route whose calls are compared; null for what has no calls of its own. */
  readonly route: string | null;
  /** When it was published, in milliseconds since 1970. */
  readonly atMs: number;
  readonly close: () => void;
}

export function PublishedStrip({ path, route, atMs, close }: PublishedStripProps) {
  const scope = useScope();
  const clock = useClock();
  const [nowMs, setNowMs] = useState(clock);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(clock()), EVERY_MS);
    return () => clearInterval(timer);
  }, [clock]);
  const isOver = nowMs - atMs > SHOWN_MS;
  useEffect(() => {
    if (isOver) close();
  }, [isOver, close]);
  const [published, earliest, latest] = [atMs, atMs - SHOWN_MS, atMs + SHOWN_MS].map((ms) =>
    new Date(ms).toISOString(),
  );
  const timeBefore = { from: earliest!, to: published! };
  const timeSince = { from: published!, to: latest! };
  const usage = (time: Period): string | null =>
    route === null || isOver ? null : adminPath(scope, `/usage?${new URLSearchParams({ route, ...time }).toString()}`);
  const before = useRead<Usage>(usage(timeBefore));
  const since = useRead<Usage>(usage(timeSince), { everyMs: EVERY_MS });
  const versions = useRead<ObjectVersions>(`${path}/versions`);
  const write = useWrite();
  const earlier = versions.data?.data[1];
  if (isOver) return null;
  return (
    <section className="panel published" aria-label="Published" aria-live="polite">
      <p>
        <b>Published.</b> {route !== null && "Its calls are compared for five minutes."}
      </p>
      {route !== null && (
        <dl className="facts">
          <Figures title="Five minutes before" route={route} time={timeBefore} usage={before.data} />
          <Figures title="Since then" route={route} time={timeSince} usage={since.data} />
        </dl>
      )}
      {write.failure !== null && <Problem what="Nothing was published." error={write.failure} />}
      <p className="actions">
        {earlier !== undefined && (
          <button
            type="button"
            disabled={write.isBusy}
            onClick={() =>
              void write.ask(goingBack(path, earlier.number)).then((done) => done !== undefined && close())
            }
          >
            Go back
          </button>
        )}
        <button type="button" className="quiet" onClick={close}>
          Close
        </button>
        {earlier !== undefined && (
          <ActionsAsCode of="of going back" actions={{ "Go back": goingBack(path, earlier.number) }} />
        )}
      </p>
    </section>
  );
}

interface Period {
  readonly from: string;
  readonly to: string;
}

interface FiguresProps {
  readonly title: string;
  readonly route: string;
  readonly time: Period;
  readonly usage: Usage | undefined;
}

function Figures({ title, route, time, usage }: FiguresProps) {
  const sums = usage?.totals;
  const terms = [termText("route", route)];
  return (
    <Fact name={title}>
      {sums == null ? (
        "…"
      ) : (
        <>
          <CallsLink calls={sums.calls} to={summedPath(terms, time)} word=" calls" />,{" "}
          <CallsLink calls={sums.errors} to={summedPath([...terms, "outcome:failed"], time)} word=" failed" />,{" "}
          <MoneyText usd={sums.cost_usd} />
          {sums.p50_ms !== null && <>, half within ~{duration(sums.p50_ms)}</>}
        </>
      )}
    </Fact>
  );
}
