// How a secret may be spelled in a text that others wrote. Two searches use these spellings: `redaction.ts` removes every
// secret, and parts of one, from errors, which are short. `quoted-key.ts` removes only whole keys from answers, which have
// to pass quickly.

/** Stands in a text for a secret that was removed. */
export const CREDENTIAL = "[credential]";

/** Returns the secret as it is, quoted, backwards, in hexadecimal, and in base64, also within a longer text. */
export function spellingsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const all = new Set([
    secret,
    JSON.stringify(secret).slice(1, -1),
    // some servers escape slashes in JSON
    secret.replaceAll("/", String.raw`\/`),
    encodeURIComponent(secret.toWellFormed()),
    secret.toUpperCase(),
    Array.from(secret).toReversed().join(""),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ]);
  for (const alphabet of ["base64", "base64url"] as const)
    for (const spelled of base64Within(bytes, alphabet)) all.add(spelled);
  return [...all];
}

/**
 * Returns what a longer text in base64 contains of these bytes. Bytes before them shift the encoding by one or two
 * bytes, and its ends depend on the neighbouring bytes.
 */
function base64Within(bytes: Uint8Array, alphabet: "base64" | "base64url"): readonly string[] {
  return [0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString(alphabet)
      .replace(/=+$/, "")
      .slice(before === 0 ? 0 : before + 1, -1),
  );
}
