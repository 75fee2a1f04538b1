// Reads how long a provider asks clients to wait from its response headers, and formats the same for the gateway's own
// responses. Retry-After: RFC 9110, 10.2.3 and 5.6.7. The headers of rate limits have no common standard; the forms
// here are those that vendors document.

/**
 * Milliseconds to wait, 0 or more, from `retry-after-ms`, then `retry-after`; without these, from the headers that say
 * when a rate limit is reset. Null when no header has a usable value. `header` returns a value by lower-case name;
 * `vendor` is the prefix of the vendor's own `<vendor>-ratelimit-<limit>-reset`, if it has such headers.
 */
export function retryAfterMs(header: (name: string) => string | null, nowMs: number, vendor?: string): number | null {
  return (
    plausible(numberOf(header("retry-after-ms"))) ??
    plausible(numberOf(header("x-ms-retry-after-ms"))) ??
    plausible(secondsOf(header("retry-after")) ?? untilDate(header("retry-after"), nowMs)) ??
    untilReset(header, nowMs, vendor)
  );
}

/**
 * The two headers of a response that asks clients to wait: official clients prefer the first and read the second only
 * without it. Values are rounded up.
 */
export function formatRetryAfter(ms: number): { readonly "retry-after": string; readonly "retry-after-ms": string } {
  const wholeMs = Number.isFinite(ms) ? Math.max(0, Math.ceil(ms)) : 0;
  return { "retry-after": String(Math.ceil(wholeMs / 1000)), "retry-after-ms": String(wholeMs) };
}

const DAY_MS = 86_400_000;
/** A longer wait is taken for a mistake, such as a point in time where a duration belongs. */
const LONGEST_WAIT_MS = 366 * DAY_MS;

function plausible(ms: number | null): number | null {
  return ms !== null && ms <= LONGEST_WAIT_MS ? Math.ceil(ms) : null;
}

function numberOf(value: string | null): number | null {
  return value !== null && /^\d{1,15}(\.\d+)?$/.test(value.trim()) ? Number(value) : null;
}

function secondsOf(value: string | null): number | null {
  const seconds = numberOf(value);
  return seconds === null ? null : seconds * 1000;
}

/** Milliseconds until a point in time; 0 when it has passed. */
function until(timeMs: number | null, nowMs: number): number | null {
  return timeMs === null || Number.isNaN(timeMs) ? null : Math.max(0, timeMs - nowMs);
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const HTTP_DATES = [
  // Sun, 06 Nov 1994 08:49:37 GMT, then the two obsolete forms that a recipient has to accept.
  /^\w{3}, (?<day>\d\d) (?<month>\w{3}) (?<year>\d{4}) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) GMT$/,
  // Sunday, 06-Nov-94 08:49:37 GMT
  /^\w{6,9}, (?<day>\d\d)-(?<month>\w{3})-(?<year>\d\d) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) GMT$/,
  // Sun Nov  6 08:49:37 1994
  /^\w{3} (?<month>\w{3}) (?<day>[ \d]\d) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) (?<year>\d{4})$/,
];

/** Parses the date part by part, because Date.parse accepts many texts that are not dates. */
function untilDate(value: string | null, nowMs: number): number | null {
  for (const form of HTTP_DATES) {
    const parts = form.exec(value?.trim() ?? "")?.groups;
    if (parts === undefined) continue;
    const { day, month = "", year = "", hour, minute, second } = parts;
    const monthIndex = MONTHS.indexOf(month);
    const inRange =
      monthIndex !== -1 &&
      Number(day) >= 1 &&
      Number(day) <= 31 &&
      Number(hour) <= 23 &&
      Number(minute) <= 59 &&
      Number(second) <= 60;
    return inRange
      ? until(
          Date.UTC(fullYear(year, nowMs), monthIndex, Number(day), Number(hour), Number(minute), Number(second)),
          nowMs,
        )
      : null;
  }
  return null;
}

/**
 * Two digits mean a year of the current century, or of the previous one when that year would lie more than 50 years
 * ahead.
 */
function fullYear(digits: string, nowMs: number): number {
  if (digits.length === 4) return Number(digits);
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}

/** Pairs of headers: what remains of a limit, and when it is reset. */
const LIMITS: readonly (readonly [remaining: string, reset: string])[] = [
  ["x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
  ["x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
  ["x-ratelimit-remaining", "x-ratelimit-reset"],
  ["ratelimit-remaining", "ratelimit-reset"],
];
const VENDOR_LIMITS = ["requests", "tokens", "input-tokens", "output-tokens"];

/**
 * The longest wait among the limits that are used up. When no limit is used up, the call asked for more than one of
 * them had left: then the shortest positive wait is the least that can help.
 */
function untilReset(header: (name: string) => string | null, nowMs: number, vendor: string | undefined): number | null {
  const own =
    vendor === undefined
      ? []
      : VENDOR_LIMITS.map(
          (limit) => [`${vendor}-ratelimit-${limit}-remaining`, `${vendor}-ratelimit-${limit}-reset`] as const,
        );
  const usedUp: number[] = [];
  const others: number[] = [];
  for (const [remaining, reset] of [...LIMITS, ...own]) {
    const waitMs = plausible(resetMs(header(reset), nowMs));
    if (waitMs === null) continue;
    if (numberOf(header(remaining)) === 0) usedUp.push(waitMs);
    else if (waitMs > 0) others.push(waitMs);
  }
  if (usedUp.length > 0) return Math.max(...usedUp);
  return others.length > 0 ? Math.min(...others) : null;
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: DAY_MS };
const DURATION = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[smhd]))+$/;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * Accepts `6m0s`, `120ms`, `17.379s`; a point in time in RFC 3339, in seconds or in milliseconds since 1970; or plain
 * seconds.
 */
function resetMs(value: string | null, nowMs: number): number | null {
  const text = value?.trim() ?? "";
  if (DURATION.test(text)) {
    let sum = 0;
    for (const [, amount, unit = ""] of text.matchAll(/([\d.]+)(ms|[smhd])/g))
      sum += Number(amount) * (UNIT_MS[unit] ?? 0);
    return sum;
  }
  if (RFC_3339.test(text)) return until(Date.parse(text), nowMs);
  const number = numberOf(text);
  if (number === null) return null;
  // No limit lasts 30 years, and no provider's clock is set before 1973: larger numbers are points in time.
  if (number >= 1e11) return until(number, nowMs);
  return number >= 1e9 ? until(number * 1000, nowMs) : number * 1000;
}
