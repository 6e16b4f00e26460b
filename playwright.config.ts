import { defineConfig, devices } from "@playwright/test";
import { ensureChromium } from "./lib/services/chromium";

// `npm test` chooses a free port; run by hand, the stories use this one.
const port = (process.env["E2E_PORT"] ??= "3100");
const chromium = (process.env["SPILLWAY_CHROMIUM"] ??= ensureChromium(console.log));

const isRoot = process.getuid?.() === 0;

export default defineConfig({
  testDir: "e2e",
  outputDir: "test-results",
  globalSetup: "./scripts/test/e2e-setup.ts",
  fullyParallel: true,
  forbidOnly: true,
  // A guarantee that holds at the second try is not one.
  retries: 0,
  workers: 2,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  use: {
    ...devices["Desktop Chrome"],
    baseURL: `http://127.0.0.1:${port}`,
    screenshot: "only-on-failure",
    trace: "retain-on-failure",
    launchOptions: {
      executablePath: chromium,
      args: [
        // Chromium's sandbox refuses to run as root, which is what containers and CI machines are.
        ...(isRoot ? ["--no-sandbox"] : []),
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-domain-reliability",
        "--disable-sync",
        "--no-first-run",
        "--no-default-browser-check",
        // A page that reaches for a font or script elsewhere fails here, as it would on a customer's closed network.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
      ],
    },
  },
});
