// The console of Subak: it shows what the service says, and changes nothing.
import { createRoot } from "react-dom/client";
import { startLive } from "./live";
import { startProbe } from "./probe";
import { startRoutes } from "./route";
import { Shell } from "./shell";

const root = document.getElementById("app");
if (root) {
  createRoot(root).render(<Shell />);
  startRoutes();
  startLive();
  startProbe();
}
