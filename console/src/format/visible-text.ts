// Text that clients and vendors wrote, as it can be shown: what has no picture of its own (control characters, marks that turn the direction
// of text, halves of surrogate pairs) becomes visible. https://www.unicode.org/reports/tr44/#General_Category_Values
const HIDDEN = /[^\P{Cc}\t\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

export function visibleText(text: string): string {
  return text.replaceAll(
    HIDDEN,
    (mark) => `\u27e8${mark.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}\u27e9`,
  );
}
