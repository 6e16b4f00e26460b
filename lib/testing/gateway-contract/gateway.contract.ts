/**
 * What every host of the gateway must do, seen by the official OpenAI client. One suite for the handler in memory, the
 * lean host and the Next route handler.
 */
import { afterAll, beforeAll, describe } from "vitest";
import type { GatewayHost } from "./host";
import { refusesBadInput } from "./refuses-bad-input";
import { refusesOnBudget } from "./refuses-on-budget";
import { refusesOnRoutes } from "./refuses-on-routes";
import { servesBatches } from "./serves-batches";
import { servesCalls } from "./serves-calls";
import { servesOpenAiRoutes } from "./serves-openai-routes";
import { servesKeptResponses } from "./serves-kept-responses";
import { refusesSdksOnce, servesSdkHelpers } from "./serves-sdk-helpers";
import { servesSdkObjects } from "./serves-sdk-objects";
import { servesVendorRoutes } from "./serves-vendor-routes";
import { survivesUpstream } from "./survives-upstream";
import { triesAgain } from "./tries-again";

export function gatewayContract(name: string, start: () => Promise<GatewayHost>): void {
  describe(`gateway contract: ${name}`, () => {
    let running: GatewayHost;
    beforeAll(async () => {
      running = await start();
    }, 300_000);
    afterAll(() => running.close());
    const host = () => running;
    describe("serves calls", () => {
      servesCalls(host);
    });
    describe("serves OpenAI's routes", () => {
      servesOpenAiRoutes(host);
    });
    describe("serves files and batches", () => {
      servesBatches(host);
    });
    describe("serves responses that are kept", () => {
      servesKeptResponses(host);
    });
    describe("serves other vendors' routes", () => {
      servesVendorRoutes(host);
    });
    describe("serves what SDKs do beyond a call", () => {
      servesSdkHelpers(host);
      servesSdkObjects(host);
    });
    describe("refuses on budget", () => {
      refusesOnBudget(host);
      refusesSdksOnce(host);
    });
    describe("refuses bad input", () => {
      refusesBadInput(host);
    });
    describe("refuses on every route", () => {
      refusesOnRoutes(host);
    });
    describe("tries again", () => {
      triesAgain(host);
    });
    describe("survives the upstream", () => {
      survivesUpstream(host);
    });
  });
}
