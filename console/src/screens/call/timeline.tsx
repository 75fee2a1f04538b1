// Where the time of a call went: a lane for each attempt and each tool. The table below the drawing says the same in figures.
import { duration } from "../../format/time.ts";
import { DataTable } from "../../components/data-table.tsx";
import { visibleText } from "../../format/visible-text.ts";
import type { RecordFields } from "./call-record.ts";
import { type Lane, lanesOf } from "./timeline-lanes.ts";

/** A moment of the whole call. */
interface Mark {
  readonly atMs: number;
  readonly text: string;
}

const LANE = 26;
const WIDTH = 1000;
const TICKS = 5;

export function Timeline({ record, totalMs }: { readonly record: RecordFields; readonly totalMs: number }) {
  const lanes = lanesOf(record, totalMs);
  if (lanes.length === 0)
    return <p className="hint">No provider was called. The call ended after {duration(totalMs)}.</p>;
  const marks = marksOf(record, totalMs);
  const span = Math.max(totalMs, ...lanes.map(({ endMs }) => endMs), 1);
  return (
    <>
      <Drawing lanes={lanes} marks={marks} spanMs={span} />
      {marks.length > 0 && (
        <ul className="marks">
          {marks.map(({ atMs, text }) => (
            <li key={text}>
              {duration(atMs)}: {visibleText(text)}
            </li>
          ))}
        </ul>
      )}
      <DataTable
        label="The attempts and tools of this call"
        rows={lanes}
        keyOf={(_lane, index) => index}
        columns={[
          { head: "Attempt", render: ({ name }) => <span className="cut">{visibleText(name)}</span> },
          { head: "Outcome", isWide: true, render: ({ outcome }) => visibleText(outcome) },
          { head: "Began at", isNumber: true, render: ({ startMs }) => duration(startMs) },
          { head: "Answer began", isNumber: true, render: ({ headMs }) => (headMs === null ? "–" : duration(headMs)) },
          {
            head: "First token",
            isNumber: true,
            render: ({ firstMs }) => (firstMs === null ? "–" : duration(firstMs)),
          },
          { head: "Ended at", isNumber: true, render: ({ endMs }) => duration(endMs) },
        ]}
      />
      {record.own_ms !== undefined && (
        <p className="hint">
          {duration(record.own_ms)} of the total was work of the gateway itself. All times count from the arrival of the
          call.
        </p>
      )}
    </>
  );
}

interface DrawingProps {
  readonly lanes: readonly Lane[];
  readonly marks: readonly Mark[];
  readonly spanMs: number;
}

function Drawing({ lanes, marks, spanMs }: DrawingProps) {
  const x = (ms: number): number => (ms / spanMs) * WIDTH;
  const height = lanes.length * LANE;
  const ticks = Array.from({ length: TICKS + 1 }, (_, index) => (spanMs * index) / TICKS);
  return (
    <div className="timeline" aria-hidden="true">
      <svg viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" height={height}>
        {ticks.map((ms) => (
          <line key={ms} className="tick" x1={x(ms)} x2={x(ms)} y1={0} y2={height} />
        ))}
        {marks.map(({ atMs, text }) => (
          <line key={text} className="mark" x1={x(atMs)} x2={x(atMs)} y1={0} y2={height} />
        ))}
        {lanes.map((lane, index) => {
          const top = index * LANE + 5;
          const first = lane.firstMs ?? lane.headMs ?? lane.endMs;
          return (
            <g key={index} className={lane.tone}>
              <rect
                className="waiting"
                x={x(lane.startMs)}
                y={top}
                width={Math.max(2, x(first - lane.startMs))}
                height={LANE - 10}
              />
              <rect
                className="answering"
                x={x(first)}
                y={top}
                width={Math.max(first < lane.endMs ? 2 : 0, x(lane.endMs - first))}
                height={LANE - 10}
              />
            </g>
          );
        })}
      </svg>
      <div className="ticks">
        {ticks.map((ms) => (
          <span key={ms}>{duration(ms)}</span>
        ))}
      </div>
    </div>
  );
}

/** What happened between the gateway and the client, and waits between attempts, in the order of time. */
function marksOf(record: RecordFields, totalMs: number): readonly Mark[] {
  const { plan = [], head_ms: headMs, keep_alives: alive, cancelled, code } = record;
  const waits = plan.flatMap(({ at_ms: atMs, wait_ms: waitMs, target, why }) =>
    atMs === undefined || waitMs === undefined
      ? []
      : [{ atMs, text: `waited ${duration(waitMs)} before ${target} (${why})` }],
  );
  return [
    ...waits,
    ...(headMs === undefined
      ? []
      : [
          {
            atMs: headMs,
            text: `the head of the stream was sent before there was content${alive === undefined ? "" : `, and ${alive} signs of life after it`}`,
          },
        ]),
    ...(headMs === undefined && alive !== undefined
      ? [{ atMs: totalMs, text: `${alive} signs of life were sent` }]
      : []),
    ...(cancelled === true ? [{ atMs: totalMs, text: "the client had left" }] : []),
    ...(code === "upstream_timeout" ? [{ atMs: totalMs, text: "the time for an answer was over" }] : []),
  ].toSorted((one, other) => one.atMs - other.atMs);
}
