// Compiles the guard in the document of a policy: its classes and patterns become detectors.
import { memoizeBounded } from "../core/memoization.ts";
import type { Detector, Guard } from "../core/configured/policy.ts";
import { classDetectorOf, detectorsOf, type DetectorClass } from "./detector-classes.ts";
import type { NationalId } from "./detector-national-ids.ts";
import { matchesNothing, patternDetector } from "./pattern-machine.ts";
import { compilePattern, PatternError, type PatternProgram } from "./pattern-program.ts";
import { compatibleForm } from "./read-text.ts";
import { compileService, type ServiceDocument, type ServiceOwner } from "./outside/outside-settings.ts";

/** Matches of more than this many UTF-16 units are not found. */
const MAX_MATCH = 1024;

export interface GuardDocument {
  readonly on: "input" | "output" | "both";
  readonly classes: readonly DetectorClass[];
  readonly national_ids: readonly NationalId[];
  readonly patterns: readonly string[];
  readonly action: "block" | "mask";
  readonly mask?: string | undefined;
  readonly on_error: "block" | "allow";
  readonly service?: ServiceDocument | undefined;
}

export function compileGuard(
  { on, classes, national_ids: countries, patterns, action, mask, on_error: onError, service }: GuardDocument,
  owner: ServiceOwner = UNKNOWN_OWNER,
): Guard {
  const detectors = [
    ...[...new Set(classes)].flatMap((name) => detectorsOf(name, countries)),
    ...patterns.map(guardPattern),
  ];
  return {
    onInput: on !== "output",
    onOutput: on !== "input",
    action,
    mask: mask ?? null,
    onError,
    work: service === undefined ? workOf(detectors) : Number.POSITIVE_INFINITY,
    detectors,
    service: service === undefined ? null : compileService(service, owner),
  };
}
const UNKNOWN_OWNER: ServiceOwner = { tenantId: null, projectId: null, isTrusted: false };

export function workOf(detectors: readonly Detector[]): number {
  return detectors.reduce((sum, { work }) => sum + work, 0);
}

const PATTERN = "pattern ";

/** The detector of this source. Throws PatternError. */
export function openDetector(source: string): Detector {
  return source.startsWith(PATTERN) ? guardPattern(source.slice(PATTERN.length)) : classDetectorOf(source)!;
}

const MAX_PATTERNS = 10_000;

/** Throws PatternError. After a change of the configuration most patterns are the same as before. */
export const guardPattern = memoizeBounded(MAX_PATTERNS, (pattern: string): Detector => {
  const program = compilePattern(pattern);
  if (matchesNothing(program)) throw new PatternError("it matches the empty text, and so everywhere");
  return patternDetector({
    mask: "[masked]",
    source: PATTERN + pattern,
    program,
    foldedProgram: foldedProgramOf(pattern),
    composes: mayCompose(foldedPattern(pattern)),
    maxLength: MAX_MATCH,
  });
});

/** What stands for characters beyond ASCII although it is written in ASCII. */
const BY_NUMBER_OR_CLASS = /\\[xpP]/;

function mayCompose(folded: string): boolean {
  return folded.normalize("NFD") !== folded.normalize("NFC") || BY_NUMBER_OR_CLASS.test(folded);
}

/** The program of a pattern with its own characters folded; undefined where none is changed, or nothing would be left. */
function foldedProgramOf(pattern: string): PatternProgram | undefined {
  const folded = foldedPattern(pattern);
  if (folded === pattern) return undefined;
  try {
    const program = compilePattern(folded);
    return matchesNothing(program) ? undefined : program;
  } catch (thrown) {
    if (thrown instanceof PatternError) return undefined;
    throw thrown;
  }
}

/** Folds the characters of a pattern beyond ASCII, and letters with their marks. What they become stands for itself, also where it is a sign of the syntax. */
function foldedPattern(pattern: string): string {
  if (pattern.includes(String.raw`\Q`)) return pattern;
  const folded = pattern.normalize("NFC").replaceAll(/\\?[\u0080-\u{10ffff}]/gu, (written) => {
    const character = written.replace("\\", "");
    const read = compatibleForm(character);
    return read === character ? written : read.replaceAll(/[!-/:-@[-`{-~]/g, String.raw`\$&`);
  });
  // a half-width letter and its mark are two characters until both are folded
  return folded.normalize("NFC");
}
