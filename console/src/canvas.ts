// A canvas that fills its box at the resolution of the screen.
import { RefObject, useEffect, useRef } from "react";

export interface Size {
  width: number;
  height: number;
}

// Draws when `draw` changes and when the box changes its size, once a frame. A change while a frame is
// due does not put the frame off, so the canvas follows however fast the changes come.
export function useCanvas(
  canvas: RefObject<HTMLCanvasElement>,
  draw: (context: CanvasRenderingContext2D, size: Size) => void,
): void {
  const now = useRef(draw);
  const ask = useRef<() => void>();
  now.current = draw;
  useEffect(() => ask.current?.(), [draw]);
  useEffect(() => {
    const element = canvas.current;
    const box = element?.parentElement;
    const context = element?.getContext("2d");
    if (!element || !box || !context) return undefined;
    let frame = 0;
    const paint = () => {
      frame = 0;
      const scale = window.devicePixelRatio || 1;
      const size = { width: box.clientWidth, height: box.clientHeight };
      const [w, h] = [Math.round(size.width * scale), Math.round(size.height * scale)];
      if (element.width !== w || element.height !== h) {
        element.width = w;
        element.height = h;
      }
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.clearRect(0, 0, size.width, size.height);
      now.current(context, size);
    };
    const soon = () => {
      if (!frame) frame = requestAnimationFrame(paint);
    };
    ask.current = soon;
    soon();
    const watcher = new ResizeObserver(soon);
    watcher.observe(box);
    return () => {
      cancelAnimationFrame(frame);
      watcher.disconnect();
    };
  }, [canvas]);
}

// Draws text that is cut to fit, and nothing if there is no room for three letters.
export function fitText(context: CanvasRenderingContext2D, text: string, x: number, y: number, room: number): void {
  if (context.measureText(text).width <= room) {
    context.fillText(text, x, y);
    return;
  }
  const letter = context.measureText("m").width;
  const most = Math.floor((room - letter) / (letter * 0.62));
  if (most >= 3) context.fillText(text.slice(0, most) + "…", x, y);
}

// Returns a pattern of diagonal lines, so that a state is told by more than its colour.
export function stripes(context: CanvasRenderingContext2D, ground: string, line: string, slope: 1 | -1): CanvasPattern | string {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const paint = tile.getContext("2d");
  if (!paint) return ground;
  paint.fillStyle = ground;
  paint.fillRect(0, 0, 8, 8);
  paint.strokeStyle = line;
  paint.lineWidth = 1.6;
  for (const shift of [-8, 0, 8]) {
    paint.beginPath();
    paint.moveTo(shift, slope > 0 ? 8 : 0);
    paint.lineTo(shift + 8, slope > 0 ? 0 : 8);
    paint.stroke();
  }
  return context.createPattern(tile, "repeat") ?? ground;
}
