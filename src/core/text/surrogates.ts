// A character beyond the first 65,536 is two UTF-16 units, which are not to be separated.

/** Whether the unit is the first one of such a character. */
export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
