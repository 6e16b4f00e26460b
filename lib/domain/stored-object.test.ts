import { describe, expect, it } from "vitest";
import { hasEnded, isOwnedBy, nextLookMs, objectsOfBatch } from "./stored-object";

const made = {
  ...{ appId: "app", environment: "production" as const, apiKeyId: "key", providerId: "prv", deploymentId: "dep" },
  createdMs: 1_000,
};

describe("objects at a provider", () => {
  it("belong to an app in one environment", () => {
    const [batch] = objectsOfBatch(made, "m", { id: "batch_1" });
    if (!batch) throw new Error("no batch");
    expect(isOwnedBy(batch, { appId: "app", environment: "production" })).toBe(true);
    expect(isOwnedBy(batch, { appId: "app", environment: "test" })).toBe(false);
    expect(isOwnedBy(batch, { appId: "other", environment: "production" })).toBe(false);
  });

  it("that a batch has written are its owner's, and the provider's name of the model is shown to nobody", () => {
    const said = { id: "batch_1", model: "vendor-9", output_file_id: "file-o", error_file_id: null, completed_at: 7 };
    const [batch, ...files] = objectsOfBatch(made, "report-writer", said);
    expect(batch?.object).toEqual({ ...said, model: "report-writer" });
    expect(files.map(({ id, batchId, appId }) => [id, batchId, appId])).toEqual([["file-o", "batch_1", "app"]]);
    expect(files[0]?.object).toMatchObject({ purpose: "batch_output", created_at: 7 });
  });

  it("end in four ways", () => {
    const ends = ["completed", "failed", "expired", "cancelled"];
    const goesOn = ["validating", "in_progress", "finalizing", "cancelling", "something new", undefined];
    expect(ends.map((status) => hasEnded({ status }))).toEqual(ends.map(() => true));
    expect(goesOn.map((status) => hasEnded({ status }))).toEqual(goesOn.map(() => false));
  });

  it("are looked at more seldom the longer they run", () => {
    expect([0, 60_000, 300_000, 86_400_000].map(nextLookMs)).toEqual([5_000, 6_000, 30_000, 60_000]);
  });
});
