// The two headers of W3C trace context, exactly as in the recommendation, and which traces are kept.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { newSpanId, newTraceId } from "../../../src/core/ids.ts";
import { beginTrace, isKept, parseTraceparent, parseTracestate, traceHeaders } from "../../../src/core/record/trace.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const OWN = { traceId: "1".repeat(32), spanId: "2".repeat(16) };

describe("traceparent", () => {
  test("accepts what the recommendation allows", () => {
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual({ traceId: TRACE, spanId: SPAN, sampled: true });
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-00`)?.sampled).toBe(false);
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-03`)?.sampled).toBe(true);
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-fe`)?.sampled).toBe(false);
    expect(parseTraceparent(`cc-${TRACE}-${SPAN}-01`)?.traceId).toBe(TRACE);
    expect(parseTraceparent(`01-${TRACE}-${SPAN}-01-what-the-future-will-be-like`)?.sampled).toBe(true);
  });

  const broken = [
    "",
    " ",
    "00",
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-011`,
    `00-${TRACE}-${SPAN}-01-`,
    `00-${TRACE}-${SPAN}-01-extra`,
    `00-${TRACE}-${SPAN}-01.5`,
    `ff-${TRACE}-${SPAN}-01`,
    `FF-${TRACE}-${SPAN}-01`,
    `0-${TRACE}-${SPAN}-01`,
    `000-${TRACE}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN.toUpperCase()}-01`,
    `00-${TRACE}-${SPAN}-0X`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}0-${SPAN}-01`,
    `00-${TRACE}-${SPAN}0-01`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01 `,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    `01-${TRACE}-${SPAN}-01extra`,
    `00-${TRACE}-${SPAN}-01\n`,
    `00_${TRACE}_${SPAN}_01`,
  ];
  test.each(broken)("refuses %j", (header) => {
    expect(parseTraceparent(header)).toBeNull();
  });

  test("is read back as it was sent", () => {
    fc.assert(
      fc.property(fc.boolean(), (sampled) => {
        const [traceId, spanId, under] = [newTraceId(1_767_225_600_000), newSpanId(), newSpanId()];
        const { traceparent } = traceHeaders({ traceId, spanId, parentSpanId: null, sampled, state: null }, under);
        expect(parseTraceparent(traceparent)).toEqual({ traceId, spanId: under, sampled });
      }),
    );
  });
});

describe("tracestate", () => {
  test("is accepted with members of the specified form, without empty ones", () => {
    for (const state of [
      "a=1",
      "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
      "fw529a3039@dt=FfAB",
      "a=b c",
      "foo@=1",
      "0a=x",
    ])
      expect(parseTracestate(state)).toBe(state);
    expect(parseTracestate("foo=1 , \tbar=2,, ")).toBe("foo=1,bar=2");
  });
  test("is refused in any other form", () => {
    for (const state of [
      "",
      ",",
      "foo",
      "foo=",
      "=1",
      "Foo=1",
      "foo=1=2",
      "foo =1",
      "foo=\u00e4",
      "foo=1;bar=\u0007",
      `${"a".repeat(257)}=1`,
      `a=${"b".repeat(257)}`,
      Array.from({ length: 33 }, (_, index) => `a${index}=1`).join(","),
    ])
      expect([state, parseTracestate(state)]).toEqual([state, null]);
    expect(parseTracestate(null)).toBeNull();
  });
  test("loses its last members when it is long", () => {
    const members = Array.from({ length: 8 }, (_, index) => `v${index}=${"x".repeat(96)}`);
    expect(parseTracestate(members.join(","))).toBe(members.slice(0, 5).join(","));
  });
});

test("of the traces that begin here the configured share is kept, the same ones on every gateway, and more where the share is larger", () => {
  const ids = Array.from({ length: 20_000 }, () => newTraceId(1_767_571_200_000));
  const kept = (ratio: number): readonly string[] => ids.filter((id) => isKept(id, ratio));
  expect(kept(0)).toEqual([]);
  expect(kept(1)).toEqual(ids);
  expect(Math.abs(kept(0.1).length - 2000)).toBeLessThan(300);
  expect(kept(0.1).every((id) => isKept(id, 0.5))).toBe(true);
});

describe("the trace of a call", () => {
  const begin = (headers: { readonly traceparent?: string; readonly tracestate?: string }, sampleRatio = 1) =>
    beginTrace({ traceparent: null, tracestate: null, ...headers }, OWN, { sampleRatio, propagate: true });
  test("continues where the caller has one, and the caller decides whether it is kept", () => {
    expect(begin({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "a=1" }, 0)).toEqual({
      traceId: TRACE,
      spanId: OWN.spanId,
      parentSpanId: SPAN,
      sampled: true,
      state: "a=1",
    });
    expect(begin({ traceparent: `00-${TRACE}-${SPAN}-00` }).sampled).toBe(false);
  });
  test("begins here without one, and a tracestate alone is ignored", () => {
    expect(begin({ tracestate: "a=1" })).toEqual({ ...OWN, parentSpanId: null, sampled: true, state: null });
    expect(begin({ traceparent: "nonsense", tracestate: "a=1" }, 0)).toEqual({
      ...OWN,
      parentSpanId: null,
      sampled: false,
      state: null,
    });
  });
});

test("span ids are 16 hex digits, and none comes twice", () => {
  const ids = Array.from({ length: 5000 }, (_, index) =>
    index % 3 === 0 ? newTraceId(1_767_571_200_000).slice(16) : newSpanId(),
  );
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{16}$/);
  expect(new Set(ids).size).toBe(ids.length);
});
