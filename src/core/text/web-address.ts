// Whether a text is the address of something on the web.

export function isWebAddress(value: unknown): value is `${string}://${string}` {
  return typeof value === "string" && /^https?:\/\//i.test(value);
}
