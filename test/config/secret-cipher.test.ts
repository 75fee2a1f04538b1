// Encryption of secrets: which text can be decrypted where, which cannot, and what an encrypted text reveals. Where the master key comes from, and how it is changed.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addMasterKey, findMasterKeys, followedKeys, isReadableByOthers } from "../../src/config/master-key.ts";
import { handleOf, openSecretCipher } from "../../src/config/secret-cipher.ts";

const [A, B] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];

describe("an encrypted secret", () => {
  const cipher = openSecretCipher([A]);

  test("is decrypted at the place for which it was encrypted, whatever it contains", () => {
    for (const secret of ["", "sk-1", "ü\0\u{1F600}", "x".repeat(70_000)])
      expect(cipher.decrypt(cipher.encrypt(secret, "provider/p/api_key"), "provider/p/api_key")).toBe(secret);
  });

  test("cannot be decrypted in another place, when a bit of it is changed, or cut", () => {
    const text = cipher.encrypt("secret", "provider/p/api_key");
    for (const place of ["provider/q/api_key", "provider/p/api_keys[0]", ""])
      expect(() => cipher.decrypt(text, place)).toThrow("copied from another place");
    const start = text.lastIndexOf(":") + 1;
    for (let at = start; at < text.length; at++) {
      const changed = `${text.slice(0, at)}${text[at] === "A" ? "B" : "A"}${text.slice(at + 1)}`;
      expect(() => cipher.decrypt(changed, "provider/p/api_key")).toThrow();
    }
    const other = cipher.encrypt("secret", "provider/p/api_key");
    expect(() => cipher.decrypt(text.replace(handleOf(text)!, handleOf(other)!), "provider/p/api_key")).toThrow();
    for (const cut of ["", "sealed:1:", text.slice(0, -8), "secret"])
      expect(() => cipher.decrypt(cut, "provider/p/api_key")).toThrow();
  });

  test("is another text each time, and reveals neither the secret nor its key", () => {
    const texts = Array.from({ length: 200 }, () => cipher.encrypt("the-secret", "x"));
    expect(new Set(texts).size).toBe(200);
    expect(new Set(texts.map(handleOf)).size).toBe(200);
    for (const text of texts) expect(text).not.toMatch(/the-secret|dGhlLXNlY3JldA/);
  });

  test("is encrypted again under the newest key with the same handle, and only then", () => {
    const text = cipher.encrypt("secret", "x");
    const both = openSecretCipher([B, A]);
    const again = both.reencrypt(text, "x");
    expect([handleOf(again), openSecretCipher([B]).decrypt(again, "x"), both.reencrypt(again, "x")]).toEqual([
      handleOf(text),
      "secret",
      again,
    ]);
    expect(() => openSecretCipher([B]).decrypt(text, "x")).toThrow(
      /master key [0-9a-f]{8}, which is not among [0-9a-f]{8}/,
    );
  });

  test("is encrypted under the newest key of the moment, or the newest that is known where the keys cannot be read", () => {
    let keys = [A];
    const running = openSecretCipher(keys, () => {
      if (keys.length === 0) throw new Error("no such file");
      return keys;
    });
    expect(openSecretCipher([A]).decrypt(running.encrypt("early", "x"), "x")).toBe("early");
    keys = [B, A];
    expect(openSecretCipher([B]).decrypt(running.encrypt("later", "x"), "x")).toBe("later");
    keys = [];
    expect(openSecretCipher([B]).decrypt(running.encrypt("last", "x"), "x")).toBe("last");
  });

  test("under a later key can be decrypted once the keys are read again", () => {
    let keys = [A];
    const running = openSecretCipher(keys, () => keys);
    keys = [B, A];
    expect(running.decrypt(openSecretCipher([B]).encrypt("new", "x"), "x")).toBe("new");
    expect(openSecretCipher([B]).decrypt(running.encrypt("later", "x"), "x")).toBe("later");
  });
});

describe("the master key", () => {
  let dataFolder: string;
  beforeEach(() => void (dataFolder = mkdtempSync(join(tmpdir(), "dragoman-key-"))));
  afterEach(() => rmSync(dataFolder, { recursive: true }));
  const find = (variables: Readonly<Record<string, string>> = {}, mayCreate = true) =>
    findMasterKeys({ environment: { get: (name) => variables[name] }, dataFolder, mayCreate });

  test("is created by the first start, for its owner alone, and is the same afterwards", () => {
    const [key] = find()!.read();
    expect(statSync(join(dataFolder, "master.key")).mode & 0o777).toBe(0o600);
    expect(isReadableByOthers(join(dataFolder, "master.key"))).toBe(false);
    chmodSync(join(dataFolder, "master.key"), 0o640);
    expect(isReadableByOthers(join(dataFolder, "master.key"))).toBe(true);
    chmodSync(join(dataFolder, "master.key"), 0o600);
    expect(find()!.read()).toEqual([key!]);
    expect(find({}, false)!.read()).toEqual([key!]);
    expect(readdirSync(dataFolder)).toEqual(["master.key"]);
  });

  test("is not created where that is forbidden, nor where a variable names one", () => {
    expect(find({}, false)).toBeNull();
    expect(
      find({
        DRAGOMAN_MASTER_KEY: `${Buffer.from(B).toString("base64")},${Buffer.from(A).toString("base64")}`,
      })!.read(),
    ).toEqual([B, A]);
    expect(readdirSync(dataFolder)).toEqual([]);
  });

  test("may have lines of comments beside it", () => {
    const one = Buffer.alloc(32, 1).toString("base64");
    const two = Buffer.alloc(32, 2).toString("base64");
    const text = `# made on the first of March\n${one} # in use\n\n# before\n${two}\n`;
    const keys = find({ DRAGOMAN_MASTER_KEY: text })!.read();
    expect(keys.map((key) => Buffer.from(key).toString("base64"))).toEqual([one, two]);
  });

  test("that is invalid is refused with the place and the cure, and never repeated", () => {
    const file = join(dataFolder, "mine.key");
    writeFileSync(file, "not-a-key-but-secret\n");
    for (const variables of [
      { DRAGOMAN_MASTER_KEY: "not-a-key-but-secret" },
      { DRAGOMAN_MASTER_KEY: Buffer.alloc(31).toString("base64") },
      { DRAGOMAN_MASTER_KEY: "," },
      { DRAGOMAN_MASTER_KEY_FILE: file },
      { DRAGOMAN_MASTER_KEY_FILE: join(dataFolder, "missing") },
    ]) {
      expect(() => find(variables)).toThrow(
        Object.keys(variables)[0] === "DRAGOMAN_MASTER_KEY"
          ? "openssl rand -base64 32"
          : /mine\.key|missing|DRAGOMAN_MASTER_KEY_FILE/,
      );
      expect(() => find(variables)).not.toThrow("not-a-key-but-secret");
    }
  });

  test("that was added is known to a process that runs, and none is lost where the file cannot be read", () => {
    let ms = 0;
    const now = followedKeys(find()!, { monotonic: () => ms });
    const first = now();
    ms += 1000;
    expect(now()).toBe(first);
    addMasterKey(find()!);
    ms += 1000;
    const both = now();
    expect(both).toEqual(find()!.read());
    expect(both.slice(1)).toEqual([...first]);
    for (const damage of [
      () => writeFileSync(join(dataFolder, "master.key"), "?"),
      () => rmSync(join(dataFolder, "master.key")),
    ]) {
      damage();
      ms += 1000;
      expect(now()).toBe(both);
    }
  });

  test("of a variable stays the same", () => {
    let ms = 0;
    const now = followedKeys(find({ DRAGOMAN_MASTER_KEY: Buffer.from(A).toString("base64") })!, {
      monotonic: () => ms,
    });
    ms += 1000;
    expect(now()).toEqual([A]);
  });

  test("is replaced by a new one in one step", () => {
    const keys = find()!;
    const [old] = keys.read();
    expect(addMasterKey(keys)).toBe(true);
    const [fresh, ...rest] = keys.read();
    expect(rest).toEqual([old!]);
    expect(fresh).not.toEqual(old!);
    expect(statSync(join(dataFolder, "master.key")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(dataFolder, "master.key"), "utf8").trim().split("\n")).toHaveLength(2);
  });
});
