// Colours of the style sheet for canvases, which follow a change of light and dark.
import { useCallback, useEffect, useState } from "react";

// Returns a function that gives the value of a variable of the style sheet ("--runs"). The function
// is a new one when the colours change.
export function useColour(): (name: string) => string {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const changed = () => setVersion((old) => old + 1);
    const media = window.matchMedia("(prefers-color-scheme: dark)");
    media.addEventListener("change", changed);
    window.addEventListener("subak-colours", changed);
    return () => {
      media.removeEventListener("change", changed);
      window.removeEventListener("subak-colours", changed);
    };
  }, []);
  return useCallback(
    (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "gray",
    // A new version gives a new function, so that canvases draw again.
    [version],
  );
}
