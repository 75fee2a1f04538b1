// Text that clients and vendors wrote, as it can be shown: control characters and marks that turn the direction of text become visible.
// oxlint-disable-next-line no-control-regex -- they are what is searched for
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

export function visibleText(text: string): string {
  return text.replaceAll(
    HIDDEN,
    (mark) => `\u27e8${mark.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}\u27e9`,
  );
}
