// Secrets are removed from text of others, however it quotes them.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { keyRemover } from "../../../src/core/text/quoted-key.ts";
import { withoutSecrets } from "../../../src/core/text/redaction.ts";
import { spellingsOf } from "../../../src/core/text/secret-spellings.ts";
import { growth, MOST_GROWTH } from "../../harness/time/cpu-time.ts";

const SECRET = 'sk-a/b+c"d\\e%f=0123';
const json = (text: string): string => JSON.stringify(text).slice(1, -1);

describe("texts without secrets", () => {
  test.each<[string, string]>([
    ["as it is", SECRET],
    ["in JSON", json(SECRET)],
    ["in JSON inside of JSON", json(json(json(SECRET)))],
    ["with slashes as some write them", json(SECRET).replaceAll("/", "\\/")],
    ["with characters as numbers", SECRET.replaceAll("/", "\\u002F").replaceAll("+", "\\u002b")],
    ["in an address", encodeURIComponent(SECRET)],
    ["in an address, in small letters", encodeURIComponent(SECRET).replaceAll(/%../g, (part) => part.toLowerCase())],
    ["in JSON in an address", encodeURIComponent(json(SECRET))],
  ])("%s", (_, spelled) => {
    expect(withoutSecrets(`key ${spelled}, again "${spelled}".`, [SECRET])).toBe(
      'key [credential], again "[credential]".',
    );
    const cut = spelled.slice(0, -4);
    expect(withoutSecrets(`it ends in ${cut}`, [SECRET])).toMatch(/^it ends in \[credential\](=|%3d)?$/i);
  });

  const KEY = "sk-proj-Ab3_dEf9-ghIJ7klMNop5qrST";
  const bytes = Buffer.from(KEY);
  const each = (spell: (character: string) => string): string => Array.from(KEY).map(spell).join("");
  const code = (character: string): string => character.charCodeAt(0).toString(16);
  test.each<[string, string]>([
    ["in base64", bytes.toString("base64")],
    ["in base64 behind one byte", Buffer.from(`x${KEY}`).toString("base64")],
    ["in base64 behind two", Buffer.from(`xy${KEY}; more`).toString("base64")],
    [
      "in base64 for addresses, in lines",
      Buffer.from(`Bearer ${KEY}`).toString("base64url").replaceAll(/.{20}/g, "$&\n"),
    ],
    ["in hexadecimal", bytes.toString("hex")],
    ["in hexadecimal with spaces and in capitals", bytes.toString("hex").toUpperCase().replaceAll(/../g, "$& ")],
    ["percent-encoded twice", each((character) => `%25${code(character)}`)],
    ["as entities", each((character) => `&#${character.charCodeAt(0)};`)],
    ["as entities of entities", each((character) => `&amp;#x${code(character)};`)],
    ["as numbers in JSON in JSON", JSON.stringify(JSON.stringify(each((character) => `\\u00${code(character)}`)))],
    ["backwards", Array.from(KEY).toReversed().join("")],
    ["in capitals", KEY.toUpperCase()],
    [
      "in letters of full width",
      each((character) =>
        /[!-~]/.test(character) ? String.fromCharCode(character.charCodeAt(0) + 0xfee0) : character,
      ),
    ],
    [
      "in bold letters",
      each((character) =>
        /[a-z]/.test(character) ? String.fromCodePoint(0x1d41a + character.charCodeAt(0) - 97) : character,
      ),
    ],
    ["with characters of no width", each((character) => `${character}\u200b`)],
    ["with spaces", each((character) => `${character} `)],
    ["by its end", KEY.slice(-16)],
    ["by its middle", KEY.slice(9, 25)],
  ])("[d2.9] [d7.8] a key %s", (_, spelled) => {
    const clean = withoutSecrets(`the key ${spelled} is wrong`, [KEY]);
    expect(clean).toMatch(/^the key .{0,12}\[credential\].{0,12} is wrong$/su);
  });

  test.each(spellingsOf(KEY))("both searches remove the spelling %s", (spelled) => {
    const text = `key ${spelled}, again "${spelled}".`;
    expect(withoutSecrets(text, [KEY])).toMatch(/^key \[credential\]=?, again "\[credential\]=?"\.$/);
    expect(keyRemover([KEY])(text)).toMatch(/^key \[credential\]=?, again "\[credential\]=?"\.$/);
  });
  test("a secret that is no well-formed text is removed as well", () => {
    const odd = "sk-\ud800-ab12cd34ef56";
    expect(withoutSecrets(`it was ${odd}!`, [odd])).toBe("it was [credential]!");
  });

  test("general statements about keys stay", () => {
    for (const words of [
      "A key begins with sk-proj- and has 64 characters.",
      "Incorrect API key provided: sk-pr***qrST. You can find your API key at https://platform.example/account/api-keys.",
    ])
      expect(withoutSecrets(words, [KEY])).toBe(words);
  });

  test("a key that itself looks quoted, and one of mostly punctuation, are removed", () => {
    for (const key of ["abc%2Fdef%2Bghi-jkl", "ab\\u0041cdefgh-1234", "&amp;key&amp;value1", "!#-/+a=b.:;"])
      for (const spelled of [key, encodeURIComponent(key), json(key)])
        expect(withoutSecrets(`it is ${spelled} indeed`, [key])).not.toContain(spelled);
  });

  test("every part of twelve letters and digits is removed, and a short key as a whole", () => {
    for (let at = 0, alone = KEY.replaceAll(/[^0-9A-Za-z]/g, ""); at + 12 <= alone.length; at++)
      expect(withoutSecrets(`part: ${alone.slice(at, at + 12)}!`, [KEY])).toBe("part: [credential]!");
    for (let size = 8; size < 12; size++)
      expect(withoutSecrets(`(${KEY.slice(-size)})`, [KEY.slice(-size)])).toBe("([credential])");
  });

  test("all of several secrets are removed, the longer one first, and no short word", () => {
    expect(withoutSecrets("aaaaaaaa-bbbbbbbb and aaaaaaaa short", ["aaaaaaaa", "aaaaaaaa-bbbbbbbb", "short"])).toBe(
      "[credential] and [credential] short",
    );
  });

  test("a text without a secret stays unchanged", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => withoutSecrets(text, ["0123456789abcdef~"]) === text),
    );
  });

  test("a secret and a text that are made to be slow take little time", async () => {
    for (const [unit, end] of [
      ["\\", ""],
      ["%5c", ""],
      ["a", ""],
      ["a", "b"],
    ] as const) {
      const made = (size: number) => ({
        secret: `${unit.repeat(size / unit.length)}${end}`,
        text: unit.repeat((16 * size) / unit.length),
      });
      const read = ({ secret, text }: ReturnType<typeof made>): string => withoutSecrets(text, [secret]);
      expect(await growth(made, read, 3000)).toBeLessThan(MOST_GROWTH);
    }
  });
});
