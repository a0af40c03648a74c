// A curve over time, drawn by dygraphs, with its figures as text and as a table.
import Dygraph from "dygraphs";
import { useEffect, useRef, useState } from "react";
import { useColour } from "./colours";
import { clock, count, day } from "./text";

// The legend of dygraphs sets styles in a way that the policy of the page forbids.
Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);

const DAY_MS = 86_400_000;

interface Props {
  label: string;
  // Each point: an instant in ms, then one value for each series.
  points: number[][];
  series: string[];
  unit: string;
  // The time between two points, in ms. Unset: one day.
  step?: number;
}

export function Curve({ label, points, series, unit, step = DAY_MS }: Props) {
  const when = (ms: number) => (step < DAY_MS ? `${day(ms)} ${clock(ms).slice(0, 5)} UTC` : day(ms));
  const head = step < DAY_MS ? "Time" : "Day";
  const box = useRef<HTMLDivElement>(null);
  const colour = useColour();
  const [at, setAt] = useState<number>();
  const key = JSON.stringify(points);
  useEffect(() => {
    if (!box.current) return undefined;
    const one = points.length === 1;
    const graph = new Dygraph(box.current, points.map((point) => [new Date(point[0]), ...point.slice(1)]), {
      labels: [head, ...series],
      dateWindow: [points[0][0] - step / 2, points[points.length - 1][0] + step / 2],
      labelsUTC: true,
      legend: "never",
      includeZero: true,
      drawPoints: true,
      pointSize: one ? 4 : 2,
      fillGraph: true,
      fillAlpha: 0.2,
      strokeWidth: 2,
      colors: [colour("--runs"), colour("--strong")],
      series: { [series[1] ?? ""]: { fillGraph: false, strokePattern: [5, 4], drawPoints: false } },
      axisLineColor: colour("--line"),
      gridLineColor: colour("--line"),
      axisLabelFontSize: 12,
      highlightCallback: (_event: unknown, _x: number, _points: unknown, row: number) => setAt(row),
      unhighlightCallback: (_event: unknown, _x: number, _points: unknown, row: number) => setAt(row),
    });
    return () => graph.destroy();
    // `key` stands for the points.
  }, [key, series.join(), colour]);
  const shown = points[at ?? points.length - 1];
  return (
    <figure className="curve">
      <div ref={box} className="canvas" role="img" aria-label={label} />
      <figcaption>
        {label}. {shown ? when(shown[0]) : ""}:{" "}
        {series.map((name, i) => `${name} ${count(shown?.[i + 1] ?? 0, 1)} ${unit}`).join(", ")}
      </figcaption>
      <details>
        <summary>As a table</summary>
        <table className="plain figures">
          <thead>
            <tr>{[head, ...series].map((name) => <th key={name} scope="col" className={name === head ? "" : "number"}>{name}</th>)}</tr>
          </thead>
          <tbody>
            {points.map((point) => (
              <tr key={point[0]}>
                <th scope="row">{when(point[0])}</th>
                {series.map((name, i) => <td key={name}>{count(point[i + 1], 2)}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}
