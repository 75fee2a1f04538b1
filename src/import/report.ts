// What became of each value of the other gateway's configuration. A value that no part of the import speaks of is
// reported as one without counterpart, so that nothing is dropped in silence. The report never holds a value itself,
// because it may be a secret.
import { type ForeignFile, type ForeignNode, leavesOf } from "./foreign-file.ts";
import { shownPath } from "./shown-path.ts";

/** `taken`: it means the same here. `changed`: it became something else, which `note` describes. */
export type Outcome = "taken" | "changed" | "without";

export interface ReportLine {
  readonly line: number;
  readonly path: string;
  readonly outcome: Outcome;
  /** Where it stands in our configuration; `null` if nowhere. */
  readonly to: string | null;
  /** How it was changed, or why it has no counterpart. */
  readonly note: string | null;
}

/**
 * Says what became of a value, or of everything below it. The first word about a value counts, so that a part can speak
 * of single values before it speaks of all that remain. Without a node, nothing is said.
 */
export interface Claims {
  readonly taken: (node: ForeignNode | undefined, to: string) => void;
  readonly changed: (node: ForeignNode | undefined, to: string, how: string) => void;
  /** Taken, or changed where there is something to say about it. */
  readonly moved: (node: ForeignNode | undefined, to: string, how: string | null) => void;
  readonly without: (node: ForeignNode | undefined, why: string) => void;
}

export interface OpenReport extends Claims {
  /** The last word about values that turned out to be secrets. */
  readonly areSecrets: (nodes: readonly ForeignNode[]) => void;
  /** The last word about what stands at a place of our configuration, or in one of these targets. */
  readonly leaveOut: (place: string, targets: readonly string[], why: string) => void;
  /** A line for each value, in the order of the file. */
  readonly lines: () => readonly ReportLine[];
}

const UNKNOWN = "the import does not know this setting";

export function openReport({ root, replaced }: ForeignFile): OpenReport {
  const said = new Map<ForeignNode, Pick<ReportLine, "outcome" | "to" | "note">>();
  const claim = (node: ForeignNode | undefined, what: Pick<ReportLine, "outcome" | "to" | "note">): void => {
    for (const leaf of node === undefined ? [] : leavesOf(node)) if (!said.has(leaf)) said.set(leaf, what);
  };
  for (const node of replaced)
    claim(node, {
      outcome: "without",
      to: null,
      note: "it has no effect there either, because the same key stands again further down",
    });
  return {
    taken: (node, to) => claim(node, { outcome: "taken", to, note: null }),
    changed: (node, to, how) => claim(node, { outcome: "changed", to, note: how }),
    moved: (node, to, how) => claim(node, { outcome: how === null ? "taken" : "changed", to, note: how }),
    without: (node, why) => claim(node, { outcome: "without", to: null, note: why }),
    areSecrets: (nodes) => {
      for (const node of nodes) {
        const { to = null } = said.get(node) ?? {};
        said.set(node, { outcome: "changed", to, note: "it looks like a secret, and stands in a file of its own" });
      }
    },
    leaveOut: (place, targets, why) => {
      for (const [node, { to }] of said)
        if (to !== null && (isAt(to, place) || targets.some((target) => to === target || to.endsWith(` of ${target}`))))
          said.set(node, { outcome: "without", to: null, note: why });
    },
    lines: () =>
      [root, ...replaced]
        .flatMap((node) => [...leavesOf(node)])
        .toSorted((a, b) => a.line - b.line || a.column - b.column)
        .map((leaf): ReportLine => ({
          line: leaf.line,
          path: shownPath(leaf.path),
          ...(said.get(leaf) ?? { outcome: "without", to: null, note: UNKNOWN }),
        })),
  };
}

function isAt(to: string, place: string): boolean {
  return to === place || to.startsWith(`${place}.`);
}

export function countOf(lines: readonly ReportLine[]): Readonly<Record<Outcome, number>> {
  const count = { taken: 0, changed: 0, without: 0 };
  for (const { outcome } of lines) count[outcome] += 1;
  return count;
}
