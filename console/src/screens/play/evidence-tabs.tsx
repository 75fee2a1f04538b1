// What came over the wire: the events with their times, the headers that a client gets, and the calls of tools.
import { CopyButton } from "../../components/copy-button.tsx";
import { duration } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import type { Run } from "./chat-run.ts";
import { Fact } from "../../components/facts.tsx";

const NOTHING = "Nothing has been sent yet.";
/** More events than that are left out in the middle. */
const MOST_EVENTS = 400;
const MOST_CHARACTERS = 4000;

export function EventsTab({ run }: { readonly run: Run | null }) {
  if (run === null) return <p className="hint">{NOTHING}</p>;
  const { events } = run;
  const shown = events.length <= MOST_EVENTS ? events : [...events.slice(0, 200), ...events.slice(-200)];
  return (
    <>
      {events.length > shown.length && (
        <p className="hint">
          The first and the last 200 of {events.length} events are shown. All of them are in what the button copies.
        </p>
      )}
      <p className="actions">
        <CopyButton label="Copy all" text={events.map(({ data }) => `data: ${data}\n\n`).join("")} />
      </p>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls has to be reached by keyboard */}
      <ol className="run-events" tabIndex={0} aria-label="Events of the answer">
        {shown.map(({ atMs, data }, index) => (
          <li key={index}>
            <span className="event-time">{duration(atMs)}</span>
            <code>
              {visibleText(data.slice(0, MOST_CHARACTERS))}
              {data.length > MOST_CHARACTERS && ` … ${data.length - MOST_CHARACTERS} further characters`}
            </code>
          </li>
        ))}
      </ol>
    </>
  );
}

export function HeadersTab({ run }: { readonly run: Run | null }) {
  if (run === null) return <p className="hint">{NOTHING}</p>;
  if (run.status === null) return <p className="hint">The head of the response has not come yet.</p>;
  return (
    <dl className="pairs">
      {[["status", String(run.status)] as const, ...run.headers].map(([name, value]) => (
        <Fact key={name} name={<code>{name}</code>}>
          {visibleText(value)}
        </Fact>
      ))}
    </dl>
  );
}

export function ToolsTab({ run }: { readonly run: Run | null }) {
  if (run === null) return <p className="hint">{NOTHING}</p>;
  const { toolCalls } = run.answer;
  if (toolCalls.length === 0)
    return (
      <p className="hint">
        The model called no function. Functions are offered with <code>tools</code> in the JSON of the request; tools of
        a tool server are run by the gateway, and stand in the record of the call.
      </p>
    );
  return (
    <ul className="tool-calls">
      {toolCalls.map(({ index, id, name, arguments: text }) => (
        <li key={index}>
          <h3>
            {visibleText(name)} <small>{visibleText(id ?? "")}</small>
          </h3>
          <pre className="code">{visibleText(indented(text))}</pre>
        </li>
      ))}
    </ul>
  );
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
