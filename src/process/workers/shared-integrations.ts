// Records of workers on their way to the integrations, which only the supervisor has open. A worker chooses the
// integrations of a call and makes its text; blocks of lines go over the channel.
import type { Log } from "../../observe/log.ts";
import { type IntegrationOutline, openHandover, threadsOf } from "../../observe/integrations/handover.ts";
import { zeros } from "../../observe/integrations/integration-figures.ts";
import { readLine } from "../../observe/integrations/integration-line.ts";
import type { DeliveringIntegrations, Integrations } from "../../observe/integrations/integrations.ts";
import type { SupervisorChannel, WorkerChannel } from "./messages.ts";

/** A block is sent at this size, and at the latest after this time. */
const BLOCK_UNITS = 256 * 1024;
const BLOCK_MS = 50;
/** UTF-16 units that the supervisor has not taken yet; further lines are dropped and counted. */
const MAX_UNITS = 16 * 1024 * 1024;
const encoder = new TextEncoder();

/** In the supervisor. */
export function serveIntegrations(channel: WorkerChannel, integrations: DeliveringIntegrations | null): void {
  channel.handle("integrations", () => integrations?.outlines ?? []);
  channel.handle("integration_lines", ({ thread }, bytes) => {
    for (const line of Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8").split("\n"))
      integrations?.take(thread, readLine(line).mask, line);
  });
}

/** Lines for one thread of integrations. */
interface Block {
  lines: string[];
  units: number;
  timer: ReturnType<typeof setTimeout> | null;
}

/** In a worker. Returns null when there is no integration. */
export async function openWorkerIntegrations(
  channel: SupervisorChannel,
  log: Pick<Log, "warn">,
): Promise<Integrations | null> {
  const outlines = await channel.request("integrations", null);
  if (outlines.length === 0) return null;
  const threads = threadsOf(outlines);
  const blocks = threads.map((): Block => ({ lines: [], units: 0, timer: null }));
  const dropped = threads.map((members) => members.map(() => 0));
  let unreadUnits = 0;
  let isDropping = false;

  const drop = (thread: number, line: string): void => {
    const { mask } = readLine(line);
    for (const place of dropped[thread]!.keys()) dropped[thread]![place]! += (mask >> place) & 1;
    if (!isDropping)
      log.warn({}, "calls are not handed over to the integrations, because the supervisor does not take them");
    isDropping = true;
  };
  const send = async (thread: number): Promise<void> => {
    const block = blocks[thread]!;
    const { lines, units } = block;
    if (block.timer !== null) clearTimeout(block.timer);
    blocks[thread] = { lines: [], units: 0, timer: null };
    if (lines.length === 0) return;
    try {
      await channel.request("integration_lines", { thread }, encoder.encode(lines.join("\n")));
      isDropping = false;
    } catch {
      for (const line of lines) drop(thread, line);
    }
    unreadUnits -= units;
  };
  const handover = openHandover(outlines, (thread, _mask, line) => {
    if (channel.isClosed || unreadUnits + line.length > MAX_UNITS) return drop(thread, line);
    const block = blocks[thread]!;
    block.lines.push(line);
    block.units += line.length;
    unreadUnits += line.length;
    if (block.units >= BLOCK_UNITS) void send(thread);
    else block.timer ??= setTimeout(() => void send(thread), BLOCK_MS);
  });

  return {
    publish: (record, content) => handover.publish(record, content),
    admitted: handover.admitted,
    chunks: handover.chunks,
    statuses() {
      const leftOut = handover.contentsLeftOut();
      const counted = threads.flatMap((members, thread) =>
        members.map((outline, place) => ({ outline, handover: dropped[thread]![place]! })),
      );
      return counted.map(({ outline, handover: count }, index) => statusOf(outline, count, leftOut[index]!));
    },
    async end() {
      await Promise.all(threads.map((_, thread) => send(thread)));
    },
  };
}

const NEVER = { deliveredAtMs: null, failedAtMs: null } as const;

/** What a worker alone knows of an integration; the supervisor has the rest. */
function statusOf(
  { name, type }: IntegrationOutline,
  handover: number,
  contentsLeftOut: number,
): ReturnType<Integrations["statuses"]>[number] {
  return {
    name,
    type,
    sums: { ...zeros(), queued: 0, handover, thread_ended: 0 },
    contentsLeftOut,
    restarts: 0,
    times: NEVER,
    lastError: null,
  };
}
