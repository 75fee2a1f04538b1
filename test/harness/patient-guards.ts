// Guards that search for as long as they need: in a test of what they find, a busy machine must not be what stops them.
import { type GuardThreads, openGuardThreads } from "../../src/engine/guards/guard-threads.ts";

/** In milliseconds. Longer than any test runs. */
const PATIENT_MS = 600_000;

export function patientGuards(
  threads?: number,
  onEnded = (why: string): void => console.error(`a thread of guards ended${why}`),
): GuardThreads {
  return openGuardThreads({
    ...(threads !== undefined && { threads }),
    searchMs: PATIENT_MS,
    waitMs: PATIENT_MS,
    onEnded,
  });
}
