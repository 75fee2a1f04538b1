// Settings follow from the shape of their section.
import { expect, test } from "bun:test";
import { z } from "zod";
import { sectionSettings } from "../../src/config/section-settings.ts";

const shape = { max_bytes: z.int(), drain_s: z.number(), folder: z.string().optional(), idle_s: z.number().optional() };

test("settings have the members of the shape in camel case, and null for what was left out", () => {
  const section = { max_bytes: 5, drain_s: 1.5, other: true };
  expect(sectionSettings(shape, section)).toStrictEqual({ maxBytes: 5, drainMs: 1500, folder: null, idleMs: null });
});

test("seconds become whole milliseconds, and none only where they are 0", () => {
  const drainOf = (seconds: number) => sectionSettings({ drain_s: z.number() }, { drain_s: seconds }).drainMs;
  expect([0, 0.0001, 0.0016, 2.01].map(drainOf)).toStrictEqual([0, 1, 2, 2010]);
});
