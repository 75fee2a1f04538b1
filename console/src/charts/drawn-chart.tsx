// Draws a chart on a canvas by uPlot. The colours are those of the page, and follow its theme. https://github.com/leeoniya/uPlot/tree/master/docs
import { useEffect, useRef } from "react";
import UPlot from "uplot";
import type { Zone } from "../format/time.ts";
import { bucketAt, drawnTime, markText, WHOLE_STEPS } from "./chart-time.ts";
import type { TimeChartProps, Tone } from "./charted.ts";

interface DrawnChartProps extends TimeChartProps {
  readonly zone: Zone;
  /** Tells which bucket is under the pointer. */
  readonly point: (index: number | null) => void;
}

const NOTHING_CHOSEN = { left: 0, top: 0, width: 0, height: 0 };
const LEAST_DRAG = 4;

export function DrawnChart(props: DrawnChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  const drawn = useRef<UPlot | null>(null);
  useEffect(() => {
    const before = latest.current;
    latest.current = props;
    const isNew = drawn.current === null || needsNewChart(before, props);
    if (!isNew) {
      if (before.series !== props.series || before.endMs !== props.endMs) drawn.current?.setData(dataOf(props));
      return;
    }
    drawn.current?.destroy();
    const place = box.current!;
    drawn.current = new UPlot(optionsOf(place, latest), dataOf(props), place);
  });
  useEffect(() => {
    const unwatch = watch(box.current!, drawn);
    return () => {
      unwatch();
      drawn.current?.destroy();
      drawn.current = null;
    };
  }, []);
  return <div ref={box} className="drawn" />;
}

/** What is fixed when a chart is made. */
const needsNewChart = (before: DrawnChartProps, next: DrawnChartProps): boolean =>
  before.zone !== next.zone || before.isCount !== next.isCount || tonesOf(before) !== tonesOf(next);
const tonesOf = ({ series }: DrawnChartProps): string => series.map(({ tone }) => tone).join(" ");

type Latest = { readonly current: DrawnChartProps };

function dataOf({ startsMs, endMs, series }: DrawnChartProps): UPlot.AlignedData {
  return [[...drawnTime({ startsMs, endMs }).starts], ...series.map(({ values }) => [...values])];
}

function optionsOf(place: HTMLElement, latest: Latest): UPlot.Options {
  const { zone, series, isCount } = latest.current;
  const bars = UPlot.paths.bars!({ size: [0.84], align: 1 });
  const style = getComputedStyle(place);
  const font = `12px ${style.fontFamily}`;
  const axis: UPlot.Axis = {
    font,
    stroke: () => getComputedStyle(place).color,
    grid: { stroke: () => getComputedStyle(place).outlineColor, width: 1 },
    ticks: { stroke: () => getComputedStyle(place).outlineColor, width: 1, size: 4 },
  };
  return {
    width: place.clientWidth,
    height: place.clientHeight,
    // half of the last mark of the time stands behind the last bar
    padding: [8, 24, 0, 0],
    tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), zone),
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: LEAST_DRAG } },
    scales: {
      x: {
        range: () => {
          const { starts, end } = drawnTime(latest.current);
          return [starts[0] ?? end - 1, end];
        },
      },
      y: { range: (_chart, _least, most) => [0, most > 0 ? most : 1] },
    },
    axes: [
      {
        ...axis,
        size: TIME_PIXELS,
        values: (_chart, marks, _axis, _space, apart) => marks.map((mark) => markText(mark, apart, zone)),
      },
      {
        ...axis,
        size: AXIS_PIXELS,
        space: 28,
        values: (_chart, marks) => marks.map((mark) => latest.current.format(mark)),
        ...(isCount && { incrs: [...WHOLE_STEPS] }),
      },
    ],
    series: [
      {},
      ...series.map(({ tone }): UPlot.Series => {
        const fill = (): string => colourOf(place, tone);
        return { paths: bars, fill, width: 0, points: { show: false } };
      }),
    ],
    hooks: hooksOf(latest),
  };
}

const AXIS_PIXELS = 64;
const TIME_PIXELS = 28;

/** The legend shows the same colour. */
function colourOf(place: HTMLElement, tone: Tone): string {
  return getComputedStyle(place.closest(".chart")!.querySelector(`.swatch.${tone}`)!).backgroundColor;
}

function hooksOf(latest: Latest): UPlot.Hooks.Arrays {
  const indexAt = (chart: UPlot, left: number): number => {
    const index = bucketAt(drawnTime(latest.current), chart.posToVal(left, "x"));
    return Math.min(index, latest.current.startsMs.length - 1);
  };
  let isDragged = false;
  return {
    setCursor: [
      (chart) => {
        const { left = -1 } = chart.cursor;
        latest.current.point(left < 0 || latest.current.startsMs.length === 0 ? null : indexAt(chart, left));
      },
    ],
    setSelect: [
      (chart) => {
        const { left, width } = chart.select;
        if (width === 0 || latest.current.startsMs.length === 0) return;
        isDragged = true;
        chart.setSelect(NOTHING_CHOSEN, false);
        latest.current.choose(indexAt(chart, left), indexAt(chart, left + width));
      },
    ],
    ready: [
      (chart) => {
        chart.over.addEventListener("mousedown", () => {
          isDragged = false;
        });
        chart.over.addEventListener("click", () => {
          const { left = -1 } = chart.cursor;
          if (isDragged || left < 0 || latest.current.startsMs.length === 0) return;
          const index = indexAt(chart, left);
          latest.current.choose(index, index);
        });
      },
    ],
  };
}

/** Draws anew in another size or theme. Returns what ends that. */
function watch(place: HTMLElement, drawn: { readonly current: UPlot | null }): () => void {
  const sizes = new ResizeObserver(() =>
    drawn.current?.setSize({ width: place.clientWidth, height: place.clientHeight }),
  );
  sizes.observe(place);
  const redraw = (): void => drawn.current?.redraw(false, true);
  const themes = new MutationObserver(redraw);
  themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const queries = ["(prefers-color-scheme: dark)", "(forced-colors: active)"].map((query) => matchMedia(query));
  for (const query of queries) query.addEventListener("change", redraw);
  return () => {
    sizes.disconnect();
    themes.disconnect();
    for (const query of queries) query.removeEventListener("change", redraw);
  };
}
