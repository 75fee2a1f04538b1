// Waits for what a test expects to come about, and never for a time. The bound is only there so that a test that waits in vain says for what it waited.

const WITHIN_MS = 100_000;

export async function until(holds: () => boolean | Promise<boolean>, what = holds.toString()): Promise<void> {
  for (const endsMs = performance.now() + WITHIN_MS; !(await holds()); await Bun.sleep(2))
    if (performance.now() > endsMs) throw new Error(`It did not come about within ${WITHIN_MS / 1000} s: ${what}`);
}
