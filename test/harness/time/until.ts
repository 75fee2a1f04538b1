// Waits for an event that a test expects, and never for a fixed time. The bound only exists so that a test that waits
// in vain says for what.

const WITHIN_MS = 150_000;
/** The pause between two looks grows to this, so that a test that waits long leaves the machine to those that work. */
const LONGEST_PAUSE_MS = 50;

/** What a test waits for, in words that complete "It did not come about". A function adds what is known by then. */
type Expected = string | (() => string);

/** Waits until `look` returns something other than null, undefined and false, and returns that. */
export async function untilFound<T>(
  look: () => T | Promise<T>,
  what: Expected = look.toString(),
): Promise<Exclude<T, null | undefined | false>> {
  const endsMs = performance.now() + WITHIN_MS;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 1.2, LONGEST_PAUSE_MS)) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found as Exclude<T, null | undefined | false>;
    if (performance.now() > endsMs)
      throw new Error(
        `It did not come about within ${WITHIN_MS / 1000} s: ${typeof what === "string" ? what : what()}`,
      );
    await Bun.sleep(pauseMs);
  }
}

/** Waits until `holds` returns true. */
export async function until(holds: () => boolean | Promise<boolean>, what: Expected = holds.toString()): Promise<void> {
  await untilFound(holds, what);
}
