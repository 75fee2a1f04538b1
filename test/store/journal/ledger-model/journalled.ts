// The content of the journals of a folder, read entry by entry.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CallRecord } from "../../../../src/core/record/record.ts";
import { readEntry } from "../../../../src/store/journal/journal-entry.ts";
import { segmentPath, segmentsOf, slotsOf } from "../../../../src/store/journal/journal-folder.ts";

/** Ids of calls whose end, or whose beginning, stands in a journal of the folder. */
export function journalled(folder: string): {
  readonly ends: ReadonlySet<string>;
  readonly unsettled: ReadonlySet<string>;
  readonly begins: ReadonlySet<string>;
} {
  const ends = new Set<string>();
  const unsettled = new Set<string>();
  const begins = new Set<string>();
  for (const slot of slotsOf(folder)) {
    for (const segment of segmentsOf(join(folder, slot))) {
      const bytes = readFileSync(segmentPath(join(folder, slot), segment));
      for (let at = 0; at < bytes.length;) {
        const entry = readEntry(bytes, at);
        if (typeof entry !== "object") break;
        at = entry.end;
        if (entry.kind === "heading") continue;
        const ids = entry.kind === "opening" ? begins : entry.kind === "unsettled" ? unsettled : ends;
        ids.add((JSON.parse(entry.text) as CallRecord).traceId);
      }
    }
  }
  return { ends, unsettled, begins };
}
