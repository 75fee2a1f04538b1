// The request in the fragment of the address, which browsers send to nobody: a link to it, Back and a reload bring the request back.
const NAME = "request";
/** Browsers cut or refuse much longer addresses. */
const MOST_BYTES = 300_000;
/** Functions take a bounded number of arguments. */
const STEP = 8192;

export function fragmentOf(text: string): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MOST_BYTES) return "";
  const parts = Array.from({ length: Math.ceil(bytes.length / STEP) }, (_, part) =>
    String.fromCodePoint(...bytes.subarray(part * STEP, (part + 1) * STEP)),
  );
  return `#${NAME}=${btoa(parts.join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Null where the fragment holds no request that can be read. */
export function requestIn(fragment: string): string | null {
  const written = new URLSearchParams(fragment.replace(/^#/, "")).get(NAME);
  if (written === null) return null;
  try {
    const binary = atob(written.replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(binary, (sign) => sign.codePointAt(0)!));
  } catch {
    return null;
  }
}
