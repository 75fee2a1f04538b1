// Trace ids: 16 random bytes as 32 lower-case hex digits, the form of a W3C trace id. Random bytes are drawn and spelled in blocks, which costs a
// tenth of one draw an id.

const ID_DIGITS = 32;
const block = new Uint8Array(1024);
let digits = "";
let used = 0;

export function newTraceId(): string {
  if (used === digits.length) {
    digits = crypto.getRandomValues(block).toHex();
    used = 0;
  }
  used += ID_DIGITS;
  return digits.slice(used - ID_DIGITS, used);
}
