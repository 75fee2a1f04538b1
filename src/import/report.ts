// What became of each value of the other gateway's configuration. A value that no part of the import speaks of is
// reported as one without counterpart, so that nothing is dropped in silence, and so is a value whose place is not in the
// configuration that was made. The report never holds a value itself, because it may be a secret.

// Decides (records and configuration): What becomes of the configuration of another gateway? By: `openReport`. Also:
// `import-configuration.ts` (`importConfiguration`). Rule: Each value is reported as taken over, changed, or without
// counterpart.
import { type ForeignFile, type ForeignNode, leavesOf } from "./foreign-file.ts";
import { shownPath } from "./secret-shape.ts";

/** `taken`: it means the same here. `changed`: it became something else, which `note` describes. */
export type ImportOutcome = "taken" | "changed" | "without";

export interface ReportLine {
  readonly line: number;
  readonly path: string;
  readonly outcome: ImportOutcome;
  /** Where it stands in our configuration; `null` if nowhere. */
  readonly to: string | null;
  /** How it was changed, or why it has no counterpart. */
  readonly note: string | null;
}

/** What this gateway does whatever its configuration says. */
export interface Always {
  readonly always: string;
}

export function always(text: string): Always {
  return { always: text };
}

/**
 * Where a value stands: a place of the configuration as written-places.ts reads it. A function returns the places that
 * are known only when everything is written; one of them is enough, and without any the value was not written.
 */
export type WrittenPlace = string | Always | (() => readonly string[]);

/** Where a setting stands of something that has a place only when it is written. */
export type PlaceOf = (setting: string) => () => readonly string[];

/**
 * Says what became of a value, or of everything below it. The first word about a value counts, so that a part can speak
 * of single values before it speaks of all that remain. Without a node, nothing is said.
 */
export interface Claims {
  readonly taken: (node: ForeignNode | undefined, to: WrittenPlace) => void;
  readonly changed: (node: ForeignNode | undefined, to: WrittenPlace, how: string) => void;
  /** Taken, or changed where there is something to say about it. */
  readonly moved: (node: ForeignNode | undefined, to: WrittenPlace, how: string | null) => void;
  readonly without: (node: ForeignNode | undefined, why: string) => void;
  /** Calls of the other gateway reached a model by this node. A configuration in which it has no place lacks a target; `why` is said if nothing else is. */
  readonly target: (node: ForeignNode, to: WrittenPlace, why?: string) => void;
  /** Such a node of which no target was made. */
  readonly missing: (node: ForeignNode, why: string) => void;
}

/** Why settings have no counterpart, by their names. */
export type Reasons = Readonly<Record<string, string>>;

/** Says why these members of a mapping have no counterpart. */
export function withoutMembers(
  members: ReadonlyMap<string, ForeignNode> | undefined,
  reasons: Reasons,
  claims: Claims,
): void {
  for (const [name, why] of Object.entries(reasons)) claims.without(members?.get(name), why);
}

/** A target of the other gateway that the configuration which was made does not have. */
export interface MissingTarget {
  readonly line: number;
  readonly path: string;
  readonly why: string;
}

/** Whether a place is in the configuration that was made. */
export type IsWritten = (place: string) => boolean;

export interface OpenReport extends Claims {
  /** The last word about values that turned out to be secrets. */
  readonly areSecrets: (nodes: readonly ForeignNode[]) => void;
  /** The last word about what stands at a place of our configuration, or in one of these targets. */
  readonly leaveOut: (place: string, targets: readonly string[], why: string) => void;
  /** A line for each value, in the order of the file. */
  readonly lines: (isWritten: IsWritten) => readonly ReportLine[];
  readonly missingTargets: (isWritten: IsWritten) => readonly MissingTarget[];
}

const UNKNOWN = "the import does not know this setting";
const NOT_WRITTEN = "nothing of it is in the configuration that was made";

interface Word {
  readonly outcome: ImportOutcome;
  readonly to: WrittenPlace | null;
  readonly note: string | null;
}

export function openReport({ root, replaced }: ForeignFile): OpenReport {
  const said = new Map<ForeignNode, Word>();
  const targets = new Map<ForeignNode, { readonly to: WrittenPlace; readonly why: string }>();
  const claim = (node: ForeignNode | undefined, what: Word): void => {
    for (const leaf of node === undefined ? [] : leavesOf(node)) said.set(leaf, merged(said.get(leaf), what));
  };
  const without = (node: ForeignNode | undefined, why: string): void =>
    claim(node, { outcome: "without", to: null, note: why });
  for (const node of replaced)
    without(node, "it has no effect there either, because the same key stands again further down");
  return {
    taken: (node, to) => claim(node, { outcome: "taken", to, note: null }),
    changed: (node, to, how) => claim(node, { outcome: "changed", to, note: how }),
    moved: (node, to, how) => claim(node, { outcome: how === null ? "taken" : "changed", to, note: how }),
    without,
    target: (node, to, why = NOT_WRITTEN) => void targets.set(node, { to, why }),
    missing: (node, why) => {
      without(node, why);
      targets.set(node, { to: () => [], why: NOT_WRITTEN });
    },
    areSecrets: (nodes) => {
      for (const node of nodes) {
        const { outcome, to } = said.get(node) ?? UNSAID;
        // the same text stands elsewhere too, and was taken over from there
        if (outcome === "without") continue;
        said.set(node, { outcome: "changed", to, note: "it looks like a secret, and stands in a file of its own" });
      }
    },
    leaveOut: (place, models, why) => {
      for (const [node, { to }] of said) {
        const places = placesOf(to);
        if (places.length > 0 && places.every((each) => isLeftOut(each, place, models)))
          said.set(node, { outcome: "without", to: null, note: why });
      }
    },
    lines: (isWritten) =>
      [root, ...replaced]
        .flatMap((node) => [...leavesOf(node)])
        .toSorted((a, b) => a.line - b.line || a.column - b.column)
        .map((leaf): ReportLine => ({
          line: leaf.line,
          path: shownPath(leaf.path),
          ...inEffect(said.get(leaf) ?? (isEmpty(leaf) ? EMPTY : UNSAID), isWritten),
        })),
    missingTargets: (isWritten) =>
      Array.from(targets).flatMap(([node, { to, why }]): readonly MissingTarget[] => {
        if (placesOf(to).some(isWritten)) return [];
        const words = Array.from(leavesOf(node), (leaf) => said.get(leaf) ?? UNSAID);
        const reason = words.every(({ outcome }) => outcome === "without") ? words[0]!.note : null;
        return [{ line: node.line, path: shownPath(node.path), why: reason === UNKNOWN ? why : (reason ?? why) }];
      }),
  };
}

const UNSAID: Word = { outcome: "without", to: null, note: UNKNOWN };
const EMPTY: Word = { outcome: "without", to: null, note: "it is empty" };

/** A list or a mapping is a value by itself only where it has none, known or not. */
function isEmpty({ kind, value }: ForeignNode): boolean {
  return kind !== "scalar" || value === null || value === "";
}

/** What several targets share stands at the places of all of them. */
function merged(first: Word | undefined, next: Word): Word {
  if (first === undefined) return next;
  const { to } = first;
  return typeof to === "function" && typeof next.to === "function"
    ? { ...first, to: () => [...placesOf(to), ...placesOf(next.to)] }
    : first;
}

/** Empty for what needs no place. */
function placesOf(to: WrittenPlace | null): readonly string[] {
  if (typeof to === "string") return [to];
  return typeof to === "function" ? to() : [];
}

/** A value whose place is not in the configuration has no counterpart, whatever was said of it. */
function inEffect({ outcome, to, note }: Word, isWritten: IsWritten): Pick<ReportLine, "outcome" | "to" | "note"> {
  if (outcome === "without" || to === null) return { outcome, to: null, note };
  if (typeof to === "object") return { outcome, to: to.always, note };
  const place = placesOf(to).find(isWritten);
  if (place !== undefined) return { outcome, to: place, note };
  return { outcome: "without", to: null, note: note === null ? NOT_WRITTEN : `${NOT_WRITTEN}: ${note}` };
}

function isLeftOut(to: string, place: string, targets: readonly string[]): boolean {
  return (
    to === place ||
    to.startsWith(`${place}.`) ||
    to.endsWith(` in ${place}`) ||
    targets.some((target) => to === target || to.endsWith(` of ${target}`))
  );
}

export function countOf(lines: readonly ReportLine[]): Readonly<Record<ImportOutcome, number>> {
  const count = { taken: 0, changed: 0, without: 0 };
  for (const { outcome } of lines) count[outcome] += 1;
  return count;
}

/** Reports what became of a name that clients ask for; `route` is what `routeFor` of the draft made of `asked`. */
export function claimAsked(node: ForeignNode | undefined, asked: string, route: string, claims: Claims): void {
  if (asked === route) claims.taken(node, `routes.${route}`);
  else
    claims.changed(
      node,
      () => [`routes.${route}.aliases`],
      `the route is called ${route}, and the name that clients ask for is its alias`,
    );
}
