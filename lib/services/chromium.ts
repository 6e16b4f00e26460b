// The browser of the browser tests. Playwright's own download is closed off on many networks, Debian's packages are not.
import { homedir } from "node:os";
import { join } from "node:path";
import { readdirSync } from "node:fs";
import { ServiceError } from "./service-error";
import type { Say } from "./system-packages";
import { aptInstall, findOnPath, isExecutable, runQuietly } from "./system-packages";

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

const applications = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** The path of a Chromium that can be run, installed if it has to be. `given` wins over everything found. */
export function ensureChromium(say: Say, given = process.env["SPILLWAY_CHROMIUM"]): string {
  if (given !== undefined && given !== "") {
    if (isExecutable(given)) return given;
    throw new ServiceError(`SPILLWAY_CHROMIUM names ${given}, which is not a program.`);
  }
  const present = presentChromium();
  if (present !== undefined) return present;
  // Without a Chinese font the screenshots of half the interface are empty boxes.
  if (aptInstall(["chromium", "fonts-noto-cjk"], say)) {
    const installed = presentChromium();
    if (installed !== undefined) return installed;
  }
  say("Fetching Chromium (playwright install) ...");
  runQuietly([process.execPath, join("node_modules", "@playwright", "test", "cli.js"), "install", "chromium"]);
  const fetched = presentChromium();
  if (fetched !== undefined) return fetched;
  throw new ServiceError(
    "The browser tests need Chromium, which was not found and could not be installed: install chromium or set SPILLWAY_CHROMIUM to one.",
  );
}

function presentChromium(): string | undefined {
  return findOnPath(names) ?? applications.find(isExecutable) ?? playwrightChromium();
}

function playwrightChromium(): string | undefined {
  const cache = process.platform === "darwin" ? join("Library", "Caches") : ".cache";
  const folder = process.env["PLAYWRIGHT_BROWSERS_PATH"] ?? join(homedir(), cache, "ms-playwright");
  const programs = [
    ["chrome-linux", "chrome"],
    ["chrome-linux64", "chrome"],
    ["chrome-mac", "Chromium.app", "Contents", "MacOS", "Chromium"],
  ];
  try {
    return readdirSync(folder)
      .filter((name) => name.startsWith("chromium-"))
      .flatMap((name) => programs.map((parts) => join(folder, name, ...parts)))
      .find(isExecutable);
  } catch {
    return undefined;
  }
}
